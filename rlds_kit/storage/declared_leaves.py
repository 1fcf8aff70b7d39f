"""The columns of the declared fields of a shard, and the rows in which a declared item is missing."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec.fit import fits_shape
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import elements, escape
from rlds_kit.storage.restore import NUMERIC, survives

_TEXTS: Final = frozenset((pb.TEXT, pb.NUMPY_TEXT))
_BYTES: Final = frozenset((pb.BYTES, pb.NUMPY_BYTES))


class DeclaredLeaves:
    """The leaves of declared fields, by path.

    Args:
      declared: the spec.
    """

    def __init__(self, declared: specs.Dict) -> None:
        self._names = frozenset(map(escape, declared.fields))
        self._leaves: dict[str, specs.Spec] = {}
        self._open: set[str] = set()
        self._required: dict[str, list[str]] = {}
        for name, spec in declared.fields.items():
            path = escape(name)
            required = list(self._walk(path, spec))
            if required and required != [path]:
                self._required[path] = required

    def _walk(self, path: str, spec: specs.Spec) -> Iterator[str]:
        """Records the leaves of a spec; yields the paths of those that every value has."""
        match spec:
            case specs.Array() | specs.Text() | specs.Bytes():
                self._leaves[path] = spec
                yield path
            case specs.Dict(fields) if fields:
                for key, item in fields.items():
                    yield from self._walk(f"{path}/{escape(key)}", item)
            case specs.Tuple(items) if items:
                for index, item in enumerate(items):
                    yield from self._walk(f"{path}/({index})", item)
            case specs.List(items) if items:
                for index, item in enumerate(items):
                    yield from self._walk(f"{path}/[{index}]", item)
            case specs.Optional(inner):
                for _ in self._walk(path, inner):
                    pass
                self._leaves[path] = spec
            case _:  # a value that is one leaf in some rows and has several leaves in others
                self._open.add(path)

    @property
    def has_items(self) -> bool:
        """Whether items of fields may be missing."""
        return bool(self._required)

    def covers(self, column: Column) -> bool:
        """Whether a column belongs to a declared field, and its kind, dtype and shape match the declaration."""
        path = column.key.path
        if path.partition("/")[0] not in self._names:
            return False
        spec = self._leaves.get(path)
        if spec is not None:
            return _matches(spec, column) or path in self._open
        return bool(self._open) and not self._open.isdisjoint(_beginnings(path))

    def covers_form(self, column: Column) -> bool:
        """Whether it covers all columns of the same key and shape as one that it covers, whatever their values."""
        spec = self._leaves.get(column.key.path)
        return isinstance(spec, specs.Array) and column.shapes is None and column.values.dtype == spec.dtype

    def missing(self, block: Sequence[Column]) -> list[str]:
        """The leaves that are missing in some row of a block in which the field has a value."""
        if not self._required:
            return []
        rows: dict[str, list[np.ndarray]] = {}
        counts: dict[str, int] = {}
        for column in block:
            path = column.key.path
            name = path.partition("/")[0]
            if name in self._required:
                rows.setdefault(name, []).append(column.rows)
                counts[path] = counts.get(path, 0) + len(column.rows)
        found = []
        for name, parts in rows.items():
            every = len(parts[0])
            if any(len(part) != every or not np.array_equal(part, parts[0]) for part in parts):
                every = len(np.unique(np.concatenate(parts)))
            found += [path for path in self._required[name] if counts.get(path, 0) < every]
        return found


def _beginnings(path: str) -> Iterator[str]:
    parts = elements(path)
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])


def _matches(spec: specs.Spec, column: Column) -> bool:
    kind = column.key.kind
    match spec:
        case specs.Array(shape, dtype):
            if kind not in NUMERIC or len(shape) != column.key.rank:
                return False
            if column.values.dtype != dtype and (shape or not survives(column.values, dtype)):
                return False  # a scalar may have any type whose value the dtype can represent
            shapes = [column.values.shape[1:]] if column.shapes is None else map(tuple, column.shapes.tolist())
            return all(fits_shape(each, shape) for each in shapes)
        case specs.Text():
            return kind in _TEXTS
        case specs.Bytes():
            return kind in _BYTES
        case specs.Optional(inner):
            return kind == pb.NONE or _matches(inner, column)
    return False
