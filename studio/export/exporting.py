"""Makes an export: a dataset of its own, checked against what it was made from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.progress import Progress
from rlds_kit.convert import formats
from rlds_kit.convert.conversion import Source, convert_opened
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.studio.export.plan import Plan, make_plan
from rlds_kit.studio.export.reader import ExportReader
from rlds_kit.studio.export.rules import TAG, Chosen, Rules

EXPORT: Final = "episodes of a studio"


@dataclass(frozen=True, slots=True)
class Report:
    """What is in an export, and what is not.

    Attributes:
      episodes: in it.
      steps: in it.
      left_out: public ids of episodes that were deleted since, are not on the disk, or have no step.
      fields_before: of steps, as they were recorded.
      fields_after: as they are in the export.
      losses: what another format than ours could not hold: of each field why, and how often.
      content_digest: of all episodes as they were read back, in hexadecimal digits.
      episodes_kept: that were there already, because the export was taken up again.
    """

    episodes: int
    steps: int
    left_out: tuple[str, ...]
    fields_before: tuple[str, ...]
    fields_after: tuple[str, ...]
    losses: tuple[Mapping[str, Any], ...]
    content_digest: str
    episodes_kept: int


@dataclass(frozen=True)
class _Planned(Source):
    """What is converted is the plan, not the files: others go on recording into these."""

    plan: Plan | None = None

    def identity(self) -> list[Any]:
        """The episodes and what is kept of them."""
        episodes = () if self.plan is None else self.plan.episodes
        return [self.chosen, [[each.chosen.directory, each.chosen.id, each.rows] for each in episodes]]


def export(
    dataset: Dataset,
    destination: str | os.PathLike[str],
    rules: Rules | None = None,
    *,
    progress: Progress | None = None,
) -> Report:
    """Exports the episodes of a dataset, or of a view of one.

    Args:
      dataset: `where`, `take` and `tagged` choose its episodes.
      destination: must not exist, or be an empty directory.
      rules: how; None: stripped, and with columns of tags.
      progress: called with what is done, and what there is to do.

    Raises:
      ConversionError: there is no episode.
      DatasetExistsError: something is at the destination.
      FormatError, DamagedError: the dataset is broken.
      OSError: a file cannot be read or written.

    >>> export(rlds_kit.open("data/pong").tagged("good"), "good-pong", Rules(end_tags=("goal",)))  # doctest: +SKIP
    """
    chosen = [Chosen(str(dataset.path), str(episode.id)) for episode in dataset.episodes]
    return make(make_plan(chosen, rules or Rules()), Path(destination), progress=progress)


def make(plan: Plan, destination: Path, *, progress: Progress | None = None) -> Report:
    """Makes what was planned; one that was killed meanwhile is taken up where it was left.

    Everything is read back and compared before it appears at the destination. Errors are those of `export`.
    """
    reader = ExportReader(plan)
    source = _Planned(Path(EXPORT), EXPORT, reader, str(plan.rules.as_json()), plan)
    wanted = formats.named(plan.rules.format)
    done = convert_opened(source, destination, wanted, allow_loss=True, tell=progress)
    return Report(
        done.episodes,
        done.steps,
        plan.left_out,
        plan.fields_before,
        (*plan.fields_after, *(f"{TAG}{label}" for label in plan.columns)),
        tuple({"field": each.field, "reason": each.reason, "values": each.values} for each in done.losses),
        done.content_digest,
        done.episodes_kept,
    )
