"""Reads the values that are drawn: lengths, returns and actions; no other column is decoded."""

import functools
import itertools
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.progress import Meter
from rlds_kit.base.step import ACTION, REWARD
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.spec.dtypes import BFLOAT16
from rlds_kit.storage import directory as directories
from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.storage.episode_reader import fields
from rlds_kit.storage.leaf import elements as elements_of
from rlds_kit.storage.leaf import is_at_or_below
from rlds_kit.storage.stacking import spec_at
from rlds_kit.tools.plot.tally import Tally

DISTINCT: Final = 10_000
"""The number of texts that are counted separately; later ones count as others."""
PREFIX: Final = 80
"""Texts that begin with the same characters, this many, count as one."""


class TextTally:
    """Counts how often each text occurs, in bounded memory.

    Attributes:
      counts: by text, or by its beginning.
      others: the count of later texts.

    >>> tally = TextTally()
    >>> tally.add(["left", "right", "left"])
    >>> tally.counts["left"], tally.others
    (2, 0)
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.others = 0

    def add(self, texts: Iterable[str]) -> None:
        """Counts texts."""
        for text in texts:
            beginning = text if len(text) <= PREFIX else text[: PREFIX - 1] + "…"
            if beginning in self.counts or len(self.counts) < DISTINCT:
                self.counts[beginning] += 1
            else:
                self.others += 1


ELEMENTS: Final = 16
"""Number of elements of an array that are counted each by itself."""

_TEXTS: Final = frozenset((pb.TEXT, pb.NUMPY_TEXT))
_REALS: Final = "biuf"
_WANTED: Final = fields((REWARD, ACTION))


class Place(NamedTuple):
    """A leaf of the actions, or one element of it: its numbers are counted together.

    Attributes:
      path: of the leaf: "action/gripper".
      element: its index in arrays that have several; None where arrays differ in shape and all elements are taken
        together.

    >>> str(Place("action")), str(Place("action/arm", (0, 2))), str(Place("action/path", None))
    ('action', 'action/arm[0, 2]', 'action/path[...]')
    """

    path: str
    element: tuple[int, ...] | None = ()

    def __str__(self) -> str:
        if self.element == ():
            return self.path
        return f"{self.path}[{'...' if self.element is None else ', '.join(map(str, self.element))}]"


@dataclass(slots=True)
class Gathered:
    """The values that were read from one dataset.

    Attributes:
      lengths: steps of each episode.
      returns: the sum of an episode's defined rewards, by path of the reward, of each episode that has one.
      numbers: actions that are numbers.
      texts: actions that are text, by path.
      not_drawn: for rewards and actions of other types the reason why they are not drawn, by path.
    """

    lengths: list[int]
    returns: "defaultdict[str, array[float]]" = field(default_factory=lambda: defaultdict(lambda: array("d")))
    numbers: defaultdict[Place, Tally] = field(default_factory=lambda: defaultdict(Tally))
    texts: defaultdict[str, TextTally] = field(default_factory=lambda: defaultdict(TextTally))
    not_drawn: dict[str, str] = field(default_factory=dict)


def gather(dataset: Dataset, meter: Meter) -> Gathered:
    """Reads the rewards and actions of a dataset, block by block. Undefined values and None are not counted.

    Args:
      dataset: or a view of one.
      meter: counts the dataset's bytes, in proportion to the steps of episodes.

    Raises:
      DamagedError: a reward or an action is damaged, or steps are missing.
    """
    found = Gathered(dataset.lengths())
    size, steps, done, spec = size_of(dataset), sum(found.lengths), 0, dataset.spec
    for episode in dataset.episodes:
        _gather_episode(found, episode, spec)
        done += episode.length
        meter.at(size * done // max(steps, 1))
    meter.next_file(size)
    return found


def size_of(dataset: Dataset) -> int:
    """The bytes of all shards."""
    return sum(shard.stat().st_size for shard in directories.shards_in(dataset.path))


def _gather_episode(found: Gathered, episode: Episode, spec: specs.Spec) -> None:
    totals: dict[str, float] = {}
    for column in _columns(episode):
        if is_at_or_below(column.key.path, REWARD):
            _add_reward(found, totals, column)
        else:
            _add_action(found, column, spec)
    for path, total in totals.items():
        found.returns[path].append(total)


def _columns(episode: Episode) -> Iterator[Column]:
    """Columns have only the defined values, and distinguish texts, numbers and None."""
    selected = episode._fields.wanted
    reader = episode._reader()  # noqa: SLF001  reads the same as `episode["action"]` and `mask`, at once
    for block in reader.blocks(0, episode.length, lambda path: _WANTED(path) and selected(path)):
        yield from block


def _add_reward(found: Gathered, totals: dict[str, float], column: Column) -> None:
    """Adds rewards that are one number a step, as `rlds_kit.tools.upkeep.statistics` does."""
    path, values = column.key.path, column.values
    is_number = column.key.kind in restore.NUMERIC and values.dtype.kind in _REALS
    if is_number and column.shapes is None and values[:1].size == 1:
        with np.errstate(invalid="ignore", over="ignore"):  # the sum of inf and -inf is NaN, and that is reported
            totals[path] = totals.get(path, 0.0) + float(values.astype(np.float64).sum())
    elif column.key.kind != pb.NONE:
        found.not_drawn[path] = f"{path} ({'several numbers a step' if is_number else _what(column)})"


def _add_action(found: Gathered, column: Column, spec: specs.Spec) -> None:
    path, kind, dtype = column.key.path, column.key.kind, column.values.dtype
    if kind in _TEXTS:
        found.texts[path].add(restore.exact(column))
    elif kind in restore.NUMERIC and (dtype.kind in _REALS or dtype.name == BFLOAT16):
        _add_numbers(found, column, spec)
    elif kind == pb.BIG_INT:
        found.numbers[Place(path)].outliers += len(column.rows)
    elif kind != pb.NONE:
        found.not_drawn[path] = f"{path} ({_what(column)})"


def _add_numbers(found: Gathered, column: Column, spec: specs.Spec) -> None:
    path, shape = column.key.path, column.values.shape[1:]
    if column.shapes is not None or _varies(_spec_at(spec, path)):  # in some blocks all may have the same shape
        found.numbers[Place(path, None)].add(column.values)
        return
    elements = column.values.reshape(len(column.values), math.prod(shape))
    for number, place in enumerate(_places(path, shape)):
        found.numbers[place].add(elements[:, number])
    if elements.shape[1] > ELEMENTS:
        found.not_drawn[path] = f"{path} (all but {ELEMENTS} of {elements.shape[1]:,} elements)"


@functools.lru_cache  # the same in every block
def _places(path: str, shape: tuple[int, ...]) -> tuple[Place, ...]:
    """Lists the places of the first elements of an array."""
    return tuple(Place(path, element) for element in itertools.islice(np.ndindex(*shape), ELEMENTS))


def _what(column: Column) -> str:
    """A description of values, for messages."""
    if column.key.kind in restore.NUMERIC:
        return column.values.dtype.name
    return "containers" if column.key.kind == pb.TREE else pb.Kind.Name(column.key.kind).lower().replace("_", " ")


def _spec_at(spec: specs.Spec | None, path: str) -> specs.Spec | None:
    """Finds the spec of a leaf, also below containers that may be None."""
    for element in elements_of(path):
        spec = None if spec is None else spec_at(spec.spec if isinstance(spec, specs.Optional) else spec, element)
    return spec


def _varies(spec: specs.Spec | None) -> bool:
    """Whether values may have different shapes."""
    match spec:
        case specs.Array(shape):
            return None in shape
        case specs.Optional(inner):
            return _varies(inner)
        case _:
            return isinstance(spec, specs.Sequence | specs.Graph)
