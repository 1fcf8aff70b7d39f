"""Validates the declared fields of a row against the spec, and flattens the row into leaves."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTION, FLAGS
from rlds_kit.spec.by_form import fits_by_form, fitting_types
from rlds_kit.storage.array_form import example_of, is_alike
from rlds_kit.storage.branch import Branch
from rlds_kit.storage.deviations import Deviations
from rlds_kit.storage.leaf import ColumnKey, Leaves, escape
from rlds_kit.storage.row_form import RowForm, form_of

MAX_LEAVES: Final = 1024
"""A dynamic field with more leaves than this is stored as one value, to limit the number of columns."""
MANY: Final = 16
"""Number of equal consecutive rows before their form is computed, which is expensive."""
AGAIN: Final = 256
"""The same number after a failed attempt, or after rows of another form."""


class DeclaredFields:
    """The fields of an episode's rows: the declared ones, and all others.

    A field belongs either to the observation side or to the action side of rows: both would use the same column.

    Args:
      declared: the spec.
      deviations: records values that do not match; None: these are an error.

    Attributes:
      declared: the spec.
      met: the fields that were new in the last row.
    """

    def __init__(self, declared: specs.Dict, deviations: Deviations | None = None) -> None:
        self.declared = declared
        self.deviations = Deviations(strict=True) if deviations is None else deviations
        self._fields: dict[str, _Declared | _Dynamic] = {
            name: _Declared(name, spec, self.deviations) for name, spec in declared.fields.items()
        }
        self._observed, self._acted = _Side(), _Side()
        self.met: list[tuple[_Side, str]] = []

    def leaves(self, observed: Mapping[str, Any], acted: Mapping[str, Any]) -> tuple[Leaves, Leaves]:
        """All leaves of a row: of the observation side, and of the action side. A rejected row changes nothing.

        Raises:
          SpecError: a declared field does not match, with a list of all problems; or a field is on both sides.
          UnsupportedTypeError: a value cannot be recorded.
        """
        if self.met:
            self.met = []
        try:
            return self._leaves(observed, self._observed), self._leaves(acted, self._acted)
        except BaseException:
            self.forget()
            raise

    def takes_any(self, name: str) -> bool:
        """Whether values of a field are recorded whether they match the declaration or not."""
        field = self._fields.get(name)
        return not isinstance(field, _Declared) or field.takes_any

    def forget(self, met: "Sequence[tuple[_Side, str]] | None" = None) -> None:
        """Removes the names that were new in a row, the last one if None, because that row is not recorded."""
        for side, name in self.met if met is None else met:
            side.fields.pop(name, None)

    def _leaves(self, row: Mapping[str, Any], side: "_Side") -> Leaves:
        known = None if side.form is None else side.form.leaves(row)
        return self._collect(row, side) if known is None else known

    def _collect(self, row: Mapping[str, Any], side: "_Side") -> Leaves:
        """Flattens a row value by value."""
        found, met = Leaves([], []), len(self.met)
        for name, item in row.items():
            field = side.fields.get(name)
            if field is None:
                self.met.append((side, name))
                field = side.fields[name] = self._meet(name)
            field.collect(item, found)
        if met == len(self.met):  # new names may be removed again by `forget`
            side.learn(row, found)
        return found

    def _meet(self, name: str) -> "_Declared | _Dynamic":
        """Handles a field that is new on one side."""
        if name in self._observed.fields or name in self._acted.fields:
            raise SpecError(
                f"{name}: expected a name of its own for what belongs to the action, but an observation of this "
                "episode has a field of the same name; rename one of them"
            )
        return self._fields.get(name) or _Dynamic(name)


class _Declared:
    """A declared field.

    An action is recorded unchanged, whether it matches or not: what the agent did is data, not an error. The same holds
    for values of a field that is already known to deviate.
    """

    def __init__(self, name: str, spec: specs.Spec, deviations: Deviations) -> None:
        self._name, self._spec, self._branch = name, spec, Branch(escape(name), spec)
        self._deviations = deviations
        self._fitting = fitting_types(spec) - {int}  # of which some take more than 64 bits
        self._known: tuple[object, ...] | None = None
        self._array: ColumnKey | None = None
        self._example = np.empty(0)

    def collect(self, item: Any, found: Leaves) -> None:  # any recordable value
        """Adds the leaves of a value that matches."""
        kind = type(item)
        if kind is np.ndarray and self._array is not None and is_alike(item, self._example):
            found.keys.append(self._array)
            found.items.append(item)
            return
        if kind in self._fitting:
            self._branch.collect(item, found)
            return
        begin = len(found.keys)
        self._branch.collect(item, found)
        if not self.takes_any:
            self._check(item, list(found)[begin:])

    @property
    def takes_any(self) -> bool:
        """Whether values are recorded whether they match or not."""
        return self._name == ACTION or self._name in self._deviations.fields

    def _check(self, item: object, leaves: list[tuple[ColumnKey, Any]]) -> None:
        # Arrays of a shape and dtype that matched before match again, in dicts of the same keys, except for the shape
        # ().
        signature = tuple((key, value.shape) for key, value in leaves if _is_known_by_form(key))
        is_whole = len(signature) == len(leaves)
        if not is_whole or self._known != signature:
            self._deviations.check(self._name, self._spec, item)
            if self.takes_any:
                return
            self._known = signature if is_whole else None
        if type(item) is np.ndarray and is_whole and len(leaves) == 1:
            self._array, self._example = leaves[0][0], example_of(item)

    def fits_by_form(self, item: Any) -> bool:
        """Whether values of the form of one that fits do fit."""
        return self.takes_any or fits_by_form(self._spec, item)


class _Dynamic:
    """Any other field."""

    def __init__(self, name: str) -> None:
        if name in FLAGS:
            raise SpecError(f"{name}: expected another name for this field: the flag is derived from the episode")
        self._branch = Branch(escape(name))

    def fits_by_form(self, item: object) -> bool:
        """Whether values of the form of one that fits do fit: any does."""
        del item
        return True

    def collect(self, item: object, found: Leaves) -> None:
        """Adds the leaves of a value."""
        begin = len(found.keys)
        if type(item) is dict and len(item) > MAX_LEAVES:  # each has one leaf or more
            self._branch.add_tree(item, found)
            return
        self._branch.collect(item, found)
        if len(found.keys) - begin > MAX_LEAVES:
            found.cut(begin)
            self._branch.add_tree(item, found)


def _is_known_by_form(key: ColumnKey) -> bool:
    """Whether a leaf is an array, and not in a tuple or list, which may be given in place of each other."""
    return key.kind == pb.ARRAY and key.rank > 0 and "/(" not in key.path and "/[" not in key.path


class _Side:
    """The fields of one side of rows so far: the observation side or the action side.

    Attributes:
      fields: by name.
      form: of rows whose values are not checked one by one.
    """

    def __init__(self) -> None:
        self.fields: dict[str, _Declared | _Dynamic] = {}
        self.form: RowForm | None = None
        self._keys: list[ColumnKey] = []
        self._alike = 0

    def learn(self, row: Mapping[str, Any], found: Leaves) -> None:
        """Computes and caches the form of a row that was checked value by value, after many equal ones."""
        if found.keys != self._keys:
            self._keys = found.keys
            return
        self._alike += 1
        if self._alike < MANY:
            return
        self._alike = MANY - AGAIN
        if all(self.fields[name].fits_by_form(item) for name, item in row.items()):
            self.form = form_of(row, found) or self.form
