"""Flattens nested values into leaves.

The steps of an episode nearly all have the same structure. So the results for each place in the structure, above all
the columns of its values, are cached there, and looked up by the type of the value alone.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError
from rlds_kit.spec import value as values
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey, Kind, Leaves, escape

_PYTHON_KINDS: Final[dict[type, Kind]] = {
    dict: pb.TREE,  # an empty dict: others have values below them
    bool: pb.BOOL,
    int: pb.INT,
    float: pb.FLOAT,
    complex: pb.COMPLEX,
    str: pb.TEXT,
    bytes: pb.BYTES,
    type(None): pb.NONE,
    np.str_: pb.NUMPY_TEXT,
    np.bytes_: pb.NUMPY_BYTES,
}
_RANKS: Final[dict[Kind, int]] = {
    pb.TEXT: 1,
    pb.BYTES: 1,
    pb.BIG_INT: 1,
    pb.TREE: 1,
    pb.NUMPY_TEXT: 1,
    pb.NUMPY_BYTES: 1,
    pb.NONE: 1,
}
_ARRAY_TYPES: Final = (np.ndarray, np.memmap)
_INT64_MIN: Final = values.INT64_MIN
_INT64_MAX: Final = values.INT64_MAX
_MOST: Final = 4096
"""Limit on cached items and columns of a place: the keys of infos may differ at every step."""
_DEEPEST: Final = 100
"""Maximum nesting depth: the functions are recursive, and Python limits recursion."""


class Branch:
    """A place in the nested structure of a step: a value, or a container with values below it.

    Args:
      path: of the place.
      spec: declared for this place; None: nothing is declared.
      depth: number of containers around it.

    Attributes:
      plain: the known columns of values that are stored without conversion, by type.

    >>> branch = Branch("info")
    >>> [key.path for key, _ in branch.leaves({"lives": 3, "a/b": {"t": 0.5}})]
    ['info/lives', 'info/a~1b/t']
    """

    __slots__ = ("_below", "_columns", "_depth", "_numpy", "_path", "_spec", "plain")

    def __init__(self, path: str, spec: specs.Spec | None = None, depth: int = 0) -> None:
        self._path, self._spec, self._depth = path, spec, depth
        self.plain: dict[type, ColumnKey] = {}
        self._numpy: dict[type, ColumnKey] = {}
        self._columns: dict[ColumnKey, ColumnKey] = {}
        self._below: dict[str | int, Branch] = {}

    def leaves(self, value: object) -> Leaves:
        """The leaves of a value.

        Raises:
          UnsupportedTypeError: something inside cannot be recorded.
          SpecError: containers are nested too deeply.
        """
        found = Leaves([], [])
        self.collect(value, found)
        return found

    def collect(self, value: Any, found: Leaves) -> None:  # any recordable value
        """Adds the leaves of a value to a list.

        Raises:
          As `leaves`; some leaves may have been added then.
        """
        # Called for every value of every step: the frequent cases come first, and there is no generator.
        kind = type(value)
        key = self.plain.get(kind)
        if kind is dict and value:
            self._collect_mapping(value, found)
        elif key is None:
            self._collect_other(kind, value, found)
        elif kind is int and not _INT64_MIN <= value <= _INT64_MAX:
            found.add(self._column(pb.BIG_INT), value)
        else:
            found.keys.append(key)
            found.items.append(EMPTY_DICT if kind is dict else value)

    def add_tree(self, value: object, found: Leaves) -> None:
        """Adds a value as one leaf, however it is nested.

        Raises:
          As `leaves`; nothing was added then.
        """
        found.add(self._column(pb.TREE), values.encode(value, self._path).SerializeToString())

    def _collect_other(self, kind: type, value: Any, found: Leaves) -> None:
        """Handles values that are not plain numbers or text, and the first value of each type."""
        if kind in _ARRAY_TYPES:
            self._collect_numpy(pb.ARRAY, value, found)
        elif kind in _PYTHON_KINDS:
            self.plain[kind] = self._column(_PYTHON_KINDS[kind])
            self.collect(value, found)
        elif isinstance(value, np.generic):
            self._collect_numpy(pb.SCALAR, value, found)
        elif isinstance(value, Mapping) and value:
            self._collect_mapping(value, found)
        elif isinstance(value, tuple) and isinstance(self._spec, specs.Tuple) and self._has_all(value, self._spec):  # noqa: SIM114  for mypy
            self._collect_items(value, self._spec, found)
        elif isinstance(value, list) and isinstance(self._spec, specs.List) and self._has_all(value, self._spec):
            self._collect_items(value, self._spec, found)
        elif isinstance(value, int):
            self.collect(int(value), found)
        else:
            self.add_tree(value, found)

    def _collect_numpy(self, kind: Kind, value: np.ndarray | np.generic, found: Leaves) -> None:
        key = self._numpy.get(type(value))
        if key is None or key.dtype != value.dtype or key.rank != value.ndim:
            key = self._numpy[type(value)] = self._known(ColumnKey(self._path, kind, value.dtype, value.ndim))
        found.add(key, value)

    def _collect_mapping(self, value: Mapping[Any, Any], found: Leaves) -> None:
        begin, keys, items = len(found.keys), found.keys, found.items
        for name, item in value.items():
            branch = self._below.get(name) if type(name) is str else None
            if branch is None:
                branch = self._item(name)
            if branch is None:  # a path cannot represent such a key; a tree can
                found.cut(begin)
                self.add_tree(value, found)
                return
            kind = type(item)
            key = branch.plain.get(kind)
            if key is None or kind is dict or kind is int:
                branch.collect(item, found)
            else:  # as `collect` does, without the call
                keys.append(key)
                items.append(item)

    def _item(self, key: object) -> "Branch | None":
        """Creates the place of an item of a mapping; None if its key has no path."""
        if type(key) is not str:
            return None
        try:
            name = escape(key)
        except SpecError:
            return None
        fields = self._spec.fields if isinstance(self._spec, specs.Dict) else {}
        return self._grow(key, name, fields.get(key))

    @staticmethod
    def _has_all(value: tuple[Any, ...] | list[Any], spec: specs.Tuple | specs.List) -> bool:
        """Whether the mapping is not empty and has all declared items; else it is stored as a tree."""
        return 0 < len(value) == len(spec.items)

    def _collect_items(self, value: tuple[Any, ...] | list[Any], spec: specs.Tuple | specs.List, found: Leaves) -> None:
        opening, closing = "()" if isinstance(spec, specs.Tuple) else "[]"
        for index, (item, item_spec) in enumerate(zip(value, spec.items, strict=True)):
            branch = self._below.get(index) or self._grow(index, f"{opening}{index}{closing}", item_spec)
            branch.collect(item, found)

    def _grow(self, key: str | int, element: str, spec: specs.Spec | None) -> "Branch":
        if self._depth == _DEEPEST:
            field, _, rest = self._path.partition("/")
            raise SpecError(
                f"{field}: expected at most {_DEEPEST} containers in one another, there are more at {rest[:40]!r}...; "
                "flatten the value"
            )
        if len(self._below) >= _MOST:
            self._below.clear()
        branch = self._below[key] = Branch(f"{self._path}/{element}", spec, self._depth + 1)
        return branch

    def _column(self, kind: Kind) -> ColumnKey:
        return self._known(ColumnKey(self._path, kind, None, _RANKS.get(kind, 0)))

    def _known(self, key: ColumnKey) -> ColumnKey:
        """Returns the same object for equal columns, so that a buffer is found by identity."""
        if len(self._columns) >= _MOST:
            self._columns.clear()
        return self._columns.setdefault(key, key)
