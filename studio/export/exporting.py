"""Makes an export: a new dataset, checked against its source."""

import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rlds_kit._version import __version__
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.base.whole_file import make_directory
from rlds_kit.convert import formats
from rlds_kit.convert.conversion import Source, convert_opened
from rlds_kit.convert.part_note import PartNote, files_in, note_path, part_path, read_note, write_note
from rlds_kit.convert.parts import Part, partition
from rlds_kit.convert.rlds_kit_dataset import DatasetReader, join
from rlds_kit.convert.workspace import prepare, workspace
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.storage import digest as digests
from rlds_kit.storage import whole_directory
from rlds_kit.studio.export.plan import Plan, make_plan
from rlds_kit.studio.export.rewriting import ORIGIN, Rewriter
from rlds_kit.studio.export.rules import RLDS_KIT, TAG, Chosen, Rules
from rlds_kit.tools.edit.output import Output

VERSION: Final = 3
"""Version of the exports; an export that was begun by another version is restarted."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is in an export, and what was left out.

    Attributes:
      episodes: number of episodes in it.
      steps: number of steps in it.
      left_out: public ids of episodes that were deleted since, are not on the disk, or have no step.
      fields_before: fields of the recorded steps.
      fields_after: fields of the exported steps.
      losses: what the format of the export could not represent: by field, why and how often.
      content_digest: of all episodes as read back, in hexadecimal digits.
      episodes_kept: number of episodes that were done before the export was resumed.
    """

    episodes: int
    steps: int
    left_out: tuple[str, ...]
    fields_before: tuple[str, ...]
    fields_after: tuple[str, ...]
    losses: tuple[Mapping[str, Any], ...]
    content_digest: str
    episodes_kept: int


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
      destination: must not exist, or must be an empty directory.
      rules: how they are exported; None: without internal fields, and with columns of tags.
      progress: called with the work done, and the total.

    Raises:
      ConversionError: there is no episode.
      DatasetExistsError: the destination is not empty.
      FormatError, DamagedError: the dataset is broken.
      OSError: a file cannot be read or written.

    >>> export(rlds_kit.open("data/pong").tagged("good"), "good-pong", Rules(end_tags=("goal",)))  # doctest: +SKIP
    """
    chosen = [Chosen(str(dataset.path), str(episode.id)) for episode in dataset.episodes]
    return make(make_plan(chosen, rules or Rules()), Path(destination), progress=progress)


def make(plan: Plan, destination: Path, *, progress: Progress | None = None) -> Report:
    """Makes a planned export; one that was killed is resumed.

    All data is read back and compared before it appears at the destination. Errors are those of `export`.
    """
    if plan.rules.format == RLDS_KIT:
        return _export(plan, destination, progress)
    path = destination.absolute()
    whole_directory.require_free(path)
    partial = whole_directory.partial_of(path, uuid.uuid4().hex)
    ours = partial / ORIGIN
    make_directory(partial)
    try:
        with whole_directory.under_way(partial):
            made = _export(plan, ours, progress and (lambda done, total: progress(done, 2 * total)))
            reader, half = _Exported(ours, plan), progress and (lambda done, total: progress(total + done, 2 * total))
            wanted = formats.named(plan.rules.format)
            done = convert_opened(Source(ours, ORIGIN, reader), path, wanted, allow_loss=True, tell=half)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    losses = tuple({"field": each.field, "reason": each.reason, "values": each.values} for each in done.losses)
    return replace(made, steps=done.steps, losses=losses, content_digest=done.content_digest)


class _Exported(DatasetReader):
    """The intermediate dataset in our format, for a conversion to another one."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path)
        self.origin: Mapping[str, Any] = {"export": plan.rules.as_json()}


def _export(plan: Plan, destination: Path, progress: Progress | None) -> Report:
    """Makes a dataset in our format, part by part; finished parts stay if the process is killed."""
    weights = [each.weight for each in plan.episodes]
    meter, rewriter, parts = Meter(progress, 2 * sum(weights)), Rewriter(plan), partition(weights)
    path = destination.absolute()
    with workspace(path) as directory:
        chosen = [[each.chosen.directory, each.chosen.id, each.rows] for each in plan.episodes]
        prepare(directory, {"export": [VERSION, __version__], "rules": plan.rules.as_json(), "episodes": chosen})
        finished = [note for part in parts if (note := read_note(directory, part)) is not None]
        for note in finished:
            meter.next_file(2 * sum(weights[note.part.begin : note.part.end]))
        done = {note.part.number for note in finished}
        notes = finished + [_make_part(rewriter, directory, part, meter) for part in parts if part.number not in done]
        joined = directory / path.name
        joined.mkdir()
        join([part_path(directory, part.number) for part in parts], joined)
        whole_directory.put(joined, path)
    return Report(
        episodes=len(weights),
        steps=sum(note.steps for note in notes),
        left_out=plan.left_out,
        fields_before=plan.fields_before,
        fields_after=(*plan.fields_after, *(f"{TAG}{label}" for label in plan.columns)),
        losses=(),
        content_digest=digests.combine(each for note in notes for each in note.contents).hex(),
        episodes_kept=sum(len(note.contents) for note in finished),
    )


def _make_part(rewriter: Rewriter, directory: Path, part: Part, meter: Meter) -> PartNote:
    """Writes some of the episodes, reads them back, and stores that they are done."""
    making = directory / f"making-{part.number}"
    rewriter.describe(making)
    output = Output(making, meter)
    with output:
        for number in range(part.begin, part.end or 0):
            rewriter.write(output, number)
    output.verify()
    note = PartNote(part, output.digests, output.steps, {}, files_in(making))
    made = part_path(directory, part.number)
    shutil.rmtree(made, ignore_errors=True)
    making.rename(made)
    write_note(note_path(directory, part.number), note)
    return note
