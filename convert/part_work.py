"""The task of a worker: converts one part of a source, reads it back and compares it."""

import contextlib
import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.durable import synced_later
from rlds_kit.base.errors import FormatError
from rlds_kit.base.executor.run import notify
from rlds_kit.base.whole_file import sync_tree
from rlds_kit.convert import formats
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.part_note import PartNote, files_in, note_path, part_path, write_note
from rlds_kit.convert.parts import Part, episodes_of
from rlds_kit.convert.protocol import ConversionError, ForeignEpisode, Loss, Reader, Target, Writer

SYNCED_BYTES: Final = 32 << 20
"""The size of parts that are worth a sync of their own, so that a power failure does not take them. Smaller ones are
made again sooner than a slow disk syncs them; a killed process loses neither. The whole result is synced at its end."""


@dataclass(frozen=True)
class Job:
    """The description of a conversion, which every worker receives.

    Attributes:
      reader: of the source.
      weights: bytes of each piece of the source; empty if unknown.
      format: name of the format to write.
      name: of the new directory.
      origin: of the data, for its metadata.
      allow_loss: whether values that the format cannot store may be left out.
      directory: of the finished parts.
    """

    reader: Reader
    weights: Sequence[int]
    format: str
    name: str
    origin: Mapping[str, Any]
    allow_loss: bool
    directory: Path

    def bytes_of(self, part: Part) -> list[int]:
        """The estimated bytes of each piece of a part; fewer if the number of episodes is unknown."""
        if self.weights:
            return list(self.weights[part.begin : part.end])
        count = max(1, len(self.reader))
        return [self.reader.size // count] * (count - 1) + [self.reader.size - self.reader.size // count * (count - 1)]


def convert_part(job: Job, part: Part) -> PartNote:
    """Writes a part, reads it back, and writes its note. Each of the two reports the bytes of the source as progress.

    Raises:
      ConversionError: values would be lost, and that is not allowed.
      FormatError: the data that were read back differ from those that were written.
    """
    is_large = sum(job.bytes_of(part)) >= SYNCED_BYTES
    partial = job.directory / f"making-{part.number}-{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        work = _PartWork(job, part, partial / job.name)
        with synced_later(partial):
            work.write()
        work.compare()
        note = PartNote(part, work.contents, work.steps, dict(work.losses), files_in(partial))
        if is_large:
            sync_tree(partial)
        done = part_path(job.directory, part.number)
        shutil.rmtree(done, ignore_errors=True)
        partial.rename(done)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    with contextlib.nullcontext() if is_large else synced_later(job.directory):
        write_note(note_path(job.directory, part.number), note)
    return note


class _PartWork:
    """The state of the conversion of one part."""

    def __init__(self, job: Job, part: Part, made: Path) -> None:
        self._job, self._part = job, part
        self._target = Target(made, job.name, job.origin)
        self.contents: list[bytes] = []
        self.losses: Counter[tuple[str, str]] = Counter()
        self.steps = 0

    def write(self) -> None:
        """Reads the source, and writes the values that the target can store."""
        create = formats.named(self._job.format).create
        if create is None:
            raise ConversionError(
                f"{self._job.format} is a format that is only read; convert to {' or '.join(formats.WRITABLE)}"
            )
        reader, done = self._job.reader, _Pass(self._job.bytes_of(self._part))
        writer = create(self._target, reader)
        try:
            if not self._part.number:  # the same in every part
                self._lose(self._target.losses, "the dataset")
            for count, episode in enumerate(episodes_of(reader, self._part)):
                fitted, losses = writer.fit(episode)
                self._lose(losses, self._part.place(count))
                if fitted is not None:
                    self._put(writer, fitted)
                done.episode()
        finally:
            writer.close()
        self._lose(reader.losses, "the source")
        done.end()

    def _put(self, writer: Writer, fitted: ForeignEpisode) -> None:
        writer.write(fitted)
        self.contents.append(content_of(fitted))
        # The last action leads to a step, also where the observation of that step is missing.
        self.steps += max(len(fitted.observed), len(fitted.acted) + 1 if fitted.acted else 0)

    def _lose(self, losses: list[Loss], place: str) -> None:
        if losses and not self._job.allow_loss:
            listed = "; ".join(f"{loss.field}: {loss.reason}" for loss in losses)
            raise ConversionError(
                f"{place} has values that would be lost: {listed}. Nothing was written; pass allow_loss=True, or "
                "--allow-loss on the command line, to leave it out and get a list of all that was"
            )
        for loss in losses:
            self.losses[loss.field, loss.reason] += loss.values

    def compare(self) -> None:
        """Reads everything back.

        Raises:
          FormatError: it differs from what was written.
        """
        reader = formats.named(self._job.format).open(self._target.path) if self.contents else ()
        found, done = 0, _Pass(self._job.bytes_of(self._part))
        for found, episode in enumerate(reader, 1):
            if found > len(self.contents) or content_of(episode) != self.contents[found - 1]:
                raise FormatError(_differs(f"episode {found - 1} of what was written is not what was read"))
            done.episode()
        if found != len(self.contents):
            raise FormatError(_differs(f"{len(self.contents)} episodes were written, {found} are there"))
        done.end()


class _Pass:
    """Reports the bytes of a part as progress, by the estimated sizes of its pieces; at the end, all of them."""

    def __init__(self, weights: list[int]) -> None:
        self._weights, self._left = iter(weights), sum(weights)

    def episode(self) -> None:
        """Counts an episode."""
        count = min(next(self._weights, 0), self._left)
        self._left -= count
        notify(count)

    def end(self) -> None:
        """Counts the remaining bytes."""
        notify(self._left)
        self._left = 0


def _differs(what: str) -> str:
    return f"{what}: a defect of rlds_kit, or of this machine's memory or disk; the result was removed"
