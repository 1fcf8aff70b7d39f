"""The episodes of a dataset, each cut to some of its steps."""

import os
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.base.step import ACTED_FIELDS, OBSERVATION
from rlds_kit.layers.annotation import Kind
from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import escape, field_of
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.edit.cut import Cut, write_cut
from rlds_kit.tools.edit.new_dataset import Report, finished, unique
from rlds_kit.tools.edit.one_spec import one_spec
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.upkeep.episode_blocks import columns_of, headers_of
from rlds_kit.tools.upkeep.lineage import lineage
from rlds_kit.tools.upkeep.source import SourceEpisode, read_source


def trim(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    begin: int = 0,
    end: int | None = None,
    at: str | None = None,
    tag: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Copies a dataset, each episode cut to the steps `[begin, end)`, or to the step where a field is first true.

    An episode that loses no step is copied unchanged, with its id and digest. Any other one gets a new id, made from
    the old one and the cut (UUID version 5), a digest of its own, and an entry `trimmed` in its provenance. If its last
    step is cut off it ends as INTERRUPTED, and its new last step has no action, reward and discount. If its first step
    is, seed and options move to that entry, because its first observation is not that of a reset. Metadata do not
    change. Episodes without remaining steps are left out, and so are the annotations of removed steps.

    Args:
      source: directory of the dataset; not changed.
      destination: for the new dataset; must not exist, or be an empty directory.
      begin: first step of the copy; a negative number counts from the end.
      end: one past the last step of the copy; a negative number counts from the end; None: to the end.
      at: a field of bools, or a path into a nest, "info/success". Of the steps `[begin, end)` the first one where it is
        true becomes the last; if the field belongs to the action, the step after. None: no such field.
      tag: a label that layers give to steps: the first step that has it becomes the last. None: no such label.
      progress: gets the bytes done; they are read twice.

    Raises:
      ValueError: no episode has the field `at`, or it is not one bool per step; no step has the tag.
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      FormatError: two episodes have the same id and different content.
      DamagedError: the source is damaged.
      OSError: a file cannot be read or written.

    >>> trim("data/pong", "data/first-minute", end=3600)  # doctest: +SKIP
    >>> trim("data/reach", "data/reached", at="info/success")  # doctest: +SKIP
    """
    read = read_source(source)
    episodes, duplicates = unique([read])
    acted = acted_fields_of(episodes)
    cuts = [_until(tag, episode, _cut(episode, begin, end, at, acted)) for episode in episodes]
    if at is not None:
        _require_field(episodes, at)
    if tag is not None and episodes and not any(_tagged(episode, tag) for episode in episodes):
        raise ValueError(f"no step has the tag {tag!r}; `rlds-kit annotate` lists those there are")
    spec, meter, choose = one_spec([read]), Meter(progress, 2 * read.size), FilterChoice()
    with new_directory(destination) as directory:
        with Output(directory, meter) as output:
            for episode, cut in zip(episodes, cuts, strict=True):
                if cut == Cut(0, episode.entry.rows):
                    output.copy(episode)
                elif cut.begin < cut.end:
                    write_cut(output, episode, cut, acted, choose)
        made = lineage("trim", {"begin": begin, "end": end, "at": at, "tag": tag}, [read])
        report = finished(directory, output, [read], spec, made)
    return replace(
        report,
        destination=Path(destination),
        duplicates=duplicates,
        cut=output.cut,
        removed=len(episodes) - report.episodes,
    )


def _cut(episode: SourceEpisode, begin: int, end: int | None, at: str | None, acted: AbstractSet[str]) -> Cut:
    first, last, _ = slice(begin, end).indices(episode.entry.rows)
    stop = None if at is None else first_set(episode, at, first, last)
    if at is None or stop is None:
        return Cut(first, last)
    return Cut(first, min(stop + 1 + (field_of(at) in acted), last))


def _until(tag: str | None, episode: SourceEpisode, cut: Cut) -> Cut:
    """The part of a cut up to the first step in it that has a tag."""
    spans = [] if tag is None else _tagged(episode, tag)
    stops = [max(span.start, cut.begin) for span in spans if span.stop > cut.begin and span.start < cut.end]
    return cut._replace(end=min(stops) + 1) if stops else cut


def _tagged(episode: SourceEpisode, tag: str) -> list[range]:
    return [
        each.steps
        for each in episode.annotations()
        if each.kind is Kind.TAG and each.value == tag and each.steps is not None
    ]


def _require_field(episodes: Sequence[SourceEpisode], at: str) -> None:
    if episodes and not any(has_field(episode, at) for episode in episodes):
        raise ValueError(f"no episode has the field {at!r}; `rlds-kit info` shows which there are")


def has_field(episode: SourceEpisode, field: str) -> bool:
    """Whether some step has a value for a field.

    Raises:
      DamagedError: the field is damaged.
    """
    return any(True for _ in _columns(episode, field))


def first_set(episode: SourceEpisode, field: str, begin: int, end: int) -> int | None:
    """The first of the steps `[begin, end)` in which a field is true; None if it is in none. Nothing else is read.

    Args:
      episode: of a source.
      field: name, or path into a nest: "info/success".
      begin: first step to search.
      end: one past the last.

    Raises:
      ValueError: it is not one bool per step.
      DamagedError: it is damaged.
    """
    found = []
    for column in _columns(episode, field):
        if column.key.kind == pb.NONE:
            continue  # not known in these steps
        _require_bool(column, episode, field)
        rows = column.rows[column.values.reshape(-1).astype(np.bool_)]
        found += rows[(rows >= begin) & (rows < end)].tolist()
    return min(found, default=None)


def _columns(episode: SourceEpisode, field: str) -> list[Column]:
    paths = {field, escape(field)}
    return [
        column
        for path in sorted(paths)
        for column in columns_of(episode.shard.file(), episode.entry, path)
        if column.key.path in paths
    ]


def _require_bool(column: Column, episode: SourceEpisode, field: str) -> None:
    numeric, dtype = column.key.kind in restore.NUMERIC, column.values.dtype
    if column.shapes is not None or not numeric or dtype != np.bool_ or column.values[:1].size != 1:
        what = f"{dtype} {column.values.shape[1:]}" if numeric else pb.Kind.Name(column.key.kind)
        raise ValueError(f"{field}: expected one bool a step, got {what} in episode {episode.id}")


def acted_fields_of(episodes: Iterable[SourceEpisode]) -> set[str]:
    """Finds the fields of the action side from block headers: an action is stored in the block of the next observation.

    So these fields begin before their block, or always stop one step before the observation.

    Raises:
      DamagedError: a header is damaged.
    """
    early, short, others = set(ACTED_FIELDS), set[str](), set[str]()
    for episode in episodes:
        for _, __, block in headers_of(episode.shard.file(), episode.entry):
            ends: dict[str, int] = {}
            for column in block.columns:
                name = field_of(column.path)
                ends[name] = max(ends.get(name, 0), column.first_row + column.count)
                if column.first_row < block.first_row:
                    early.add(name)
            has_last = ends.get(OBSERVATION) == block.end_row  # data may lack the final observation and its step
            for name, end in ends.items():
                (short if has_last and end == block.end_row - 1 else others).add(name)
    return early | (short - others)
