"""Makes the pages of a published dataset, and lists its files with their digests."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from rlds_kit.base.progress import Meter
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.layers.folder import PATTERN as LAYER_FILES
from rlds_kit.remote.checksums import CHECKSUMS
from rlds_kit.storage import directory as directories
from rlds_kit.storage.manifest import PATTERN as MANIFESTS
from rlds_kit.storage.manifest import manifests_in
from rlds_kit.tools.publish.about import About
from rlds_kit.tools.publish.card import card
from rlds_kit.tools.publish.checks import Stages
from rlds_kit.tools.publish.checksums import checksums, item_of
from rlds_kit.tools.publish.croissant import croissant
from rlds_kit.tools.publish.destination import CARD, CROISSANT, Item
from rlds_kit.tools.publish.facts import facts
from rlds_kit.tools.publish.pictures import pictures
from rlds_kit.tools.upkeep.description_copy import copy_description
from rlds_kit.tools.upkeep.verify import VerifyReport

PICTURES = "card"


def stage(
    dataset: Dataset, about: About, address: str, report: VerifyReport, folder: Path, stages: Stages
) -> list[Item]:
    """Writes the files that are published besides the data.

    Args:
      dataset: one that passed the checks.
      about: its complete description.
      address: the argument with which `rlds_kit.open` reads the published dataset; empty if it cannot.
      report: of `verify`.
      folder: an empty folder to write to.
      stages: gets the progress.

    Returns:
      All files of the published dataset: the data first, `checksums.txt` last.

    Raises:
      MissingExtraError: Matplotlib is not installed.
      OSError: a file cannot be read or written.
    """
    _describe(dataset, about, folder)
    with stages("hashing") as progress:
        sources = [*_data(dataset), (directories.DESCRIPTION, folder / directories.DESCRIPTION)]
        meter = Meter(progress, sum(source.stat().st_size for _, source in sources))
        items = []
        for path, source in sources:
            items.append(item_of(path, source, meter.at))
            meter.next_file(items[-1].size)
    with stages("counting") as progress:
        found = facts(dataset, about, progress)
    (folder / PICTURES).mkdir()
    drawn = pictures(dataset, found, folder / PICTURES)
    notes = Counter(note.rule for note in report.notes)
    today = dt.datetime.now(dt.UTC).date()
    (folder / CARD).write_text(card(found, address, drawn, notes), "utf-8")
    (folder / CROISSANT).write_text(
        croissant(found, [item for item in items if not fnmatchcase(item.path, MANIFESTS)], today), "utf-8"
    )
    pages = [*(f"{PICTURES}/{name}" for name in drawn), CROISSANT, CARD]
    items += [item_of(path, folder / path) for path in pages]
    (folder / CHECKSUMS).write_text(checksums(items), "utf-8")
    return [*items, item_of(CHECKSUMS, folder / CHECKSUMS)]


def _data(dataset: Dataset) -> Iterator[tuple[str, Path]]:
    """Destination and source paths of manifests, shards and layers; manifests first, to detect interrupted copies."""
    for manifest in manifests_in(dataset.path):
        yield manifest.name, manifest
    for shard in directories.shards_in(dataset.path):
        yield shard.name, shard
    for path in sorted(dataset.path.glob(LAYER_FILES)):
        yield path.relative_to(dataset.path).as_posix(), path


def _describe(dataset: Dataset, about: About, folder: Path) -> None:
    """Writes `dataset.json` with licence and citation; if the dataset has none, it is made from its shards."""
    headers = [shard.header for shard in dataset._shards.values() if shard.header is not None]  # noqa: SLF001
    copy_description(dataset.path, folder, headers)
    path = folder / directories.DESCRIPTION
    content = about.described(json.loads(path.read_text("utf-8")))
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
