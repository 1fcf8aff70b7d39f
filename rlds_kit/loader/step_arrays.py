"""Steps of whole episodes as arrays of numbers and bytes, the types that most frameworks support."""

import copy
from typing import Any, Final, Self

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTION, FLAGS, OBSERVATION, STEP_INDEX
from rlds_kit.loader.columns import column, plain, without_lists
from rlds_kit.loader.episodes import Stretch, WholeEpisodes
from rlds_kit.loader.last_step import LastStep
from rlds_kit.loader.layout import Leaf, nested
from rlds_kit.loader.nests import map_arrays

OBSERVATION_VALID: Final = "observation_valid"
"""Name of the field for whether a step has an observation, for data that may lack final ones."""


class StepArrays:
    """Stretches of episodes, with known dtypes and shapes. Cheap to pickle.

    Args:
      table: the episodes.
      observation_valid: whether steps have that field.
      last_step: "repeat" gives the last step of each episode the previous action. To drop the last step, use a table of
        a source without it.

    Raises:
      SpecError: a field cannot become an array of numbers or bytes.

    Attributes:
      table: the episodes.
      columns: dtype and shape of the values, by leaf.
      nests: the nest of columns of each field.
      own: names of the flags, which come after the columns.
    """

    def __init__(self, table: WholeEpisodes, *, observation_valid: bool, last_step: LastStep = "zeros") -> None:
        self.table = table
        source, layouts = table.source, table.layouts
        self.columns = {leaf: column(source.name, source.spec, leaf) for found in layouts.values() for leaf in found}
        self.nests = {name: without_lists(nested(each, self.columns.__getitem__)) for name, each in layouts.items()}
        has_flag = observation_valid and OBSERVATION in layouts
        self.own: tuple[str, ...] = (*FLAGS, OBSERVATION_VALID) if has_flag else FLAGS
        self._may_lack = observation_valid
        self._repeats = last_step == "repeat"
        if taken := sorted(layouts.keys() & {*self.own}):
            raise SpecError(f"{source.name} has a field {taken[0]!r} of its own; leave it out with `select`")

    def regrouped(self, nests: dict[str, Any], own: tuple[str, ...]) -> Self:
        """Returns a copy with these columns in other nests, and with only some of the flags."""
        other = copy.copy(self)
        other.nests, other.own = nests, own
        return other

    @property
    def ragged(self) -> list[str]:
        """The paths of arrays whose shapes change from step to step."""
        return [each.path for each in self.columns.values() if each.is_ragged]

    def facts(self, number: int) -> list[np.ndarray]:
        """The facts of an episode, in their order."""
        facts, columns = self.table.facts(number), self.table.fact_columns
        return [plain(np.array(fact, columns[name].dtype), name) for name, fact in facts.items()]

    def flat(self, number: int, rows: range) -> list[np.ndarray]:
        """Consecutive steps: the results of `Column.arrays` for each column, one after the other, and the flags.

        Raises:
          DamagedError: one of them is damaged.
          SpecError: a value has another dtype or shape than its field, or a step lacks its observation.
        """
        stretch = self.table.stretch(number, rows)
        index = self.table.layouts.get(STEP_INDEX, ())
        stretch |= {leaf: self._numbered(number, rows, leaf, stretch) for leaf in index}
        if self._repeats and rows.stop == self.table.source.lengths[number]:
            self._repeat_action(number, rows, stretch)
        own = self.table.flags(number, rows) | {OBSERVATION_VALID: self._observed(number, stretch, rows)}
        arrays = [array for leaf, each in self.columns.items() for array in each.arrays(*stretch[leaf])]
        return arrays + [own[name] for name in self.own]

    def steps(self, number: int, rows: range) -> dict[str, Any]:
        """Reads steps as nests of arrays `[rows, ...]` by field; a ragged column is an object array `[rows]` of arrays.

        Raises:
          DamagedError: one of them is damaged.
          SpecError: a value has another dtype or shape than its field, or a step lacks its observation.
        """
        outputs = iter(self.flat(number, rows))
        arrays = {
            each.path: _apart(next(outputs), next(outputs)) if each.is_ragged else next(outputs)
            for each in self.columns.values()
        }
        fields = {name: map_arrays(lambda each: arrays[each.path], nest) for name, nest in self.nests.items()}
        return fields | {name: next(outputs) for name in self.own}

    def _repeat_action(self, number: int, rows: range, stretch: Stretch) -> None:
        """Copies the previous action to the last step, if that has none."""
        at = rows.stop - 1
        before = stretch if len(rows) > 1 else self.table.stretch(number, range(at - 1, at))
        for leaf in self.table.layouts.get(ACTION, ()):
            values, defined = stretch[leaf]
            if not defined[-1]:
                values[-1] = before[leaf][0][-2 if len(rows) > 1 else -1]
                stretch[leaf] = values, defined | (np.arange(len(rows)) == len(rows) - 1)  # else text would be empty

    def _numbered(self, number: int, rows: range, leaf: Leaf, stretch: Stretch) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of steps; a missing number is that of the previous step plus one: no gap is before it."""
        indices, defined = stretch[leaf]
        before = rows.start - 1
        if rows.start and not defined[0]:
            (index,), (is_there,) = self.table.stretch(number, range(before, rows.start))[leaf]
            before = int(index) if is_there else before
        for at in np.flatnonzero(~defined).tolist():
            indices[at] = (indices[at - 1] if at else before) + 1
        return indices, np.ones(len(rows), np.bool_)

    def _observed(self, number: int, stretch: Stretch, rows: range) -> np.ndarray:
        """`[rows]` bool, which steps have an observation."""
        masks = [stretch[leaf][1] for leaf in self.table.layouts.get(OBSERVATION, ())]
        if len(masks) == 1:
            (observed,) = masks
        else:
            observed = np.any(masks, axis=0) if masks else np.ones(len(rows), np.bool_)
        if not self._may_lack and not observed.all():
            raise SpecError(
                f"{self.table.source.name}: episode {number} has no observation at step "
                f"{rows[int(np.argmin(observed))]}, as data may lack the last one; with `observation_valid=True` steps "
                "have a field of that name for it"
            )
        return observed


def _apart(elements: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Splits concatenated elements into arrays, `[rows]` of objects."""
    made = np.empty(len(shapes), object)
    ends = np.cumsum(np.prod(shapes, axis=1))
    for row, (end, shape) in enumerate(zip(ends.tolist(), shapes.tolist(), strict=True)):
        made[row] = elements[end - int(np.prod(shape)) : end].reshape(shape)
    return made
