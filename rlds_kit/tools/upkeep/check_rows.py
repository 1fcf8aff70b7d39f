"""Checks which rows of an episode have values: each field must have one exactly in the rows where it is defined."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import ACTED_FIELDS, OBSERVATION, STEP_INDEX
from rlds_kit.storage.column import Column
from rlds_kit.tools.upkeep.check_spec import by_field
from rlds_kit.tools.upkeep.repaired import Span

RowFinding = tuple[str, int, str]
"""Rule, step, message."""

_INTEGERS: Final = frozenset((pb.INT, pb.SCALAR, pb.ARRAY))
_MAY_LACK: Final = (specs.Optional, specs.Any)


class Rows:
    """Collects the rows of all blocks of an episode; call `findings` after the last one."""

    def __init__(self) -> None:
        self._covered: list[np.ndarray] = []
        self._defined: dict[str, list[np.ndarray]] = {}
        self._steps: list[tuple[np.ndarray, np.ndarray]] = []
        self._latest: dict[str, int] = {}

    def add(self, rows: range, columns: Sequence[Column]) -> Iterator[RowFinding]:
        """Adds a block; yields a finding for each second value of the same row."""
        self._covered.append(np.arange(rows.start, rows.stop))
        for name, parts in by_field(columns).items():
            self._defined.setdefault(name, []).extend(part.rows for part in parts)
            if name == STEP_INDEX:
                self._steps += [(part.rows, part.values) for part in parts if _is_integer(part)]
        yield from self._second_values(columns)

    def _second_values(self, columns: Sequence[Column]) -> Iterator[RowFinding]:
        of_path: dict[str, list[np.ndarray]] = {}
        for column in columns:
            of_path.setdefault(column.key.path, []).append(column.rows)
        for path, parts in of_path.items():
            rows = np.sort(np.concatenate(parts))
            if not len(rows):
                continue
            again = rows[1:][rows[1:] == rows[:-1]].tolist()
            if rows[0] <= self._latest.get(path, -1):
                again.insert(0, int(rows[0]))
            self._latest[path] = max(int(rows[-1]), self._latest.get(path, -1))
            yield from (("value-twice", row, f"{path} has two values") for row in again[:1])

    def findings(self, length: int, declared: specs.Dict, excused: Sequence[Span]) -> Iterator[RowFinding]:
        """Values that are defined but should not be, and missing ones, in an episode of `length` rows."""
        covered = _mask(self._covered, length)
        steps, has_step = self._step_index(length)
        yield from self._step_order(steps, has_step)
        followed = covered.copy()
        followed[:-1] &= covered[1:]
        followed[-1:] = False
        left_out = np.zeros(length, np.bool_)
        left_out[:-1] = has_step[1:] & has_step[:-1] & (np.diff(steps) > 1)
        for name in self._defined.keys() | declared.fields.keys():
            defined = _mask(self._defined.get(name, ()), length)
            required = name in declared.fields and not isinstance(declared.fields[name], _MAY_LACK)
            lacking = covered & ~defined & _may_not_lack(name, excused, length) & required
            if name in ACTED_FIELDS:
                yield from _where(lacking & followed & ~left_out, "undefined", f"{name} is undefined")
                yield from _where(defined & left_out, "gap", f"{name} is defined although the next step was left out")
                yield from _where(defined & _last(length), "last-step", f"{name} is defined in the last step")
            elif name == OBSERVATION:
                # Data may lack the final observation; then everything in that row is undefined.
                yield from _where(lacking & ~_last(length), "undefined", f"{name} is undefined")

    def _step_index(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        steps, has = np.zeros(length, np.int64), np.zeros(length, np.bool_)
        for rows, values in self._steps:
            within = rows < length
            steps[rows[within]], has[rows[within]] = values[within], True
        return steps, has

    def _step_order(self, steps: np.ndarray, has_step: np.ndarray) -> Iterator[RowFinding]:
        rows = np.flatnonzero(has_step)
        wrong = rows[1:][np.diff(steps[rows]) <= 0].tolist()
        yield from (("step-index", row, f"{STEP_INDEX} does not increase") for row in wrong[:1])


def _is_integer(column: Column) -> bool:
    return column.key.kind in _INTEGERS and column.values.ndim == 1 and column.values.dtype.kind in "iu"


def _mask(parts: Iterable[np.ndarray], length: int) -> np.ndarray:
    mask = np.zeros(length, np.bool_)
    for rows in parts:
        mask[rows[rows < length]] = True
    return mask


def _last(length: int) -> np.ndarray:
    mask = np.zeros(length, np.bool_)
    mask[-1:] = True
    return mask


def _may_not_lack(name: str, excused: Sequence[Span], length: int) -> np.ndarray:
    mask = np.ones(length, np.bool_)
    for span in excused:
        if span.covers(name, span.begin):
            mask[span.begin : span.end] = False
    return mask


def _where(wrong: np.ndarray, rule: str, message: str) -> Iterator[RowFinding]:
    """One finding for each run of steps."""
    edges = np.diff(wrong.astype(np.int8), prepend=0, append=0)
    for begin, end in zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True):
        steps = f"step {begin}" if end == begin + 1 else f"steps {begin} to {end - 1}"
        yield rule, begin, f"{message} in {steps}"
