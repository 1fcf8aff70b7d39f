"""Checks the layers of a dataset."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rlds_kit.base.errors import FormatError
from rlds_kit.layers.folder import LAYERS, layer_files, layer_names
from rlds_kit.layers.layer import Layer
from rlds_kit.layers.layer_file import read_file
from rlds_kit.tools.upkeep.finding import Finding


def layer_problems(dataset: Path, digests: Mapping[bytes, bytes]) -> Iterator[Finding]:
    """What is wrong with the layers of a dataset.

    Args:
      dataset: its directory.
      digests: content digest of each episode, by its id; empty where it has no end.
    """
    for name in layer_names(dataset):
        for path in layer_files(dataset, name):
            place = f"{LAYERS}/{name}/{path.name}"
            try:
                found = read_file(path)
                annotations, faults = Layer(dataset, name, {path.name: found}).readable()
            except FormatError as error:
                yield Finding("layer-format", str(error), place)
                continue
            yield from (Finding("layer-format", fault, place) for fault in faults)
            for region in found.skipped:
                yield Finding("layer-damaged", region.message, place, region.begin, region.end)
            changed = {
                each.episode
                for each in annotations
                if each.digest and digests.get(each.episode.bytes, b"") not in (b"", each.digest)
            }
            for episode in sorted(changed):
                yield Finding("layer-episode", "the episode has changed since it was annotated", place, episode=episode)
