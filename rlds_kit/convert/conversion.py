"""Converts datasets between formats, and proves what came through."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import xxhash

from rlds_kit.convert import formats
from rlds_kit.convert.partial_directory import partial_directory
from rlds_kit.convert.protocol import ConversionError, Format, Loss, Reader, Target, Writer
from rlds_kit.convert.row_content import content_of
from rlds_kit.errors import FormatError, NotADatasetError
from rlds_kit.upkeep.report import Progress

VERSION: Final = 1
"""Of the conversion, noted in what it makes."""
OURS: Final = "rlds_kit"


@dataclass(frozen=True, slots=True)
class Report:
    """What `convert` did.

    Attributes:
      source: what was read.
      source_format: name of its format.
      destination: what was made.
      destination_format: name of its format.
      episodes: in the destination.
      steps: in the destination.
      losses: what the destination could not hold.
      lossy_at_the_source: what was lost before, when the source was made, by field.
      content_digest: of all episodes as they were read back from the destination, in hexadecimal digits.
    """

    source: Path
    source_format: str
    destination: Path
    destination_format: str
    episodes: int
    steps: int
    losses: tuple[Loss, ...]
    lossy_at_the_source: dict[str, str]
    content_digest: str


def convert(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  the word a user would search
    *,
    source_format: str | None = None,
    allow_loss: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Writes the episodes of one dataset into a new one, usually of another format.

    One episode at a time is in memory. The result is read back, and every episode compared with what was to be written;
    only then does it appear at `destination`. A conversion that was killed leaves nothing there, and the next one
    begins anew.

    Args:
      source: a directory or file; what kind is seen from its content.
      destination: does not exist, or is an empty directory.
      format: of the destination, "rlds_kit" or "minari"; None: "rlds_kit".
      source_format: one of `formats.FORMATS`; None: as recognised.
      allow_loss: whether what the destination cannot hold may be left out; what it was is in the report.
      progress: called with the bytes of the source that are done and those there are; everything is read twice.

    Raises:
      ConversionError: something would be lost and `allow_loss` is not given, or a format is unknown or only read.
      NotADatasetError: the source is no dataset of a known format.
      DatasetExistsError: something is at the destination.
      FormatError, DamagedError: the source is broken.
      SpecError: a value contradicts the source's own spaces.

    >>> convert("halfcheetah_medium-v2.hdf5", "data/halfcheetah")  # doctest: +SKIP
    """
    path, target_path = Path(source), Path(destination).absolute()
    found = formats.recognised(path) if source_format is None else formats.named(source_format)
    if not path.exists():
        raise NotADatasetError(f"{path}: expected a dataset, but there is nothing; check the path")
    wanted = formats.named(OURS if format is None else format)
    if found is wanted:
        raise ConversionError(f"{path} is of the format {found.name} already; `rlds-kit rechunk` copies datasets")
    reader = found.open(path)
    with partial_directory(target_path) as made:
        origin = {
            "format": found.name,
            "name": path.absolute().name,
            "converter": VERSION,
            "lossy_at_the_source": dict(reader.lossy),
        }
        work = _Work(reader, Target(made, target_path.name, origin), allow_loss, progress)
        work.write(wanted)
        digest = work.compare(wanted)
    losses = tuple(Loss(field, reason, values) for (field, reason), values in sorted(work.losses.items()))
    return Report(
        path, found.name, target_path, wanted.name, work.episodes, work.steps, losses, dict(reader.lossy), digest
    )


class _Work:
    """One conversion while it goes on."""

    def __init__(self, reader: Reader, target: Target, allow_loss: bool, progress: Progress | None) -> None:
        self._reader, self._target, self._allow_loss, self._progress = reader, target, allow_loss, progress
        self._contents: list[bytes] = []
        self.losses: Counter[tuple[str, str]] = Counter()
        self.episodes = self.steps = 0

    def write(self, wanted: Format) -> None:
        """Reads the source, and writes what the target can hold of it."""
        if wanted.create is None:
            raise ConversionError(
                f"{wanted.name} is a format that is only read; convert to {' or '.join(formats.WRITABLE)}"
            )
        writer = wanted.create(self._target, self._reader)
        try:
            self._lose(self._target.losses, "the dataset")
            for number, episode in enumerate(self._reader):
                held, losses = writer.fit(episode)
                self._lose(losses, f"episode {number}")
                if held is not None:
                    self._put(writer, held)
                self._tell(number + 1, 0)
        finally:
            writer.close()
        self._lose(self._reader.losses, "the source")

    def _put(self, writer: Writer, held: Any) -> None:
        writer.write(held)
        self._contents.append(content_of(held))
        self.episodes += 1
        self.steps += len(held.observed)

    def _lose(self, losses: list[Loss], place: str) -> None:
        if losses and not self._allow_loss:
            listed = "; ".join(f"{loss.field}: {loss.reason}" for loss in losses)
            raise ConversionError(
                f"{place} has what would be lost: {listed}. Nothing was written; pass allow_loss=True, or "
                "--allow-loss on the command line, to leave it out and get a list of all that was"
            )
        for loss in losses:
            self.losses[loss.field, loss.reason] += loss.values

    def compare(self, wanted: Format) -> str:
        """Reads everything back.

        Raises:
          FormatError: it is not what was written.
        """
        total = xxhash.xxh3_128()
        reader = wanted.open(self._target.path) if self._contents or wanted.name != OURS else ()
        found = 0
        for found, episode in enumerate(reader, 1):
            content = content_of(episode)
            if found > len(self._contents) or content != self._contents[found - 1]:
                raise FormatError(_differs(f"episode {found - 1} of what was written is not what was read"))
            total.update(content)
            self._tell(found, len(self._contents))
        if found != len(self._contents):
            raise FormatError(_differs(f"{len(self._contents)} episodes were written, {found} are there"))
        return total.hexdigest()

    def _tell(self, done: int, before: int) -> None:
        if self._progress is not None:
            share = min((done + before) / max(1, 2 * len(self._reader), before * 2), 1)
            self._progress(int(share * 2 * self._reader.size), 2 * self._reader.size)


def _differs(what: str) -> str:
    return f"{what}: a defect of rlds_kit, or of this machine's memory or disk; nothing was kept"
