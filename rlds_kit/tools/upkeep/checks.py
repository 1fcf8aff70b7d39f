"""Checks that all closed files exist, records accepted losses, and checks the layers of a dataset."""

import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from rlds_kit.base.errors import FormatError
from rlds_kit.layers.folder import LAYERS, layer_files, layer_names
from rlds_kit.layers.layer import Layer
from rlds_kit.layers.layer_file import read_file
from rlds_kit.storage.manifest import Accepted, Lost, Manifests, is_accepted, losses, write
from rlds_kit.tools.upkeep.closing import digest_in
from rlds_kit.tools.upkeep.finding import Finding


def manifest_losses(dataset: Path, manifests: Manifests, damaged: Collection[str]) -> list[Lost]:
    """Finds closed files that are missing or have changed, and are not accepted.

    Args:
      dataset: its directory.
      manifests: of the dataset.
      damaged: files that are known to be damaged; their digests are not compared.
    """
    found = losses(dataset, manifests)
    known = {*damaged, *(each.path for each in found)}
    for closed in manifests.closed.values():
        changed = Lost(closed.path, closed.bytes, closed, "has another digest than the file that was closed")
        if closed.digest and closed.path not in known and not is_accepted(manifests, changed):
            path = dataset / closed.path
            is_as_long = path.is_file() and path.stat().st_size == closed.bytes  # other sizes were accepted
            if is_as_long and digest_in(dataset, closed.path) not in (None, closed.digest):
                found.append(changed)
    return found


def manifest_finding(lost: Lost) -> Finding:
    """A loss as `verify` reports it."""
    if lost.closed is None:
        return Finding("manifest", lost.message, lost.path)
    return Finding("missing" if lost.found is None else "changed", lost.message, lost.path)


def accept(dataset: Path, lost: Sequence[Lost]) -> None:
    """Records accepted losses in a new manifest: each manifest of a writer may only be changed by that writer.

    Raises:
      OSError: it cannot be written.
    """
    if lost:
        began = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}000000Z"
        name = f"closed-{began}-{uuid.uuid4().hex[:12]}-accepted.json"
        write(dataset / name, (), [Accepted(each.path, each.found) for each in lost])


def layer_problems(dataset: Path, digests: Mapping[bytes, bytes]) -> Iterator[Finding]:
    """The problems of the layers of a dataset.

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
