"""Converts datasets between formats, reads the result back and compares it with the source."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import xxhash

from rlds_kit._version import __version__
from rlds_kit.base.durable import synced_later
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.base.executor import Run, on_this_and_processes, serially
from rlds_kit.base.origin import BEFORE, LOSSY, SOURCE
from rlds_kit.base.progress import Progress
from rlds_kit.convert import formats
from rlds_kit.convert.part_note import PartNote, part_path, read_note
from rlds_kit.convert.part_work import Job, convert_part
from rlds_kit.convert.parts import PART_BYTES, Part, least_bytes, partition
from rlds_kit.convert.protocol import (
    ConversionError,
    Format,
    KnowsDecoded,
    Loss,
    PartReader,
    Reader,
    Sharing,
    WithOrigin,
)
from rlds_kit.convert.workspace import prepare, workspace
from rlds_kit.dataset.location import directory_of
from rlds_kit.remote.address import is_url, require_local
from rlds_kit.remote.path import RemotePath
from rlds_kit.storage import whole_directory
from rlds_kit.storage.directory import is_dataset

VERSION: Final = 2
"""The version of the conversion, stored in the metadata of its results."""
OURS: Final = "rlds_kit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of `convert`.

    Attributes:
      source: of the conversion.
      source_format: name of its format.
      destination: of the conversion.
      destination_format: name of its format.
      episodes: in the destination.
      steps: in the destination: of each episode one more than it has actions, even if the last one has no observation.
      losses: values that the destination cannot store.
      lossy_at_the_source: values that were lost when the source was made, by field.
      content_digest: of all episodes, as read back from the destination, in hexadecimal digits.
      episodes_kept: number of these that an earlier, interrupted conversion had finished.
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
    episodes_kept: int = 0


def convert(  # noqa: PLR0913  the formats, and how the conversion runs
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  the word that users search for
    *,
    source_format: str | None = None,
    allow_loss: bool = False,
    workers: int = 1,
    executor: AbstractContextManager[Run] | None = None,
    part_bytes: int = PART_BYTES,
    progress: Progress | None = None,
) -> Report:
    """Writes the episodes of a dataset into a new one, usually of another format.

    Each worker has one episode at a time in memory. Everything is read back, and every episode is compared with the
    source; only then does the dataset appear at `destination`, with episodes in the order of the source. The result
    does not depend on the executor and the number of workers.

    A source is converted in parts where its reader is a `PartReader` and the destination's format can join them, which
    is rlds_kit alone. A conversion that was killed then continues with the parts that are not done, if the source and
    the options are the same; else, and with other formats, it starts from the beginning.

    Args:
      source: a directory or file, whose format is recognised by its content; or the URL of a dataset of rlds_kit.
      destination: does not exist, or is an empty directory.
      format: of the destination, one of `formats.WRITABLE`; None: "rlds_kit".
      source_format: one of `formats.FORMATS`; None: detected.
      allow_loss: whether values that the destination cannot store may be left out; the report lists them.
      workers: processes of this machine; 1 converts in this process.
      executor: runs the parts, in place of `workers`: `serially()`, `on_processes()`, `on_beam()` or `on_ray()` of
        `rlds_kit.base.executor`. All workers must see source and destination under the same paths.
      part_bytes: minimum size of a part, decoded; parts of large sources are larger.
      progress: gets the bytes done and the total bytes: twice those of the source, or three times if it is scanned
        first. On Beam and Ray it is called when a part is done.

    Raises:
      ConversionError: values would be lost and `allow_loss` is false, a format is unknown or read-only, or there are
        several workers for a format that only one worker can write.
      WorkerDiedError: a worker died; the next attempt continues with the parts that are not done.
      NotADatasetError: the source is no dataset of a known format.
      DatasetExistsError: the destination exists, or another process converts to it.
      FormatError, DamagedError: the source is invalid or damaged.
      SpecError: a value contradicts the source's own spaces.

    >>> convert("halfcheetah_medium-v2.hdf5", "data/halfcheetah")  # doctest: +SKIP
    """
    require_local(destination)
    path = directory_of(source) if is_url(str(source)) else Path(source)
    if isinstance(path, RemotePath) and not is_dataset(path):
        raise NotADatasetError(
            f"{path}: expected a dataset of rlds_kit; of other formats nothing is read from URLs: copy the dataset to "
            "this machine and convert that"
        )
    found = formats.recognised(path) if source_format is None else formats.named(source_format)
    if not path.exists():
        raise NotADatasetError(f"{path}: expected a dataset, but there is nothing; check the path")
    wanted = formats.named(OURS if format is None else format)
    if found is wanted:
        raise ConversionError(f"{path} is of the format {found.name} already; `rlds-kit rechunk` copies datasets")
    _require_workers(workers, executor, wanted)
    where = path if executor is None or is_url(str(path)) else path.absolute()
    with _executor(found, path, workers, part_bytes) if executor is None else executor as run:
        return _converted_with(
            run,
            Source(path, found.name, found.open(where)),
            Path(destination),
            wanted,
            allow_loss=allow_loss,
            workers=workers if executor is None else None,
            part_bytes=part_bytes,
            tell=progress,
        )


@dataclass(frozen=True)
class Source:
    """An opened source of a conversion.

    Attributes:
      path: a directory or a file.
      format: the name of its format.
      reader: of all its episodes, or of a selection.
      chosen: identifies the selection.
    """

    path: Path
    format: str
    reader: Reader
    chosen: str = ""

    def identity(self) -> list[Any]:
        """Names, sizes and times of its files, without hidden ones: they differ when the source has changed."""
        if isinstance(self.path, RemotePath):
            return [str(self.path), self.chosen, self.path.versions()]
        root = self.path.absolute()
        files = sorted(each for each in root.rglob("*") if each.is_file()) if root.is_dir() else [root]
        seen = [each for each in files if not any(part.startswith(".") for part in each.relative_to(root).parts)]
        stats = [(each.relative_to(root).as_posix(), each.stat()) for each in seen]
        return [str(root), self.chosen, [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]]


def convert_opened(
    source: Source,
    destination: Path,
    wanted: Format,
    *,
    allow_loss: bool,
    workers: int = 1,
    executor: AbstractContextManager[Run] | None = None,
    part_bytes: int = PART_BYTES,
    tell: Progress | None = None,
) -> Report:
    """Converts an opened source; the arguments and errors are those of `convert`."""
    _require_workers(workers, executor, wanted)
    own = workers if executor is None else None
    options: dict[str, Any] = {"allow_loss": allow_loss, "workers": own}
    if executor is None:
        executor = on_this_and_processes(workers, runs_once=True) if workers > 1 else serially()
    with executor as run:
        return _converted_with(run, source, destination, wanted, part_bytes=part_bytes, tell=tell, **options)


def _require_workers(workers: int, executor: AbstractContextManager[Run] | None, wanted: Format) -> None:
    if workers < 1 or (executor is not None and workers > 1):
        raise ValueError(f"workers: expected 1 or more, or an executor, got {workers} and {executor}")
    if workers > 1 and wanted.join is None:
        raise ConversionError(f"{wanted.name} is written by one worker: its files cannot be joined; leave workers out")


def _executor(found: Format, path: Path, workers: int, part_bytes: int) -> AbstractContextManager[Run]:
    """One worker for each part of large sources starts while this process opens the source and finds its episodes."""
    if workers == 1:
        return serially()
    files = path.rglob("*") if path.is_dir() else [path]
    size = 0 if isinstance(path, RemotePath) else sum(each.lstat().st_size for each in files)
    modules = (convert_part.__module__, found.open.__module__)
    return on_this_and_processes(workers, size // part_bytes, modules, runs_once=True)


def _converted_with(
    run: Run,
    source: Source,
    destination: Path,
    wanted: Format,
    *,
    allow_loss: bool,
    workers: int | None,
    part_bytes: int,
    tell: Progress | None,
) -> Report:
    path = destination.absolute()
    with workspace(path) as directory:
        meter = _Meter(source.reader.size, tell)
        reader = source.reader
        weights = list(reader.weigh(meter.scan)) if isinstance(reader, PartReader) else []
        job = Job(reader, weights, wanted.name, path.name, _origin(source), allow_loss, directory)
        least = least_bytes(reader.size, reader.decoded if isinstance(reader, KnowsDecoded) else 0, part_bytes)
        parts = [Part(0, 0, None)]
        if isinstance(reader, PartReader) and weights and wanted.join is not None:
            parts = partition(weights, least, reader.unit)
        options = {"converter": [VERSION, __version__], "formats": [source.format, wanted.name], "loss": allow_loss}
        prepare(directory, {**options, "source": source.identity(), "parts": [[p.begin, p.end] for p in parts]})
        earlier = _finished_parts(job, parts, meter)
        left = [part for part in parts if part.number not in earlier]
        made = {note.part.number: note for note in _converted(job, left, _run_of(job, parts, workers, run), meter)}
        _finish(job, parts, wanted, path)
        meter.end()
    return _report(source, wanted, path, earlier, made)


def _origin(source: Source) -> dict[str, Any]:
    return {
        "format": source.format,
        "name": source.path.absolute().name,
        **(source.reader.origin if isinstance(source.reader, WithOrigin) else {}),
        "converter": VERSION,
        LOSSY: dict(source.reader.lossy),
        **({BEFORE: source.reader.metadata[SOURCE]} if SOURCE in source.reader.metadata else {}),
    }


def _finished_parts(job: Job, parts: list[Part], meter: "_Meter") -> dict[int, PartNote]:
    """The notes of the parts that an earlier process has converted."""
    found = {part.number: note for part in parts if (note := read_note(job.directory, part)) is not None}
    for note in found.values():
        meter.part(2 * sum(job.bytes_of(note.part)))
    return found


def _run_of(job: Job, parts: Sequence[Part], workers: int | None, run: Run) -> Run:
    """Chooses how the parts run: in this process alone, if each worker would repeat the same work.

    Args:
      job: the conversion.
      parts: all of them.
      workers: the requested number; None: the caller has chosen an executor.
      run: of that executor.
    """
    reader = job.reader
    if workers == 1 or len(parts) == 1 or not isinstance(reader, Sharing):
        return run
    if reader.share(job.directory / "shared") or workers is None:
        return run
    with serially() as alone:
        return alone


def _converted(job: Job, parts: Sequence[Part], run: Run, meter: "_Meter") -> Iterator[PartNote]:
    for note in run(partial(convert_part, job), parts, shared=job.directory, notify=meter):
        meter.part(2 * sum(job.bytes_of(note.part)))
        yield note


def _finish(job: Job, parts: list[Part], wanted: Format, path: Path) -> None:
    """Joins the parts at the destination."""
    made = [part_path(job.directory, part.number) / job.name for part in parts]
    if len(made) > 1 and wanted.join is not None:
        joined = job.directory / job.name
        joined.mkdir()
        with synced_later(joined):  # `put` syncs all of it
            wanted.join([each for each in made if each.exists()], joined)
    else:
        (joined,) = made
        joined.mkdir(exist_ok=True)  # a dataset without episodes may have no files
    whole_directory.put(joined, path)


def _report(
    source: Source, wanted: Format, path: Path, earlier: Mapping[int, PartNote], made: Mapping[int, PartNote]
) -> Report:
    notes = [note for _, note in sorted({**earlier, **made}.items())]
    losses: Counter[tuple[str, str]] = Counter()
    for note in notes:
        losses.update(note.losses)
    return Report(
        source=source.path,
        source_format=source.format,
        destination=path,
        destination_format=wanted.name,
        episodes=sum(len(note.contents) for note in notes),
        steps=sum(note.steps for note in notes),
        losses=tuple(Loss(field, reason, values) for (field, reason), values in sorted(losses.items())),
        lossy_at_the_source=dict(source.reader.lossy),
        content_digest=xxhash.xxh3_128(b"".join(each for note in notes for each in note.contents)).hexdigest(),
        episodes_kept=sum(len(note.contents) for note in earlier.values()),
    )


class _Meter:
    """Sums the bytes done: a scan of the source, if it needs one, then twice the source."""

    def __init__(self, size: int, progress: Progress | None) -> None:
        self._size, self._progress = size, progress
        self._done, self._finished, self._passes = 0, 0, 2

    def scan(self, count: int) -> None:
        """Adds bytes that were scanned."""
        self._passes = 3
        self.part(count)

    def part(self, count: int) -> None:
        """Adds a part that is done, whose bytes an executor may have added before."""
        self._finished += count
        self(max(0, self._finished - self._done))

    def end(self) -> None:
        """Adds the remaining bytes."""
        self(self._passes * self._size)

    def __call__(self, count: int) -> None:
        """Adds bytes that were read, or compared."""
        total = self._passes * self._size
        self._done = min(self._done + count, total)
        if self._progress is not None:
            self._progress(self._done, total)
