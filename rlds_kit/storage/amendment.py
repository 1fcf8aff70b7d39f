"""The spec of what was not declared, as it turns up: fields, and what else came in those that were declared."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.spec.message import from_message, to_message
from rlds_kit.spec.union import merge
from rlds_kit.storage import column as columns
from rlds_kit.storage.column import Column
from rlds_kit.storage.declared_leaves import DeclaredLeaves
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey, unescape

_TEXTS: Final = frozenset((pb.TEXT, pb.NUMPY_TEXT))
_BYTES: Final = frozenset((pb.BYTES, pb.NUMPY_BYTES))
_EMPTY_DICT: Final = np.frombuffer(EMPTY_DICT, np.uint8)


class SeenFields:
    """What a shard says of its fields so far; says which blocks bring something new.

    Of a declared field an amendment has only what does not fit: values of another kind, dtype or shape at their path,
    items that were not declared, and `specs.NONE` where an item that was declared is missing.
    """

    def __init__(self, declared: pb.Spec) -> None:
        spec = from_message(declared)
        self._declared = DeclaredLeaves(spec if isinstance(spec, specs.Dict) else specs.Dict({}))
        self._missing: set[str] = set()
        self._seen: dict[ColumnKey, specs.Spec] = {}
        self._latest: dict[ColumnKey, tuple[int, ...] | None] = {}

    def amendment(self, block: Sequence[Column]) -> pb.Spec | None:
        """The spec of what is new in a block; None when nothing is."""
        fresh: dict[str, specs.Spec] = {}
        for column in block:
            path = column.key.path
            if not self._declared.hold(column) and self._is_new(column):
                spec = self._seen[column.key]
                fresh[path] = merge(fresh[path], spec) if path in fresh else spec
        for path in self._newly_missing(block):
            fresh[path] = merge(fresh[path], specs.NONE) if path in fresh else specs.NONE
        return to_message(_tree(fresh)) if fresh else None

    def _newly_missing(self, block: Sequence[Column]) -> list[str]:
        """The items that some row of a field lacks although they were declared, which was not known."""
        found = [path for path in self._declared.missing(block) if path not in self._missing]
        self._missing.update(found)
        return found

    def _is_new(self, column: Column) -> bool:
        """Takes note of a column; True if its values do not fit what was known."""
        shape = None if column.shapes is not None else column.values.shape[1:]
        if column.key in self._seen and self._latest[column.key] == shape and column.key.kind != pb.TREE:
            return False
        self._latest[column.key] = shape
        known, found = self._seen.get(column.key), leaf_spec(column)
        self._seen[column.key] = found if known is None else merge(known, found)
        return self._seen[column.key] != known


def union(parts: Iterable[specs.Spec]) -> specs.Dict:
    """The spec of a dataset from what its shards say: a field that only some of them name is no less required."""
    fields: dict[str, specs.Spec] = {}
    for part in parts:
        for name, spec in part.fields.items() if isinstance(part, specs.Dict) else ():
            fields[name] = merge(fields[name], spec) if name in fields else spec
    return specs.Dict(fields)


def leaf_spec(column: Column) -> specs.Spec:
    """What the values of a column have in common."""
    kind = column.key.kind
    if kind in _TEXTS:
        return specs.Text()
    if kind in _BYTES:
        return specs.Bytes()
    if kind == pb.NONE:
        return specs.NONE
    if _is_empty(column):
        return specs.Dict({})
    if kind in (pb.TREE, pb.BIG_INT):
        return specs.Any()
    shape = (None,) * column.key.rank if column.shapes is not None else column.values.shape[1:]
    return specs.Array(shape, columns.storage_dtype(column.key))


def _tree(leaves: Mapping[str, specs.Spec], depth: int = 0) -> specs.Spec:
    """The spec of a dict whose leaves lie at these paths; in one pass, for there may be thousands."""
    groups: dict[str, dict[str, specs.Spec]] = {}
    for path, spec in leaves.items():
        head, _, rest = path.partition("/")
        groups.setdefault(unescape(head), {})[rest] = spec
    fields = {name: _branch(group, depth + 1) for name, group in groups.items()}
    return specs.Dict(fields) if depth < value.MAX_NESTING else specs.Any()


def _branch(group: Mapping[str, specs.Spec], depth: int) -> specs.Spec:
    below = {path: spec for path, spec in group.items() if path}
    if not below:
        return group[""]
    branch = _tree(below, depth)
    return merge(group[""], branch) if "" in group else branch


def _is_empty(column: Column) -> bool:
    """Whether every value is the empty dictionary, which has no leaves and is stored as a tree."""
    if column.key.kind != pb.TREE or column.shapes is not None or column.values.shape[1] != len(_EMPTY_DICT):
        return False
    return bool((column.values == _EMPTY_DICT).all())
