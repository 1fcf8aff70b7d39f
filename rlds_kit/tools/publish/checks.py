"""The checks of a dataset before it is published; all problems are reported together."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.riegeli import DamagedError as RiegeliDamagedError
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import read_index
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.publish.about import About
from rlds_kit.tools.publish.errors import Problem
from rlds_kit.tools.publish.pattern_search import Matches, search
from rlds_kit.tools.upkeep.finding import Finding
from rlds_kit.tools.upkeep.survey import survey
from rlds_kit.tools.upkeep.verify import VerifyReport, verify

Stages = Callable[[str], AbstractContextManager[Progress | None]]
"""Starts a stage of the work by its name, and returns its progress callback."""

_OPEN: Final = "open"
"""The rule of `verify` for a shard that is being recorded."""


def problems_of(
    dataset: Dataset, about: About, allowed: Collection[str], stages: Stages
) -> tuple[list[Problem], VerifyReport]:
    """Checks a dataset.

    Args:
      dataset: to publish.
      about: its completed description.
      allowed: fields that may be published although they match a pattern, with all fields below them.
      stages: gets the progress.

    Returns:
      The problems, and the report of `verify`.

    Raises:
      OSError: a file cannot be read.
    """
    with stages("verifying") as progress:
        report = verify(dataset.path, progress)
    found = [Problem(each.rule, _of(each), "`rlds-kit repair` makes a good copy") for each in report.problems]
    found += _recording(report)
    found += about.problems()
    if not report.problems:
        found += _contents(dataset)
        with stages("searching for e-mail addresses and the like") as progress:
            found += _matches(dataset, allowed, Meter(progress, report.bytes))
    return found, report


def _of(finding: Finding) -> str:
    return ": ".join(part for part in (finding.place, finding.message) if part)


def _recording(report: VerifyReport) -> Iterator[Problem]:
    for note in report.notes:
        if note.rule == _OPEN:
            yield Problem("recording", _of(note), "close the recorder and publish again")


def _contents(dataset: Dataset) -> Iterator[Problem]:
    if not len(dataset.episodes):
        yield Problem("empty", f"{dataset.path} has no episodes", "record some first")
    elif not dataset.spec.fields:
        yield Problem("spec", "no shard says what a step holds", "record with a spec, or with values to take it from")
    for shard in directories.shards_in(dataset.path):
        if count := _discarded(shard):
            yield Problem(
                "discarded",
                f"{shard.name} still has the bytes of {count:,} discarded {'episode' if count == 1 else 'episodes'}",
                "`rlds-kit rechunk` makes a copy without them; publish that",
            )


def _discarded(shard: Path) -> int:
    file = ShardFile(shard)
    index = read_index(file)
    if index is None:
        return sum(each.is_discarded and bool(each.blocks) for each in survey(file, Meter(None, 0)).episodes.values())
    episodes = index.episodes
    return int(np.count_nonzero((episodes.ending == pb.DISCARDED) & (episodes.rows > 0)))


def _matches(dataset: Dataset, allowed: Collection[str], meter: Meter) -> Iterator[Problem]:
    try:
        found = search(dataset, meter)
    except (DamagedError, RiegeliDamagedError, FormatError) as error:
        yield Problem("pattern", f"the search for patterns failed: {error}", "`rlds-kit verify` says more")
        return
    for field, match in found.matches.items():
        if not _is_allowed(field, allowed):
            yield Problem("pattern", str(match), f"leave it out, or publish it with --allow-field {field}")
    yield from _unknown(found, allowed)


def _is_allowed(field: str, allowed: Collection[str]) -> bool:
    return any(field == one or field.startswith(f"{one}/") for one in allowed)


def _unknown(found: Matches, allowed: Collection[str]) -> Iterator[Problem]:
    """Reports allowed names that match no field: they are probably misspelt."""
    for one in allowed:
        if not any(_is_allowed(field, [one]) for field in found.fields):
            known = ", ".join(sorted(found.fields)[:12])
            yield Problem("allow-field", f"there is no field {one!r}", f"choose among {known}")
