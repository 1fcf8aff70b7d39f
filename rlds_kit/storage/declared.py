"""Checks that a row's declared fields fit the spec, and takes the whole row apart into leaves."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.errors import SpecError
from rlds_kit.spec.validate import require
from rlds_kit.step import ACTION, FLAGS
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.branch import Branch
from rlds_kit.storage.leaf import ColumnKey, Leaves, escape

MAX_LEAVES: Final = 1024
"""A dynamic field with more leaves than this is stored as one, so that columns stay few."""


class DeclaredFields:
    """The fields of an episode's rows: those of its spec, and those that come as well.

    A field belongs either to what is observed or to what is done: both would stand in the same column.
    """

    def __init__(self, declared: specs.Dict) -> None:
        self._fields: dict[str, _Declared | _Dynamic] = {
            name: _Declared(name, spec) for name, spec in declared.fields.items()
        }
        self._observed: _Side = {}
        self._acted: _Side = {}
        self._met: list[tuple[_Side, str]] = []

    def leaves(self, observed: Mapping[str, Any], acted: Mapping[str, Any]) -> tuple[Leaves, Leaves]:
        """All leaves of a row: of what was observed, and of what was done. A row that is refused leaves no trace.

        Raises:
          SpecError: a declared field does not fit, every problem is listed with its place; or one is on both sides.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._met = []
        try:
            return self._leaves(observed, self._observed), self._leaves(acted, self._acted)
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Gives back the names that the last row was the first to have: it is not recorded."""
        for side, name in self._met:
            side.pop(name, None)

    def _leaves(self, fields: Mapping[str, Any], known: "_Side") -> Leaves:
        found = Leaves()
        for name, item in fields.items():
            field = known.get(name)
            if field is None:
                self._met.append((known, name))
                field = known[name] = self._meet(name)
            field.collect(item, found)
        return found

    def _meet(self, name: str) -> "_Declared | _Dynamic":
        """A field that comes on a side for the first time."""
        if name in self._observed or name in self._acted:
            raise SpecError(
                f"{name}: expected a name of its own for what belongs to the action, but an observation of this "
                "episode has a field of the same name; rename one of them"
            )
        return self._fields.get(name) or _Dynamic(name)


class _Declared:
    """A field that the spec names.

    An action is recorded as it was given, whether it fits or not: what the agent did is data, not an error.
    """

    def __init__(self, name: str, spec: specs.Spec) -> None:
        self._name, self._spec, self._branch = name, spec, Branch(escape(name), spec)
        self._takes_any = name == ACTION
        self._takes_floats = _is_float(spec)
        self._known: tuple[object, ...] | None = None
        self._array: ColumnKey | None = None
        self._shape: tuple[int, ...] = ()

    def collect(self, item: Any, found: Leaves) -> None:  # any recordable value
        """Adds the leaves of a value that fits."""
        kind = type(item)
        array = self._array if kind is np.ndarray else None
        if array is not None and item.shape == self._shape and (item.dtype is array.dtype or item.dtype == array.dtype):
            found.keys.append(array)
            found.items.append(item)
            return
        if kind is float and self._takes_floats:
            self._branch.collect(item, found)
            return
        begin = len(found.keys)
        try:
            self._branch.collect(item, found)
        except ValueError as error:  # a tuple of another length than declared
            if not self._takes_any:
                require(self._spec, item, self._name)
            raise SpecError(f"{self._name}: {error}") from error
        if not self._takes_any:
            self._check(item, list(found)[begin:])

    def _check(self, item: object, leaves: list[tuple[ColumnKey, Any]]) -> None:
        # Arrays of a shape and dtype that fitted before fit again: nothing else about an array is checked.
        signature = tuple((key, value.shape) for key, value in leaves if key.kind == pb.ARRAY)
        if len(signature) != len(leaves) or self._known != signature:
            require(self._spec, item, self._name)
            self._known = signature
        if type(item) is np.ndarray and len(leaves) == 1:
            self._array, self._shape = leaves[0][0], item.shape


class _Dynamic:
    """Any other field."""

    def __init__(self, name: str) -> None:
        if name in FLAGS:
            raise SpecError(f"{name}: expected another name for this field: the flag is derived from the episode")
        self._branch = Branch(escape(name))

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


_Side: TypeAlias = dict[str, _Declared | _Dynamic]
"""The fields that rows have had, of what was observed or of what was done."""


def _is_float(spec: specs.Spec) -> bool:
    """Whether every Python float fits: so it is with most rewards and discounts."""
    return isinstance(spec, specs.Array) and spec.shape == () and spec.dtype == np.float64
