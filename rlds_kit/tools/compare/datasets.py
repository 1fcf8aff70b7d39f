"""Compares two datasets, field by field."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.base.origin import without_origin
from rlds_kit.base.progress import Progress
from rlds_kit.base.step import FLAGS, is_clock
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.loader.source import Source
from rlds_kit.storage.episode_reader import Wanted
from rlds_kit.storage.episode_reader import fields as at_or_below
from rlds_kit.storage.selection import path_of
from rlds_kit.tools.compare.difference_tally import Tally
from rlds_kit.tools.compare.layers import layer_differences
from rlds_kit.tools.compare.matching import Match, pair
from rlds_kit.tools.compare.report import Report
from rlds_kit.tools.compare.steps import step_differences, stretches
from rlds_kit.tools.compare.values import ValueDifference, differences

LIMIT: Final = 10
"""The default number of first differences that a report lists."""


def diff(
    a: Dataset,
    b: Dataset,
    *,
    fields: Iterable[str] | None = None,
    match: Match | None = None,
    limit: int = LIMIT,
    progress: Progress | None = None,
) -> Report:
    """Compares two datasets: values and types, shapes, which steps have a value, ends, metadata, order, layers.

    Values are compared bit for bit, and Python's numbers, NumPy's scalars and arrays differ. Episodes whose
    content digests are equal are not decoded. Ids, clock times (`time_ns`, unless it is named in `fields`), package
    versions, how steps are cut into blocks, and the origin that a conversion records are not compared. Views are
    compared as they are: the episodes that `where`, `take` or `split` chose, the fields that `select` chose. Long
    episodes are compared a few blocks at a time.

    Args:
      a: one dataset.
      b: the other one.
      fields: to compare, by name or path into a nest, also those that `select` left out; then only these and the
        lengths of episodes are compared, without metadata and layers. None: everything.
      match: which episodes to compare with each other; None: those of the same id if there are any, else those of the
        same number.
      limit: how many of the first differences to list; all are counted.
      progress: gets the bytes of `a`.

    Raises:
      KeyError: neither dataset has the field.
      ValueError: there is no such `match`.
      DamagedError: something that is compared is damaged.

    >>> diff(rlds_kit.open("data/pong"), rlds_kit.open("data/copy")).equal  # doctest: +SKIP
    True
    """
    names = None if fields is None else tuple(fields)
    sides = _Sides(a, b, names)
    matching, tally = pair(a, b, match), Tally(limit)
    if names is None:
        for found in _about(a, b, sides.sources):
            tally.add(found)
    by_digest = differing = 0
    for number_a, number_b in sides.metered(matching.pairs, progress):
        if sides.have_same_digest(number_a, number_b):
            by_digest += 1
            continue
        before = tally.total
        for step, found in sides.differences(number_a, number_b):
            tally.add(found, number_a, number_b, step)
        differing += tally.total > before
    return Report(
        a=str(a.path),
        b=str(b.path),
        match=matching.match,
        pairs=len(matching.pairs),
        by_digest=by_digest,
        differing=differing,
        only_a=matching.only_a,
        only_b=matching.only_b,
        reordered=matching.reordered,
        fields=tally.fields(),
        first=tally.first(),
        layers=layer_differences(a, b, matching.pairs) if names is None else (),
    )


class _Sides:
    """Two datasets, and what is compared of their episodes."""

    def __init__(self, a: Dataset, b: Dataset, names: tuple[str, ...] | None) -> None:
        self._a, self._b, self._names = a, b, names
        self.sources = (a.source(), b.source())
        self._wanted = _wanted(a, b, names)
        self._is_alike = names is not None or _chosen(a) == _chosen(b)

    def metered(self, pairs: tuple[tuple[int, int], ...], progress: Progress | None) -> Iterator[tuple[int, int]]:
        """The pairs; `progress` is called between them."""
        lengths = self._a.lengths()
        steps = max(1, sum(lengths[number] for number, _ in pairs))
        size = sum(path.stat().st_size for path in set(self._a.shards())) if progress is not None else 0
        done = 0
        for number_a, number_b in pairs:
            yield number_a, number_b
            done += lengths[number_a]
            if progress is not None:
                progress(size * done // steps, size)

    def have_same_digest(self, number_a: int, number_b: int) -> bool:
        """Whether digests prove equality: not where clocks are compared, or the datasets have different selections."""
        if self._a.amended_by or self._b.amended_by:
            return False  # digests are of the recorded values
        if not self._is_alike or any(is_clock(name) for name in self._names or self._a.selected or ()):
            return False
        digest = self._a.episodes[number_a].content_digest
        return bool(digest) and digest == self._b.episodes[number_b].content_digest

    def differences(self, number_a: int, number_b: int) -> Iterator[tuple[int | None, ValueDifference]]:
        """The differences of two episodes, those of their steps included."""
        a, b = self._a.episodes[number_a], self._b.episodes[number_b]
        for found in differences(_of_episode(a, self._names), _of_episode(b, self._names)):
            yield None, found
        readers = self.sources[0].reader(number_a), self.sources[1].reader(number_b)
        entries = self.sources[0].entries[number_a], self.sources[1].entries[number_b]
        for begin, end in stretches(entries, min(a.length, b.length)):
            yield from step_differences(readers, begin, end, self._wanted)


def _of_episode(episode: Episode, names: tuple[str, ...] | None) -> dict[str, Any]:
    """The values of an episode that are compared besides its steps."""
    end = None if episode.end is None else episode.end.name
    if names is not None:  # the flags of steps are determined by length and end
        return {"length": episode.length, **({"end": end} if set(FLAGS) & set(names) else {})}
    return {
        "length": episode.length,
        "end": end,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "metadata": episode.metadata,
        "seed": episode.seed,
        "options": episode.options,
    }


def _wanted(a: Dataset, b: Dataset, names: tuple[str, ...] | None) -> tuple[Wanted, Wanted]:
    """Returns a function that selects the columns to compare."""
    if names is None:
        return _shown(a), _shown(b)
    paths = {path for name in names if name not in FLAGS for path in _paths(a, b, name)}
    wanted = at_or_below(sorted(paths))
    return wanted, wanted


def _shown(dataset: Dataset) -> Wanted:
    """Returns a function that selects the columns of a view."""
    chosen = _chosen(dataset)
    return (lambda path: not is_clock(path)) if chosen is None else at_or_below(sorted(chosen))


def _chosen(dataset: Dataset) -> set[str] | None:
    """The paths that `select` chose; None where it was not called."""
    if dataset.selected is None:
        return None
    return {path_of(dataset.spec, name) for name in dataset.selected if name not in FLAGS}


def _paths(a: Dataset, b: Dataset, name: str) -> set[str]:
    """The paths of a field in both datasets."""
    found = set()
    for dataset in (a, b):
        try:
            found.add(path_of(dataset.spec, name))
        except KeyError as error:
            missing = error
    if not found:
        raise missing
    return found


def _about(a: Dataset, b: Dataset, sources: tuple[Source, Source]) -> Iterator[ValueDifference]:
    """The differences of the datasets themselves: declared fields, metadata of the first run, environment."""
    yield from differences(_declared(sources[0]), _declared(sources[1]), "spec")
    yield from differences(without_origin(a.metadata), without_origin(b.metadata), "run_metadata")
    yield from differences(_environment(a), _environment(b), "environment")


def _declared(source: Source) -> dict[str, Any]:
    return {name: specs.to_json(source.spec.fields[name]) for name in source.fields if name not in FLAGS}


def _environment(dataset: Dataset) -> dict[str, Any]:
    return {key: item for key, item in dataset.environment.items() if key != "versions"}
