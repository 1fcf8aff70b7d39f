"""Specs of undeclared fields, and of values that do not match the declaration, collected during recording."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

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
_MOST_FORMS: Final = 1 << 12
"""A shard remembers so many keys and shapes of columns that need no amendment."""
_MOST_SETTLED: Final = 1 << 8
"""It remembers so many sets of them. Then it forgets all, and the next block of each is compared in full again."""
_NO_ITEMS: Final = specs.Dict({})


class SeenFields:
    """The fields that a shard has described so far; detects blocks with new ones.

    For a declared field an amendment only contains deviations: values of another kind, dtype or shape at their path,
    items that were not declared, and `specs.NONE` where a declared item is missing.
    """

    def __init__(self, declared: pb.Spec) -> None:
        spec = from_message(declared)
        self._declared = DeclaredLeaves(spec if isinstance(spec, specs.Dict) else specs.Dict({}))
        self._missing: set[str] = set()
        self._covered: set[tuple[ColumnKey, tuple[int, ...] | None]] = set()
        self._seen: dict[ColumnKey, specs.Spec] = {}
        self._latest: dict[ColumnKey, tuple[int, ...] | None] = {}
        self._settled: set[frozenset[tuple[ColumnKey, tuple[int, ...] | None]]] = set()
        """Keys and shapes of blocks that, with empty dicts, need no amendment whatever their values are. In any order:
        that of the columns of a buffer depends on its first row."""

    def amendment(self, block: Sequence[Column]) -> pb.Spec | None:
        """The spec of the new fields and deviations in a block; None if there are none."""
        forms = [(key, None if shapes is not None else values.shape[1:]) for key, _, values, shapes in block]
        trees_are_empty = all(_is_empty(column) for column in block if column.key.kind == pb.TREE)
        if trees_are_empty and frozenset(forms) in self._settled:
            return None
        fresh: dict[str, specs.Spec] = {}
        is_settled = trees_are_empty and not self._declared.has_items
        for column, form in zip(block, forms, strict=True):
            path = column.key.path
            if form in self._covered:
                continue
            if self._declared.covers(column):
                if len(self._covered) < _MOST_FORMS and self._declared.covers_form(column):
                    self._covered.add(form)
                else:
                    is_settled = False
            elif self._is_new(column):
                spec = self._seen[column.key]
                fresh[path] = merge(fresh[path], spec) if path in fresh else spec
        for path in self._newly_missing(block):
            fresh[path] = merge(fresh[path], specs.NONE) if path in fresh else specs.NONE
        if is_settled:
            if len(self._settled) >= _MOST_SETTLED:
                self._settled.clear()
            self._settled.add(frozenset(forms))
        return to_message(_tree(fresh)) if fresh else None

    def needs_none(self, forms: Sequence[tuple[ColumnKey, tuple[int, ...]]]) -> bool:
        """Whether a block of these columns and shapes of values needs no amendment, if all of its dicts are empty."""
        return frozenset(forms) in self._settled

    def _newly_missing(self, block: Sequence[Column]) -> list[str]:
        """Declared items that are missing in some row, for the first time."""
        found = [path for path in self._declared.missing(block) if path not in self._missing]
        self._missing.update(found)
        return found

    def _is_new(self, column: Column) -> bool:
        """Records a column; True if the known spec does not cover its values."""
        shape = None if column.shapes is not None else column.values.shape[1:]
        if column.key in self._seen and self._latest[column.key] == shape and column.key.kind != pb.TREE:
            return False
        self._latest[column.key] = shape
        known, found = self._seen.get(column.key), leaf_spec(column)
        if found is known:  # every value is the empty dictionary, as those before
            return False
        self._seen[column.key] = found if known is None else merge(known, found)
        return self._seen[column.key] != known


def union(parts: Iterable[specs.Spec]) -> specs.Dict:
    """The union of the specs of all shards of a dataset; a field that only some of them have stays required."""
    fields: dict[str, specs.Spec] = {}
    for part in parts:
        for name, spec in part.fields.items() if isinstance(part, specs.Dict) else ():
            fields[name] = merge(fields[name], spec) if name in fields else spec
    return specs.Dict(fields)


def leaf_spec(column: Column) -> specs.Spec:
    """The spec of the values of a column."""
    kind = column.key.kind
    if kind in _TEXTS:
        return specs.Text()
    if kind in _BYTES:
        return specs.Bytes()
    if kind == pb.NONE:
        return specs.NONE
    if _is_empty(column):
        return _NO_ITEMS
    if kind in (pb.TREE, pb.BIG_INT):
        return specs.Any()
    shape = (None,) * column.key.rank if column.shapes is not None else column.values.shape[1:]
    return specs.Array(shape, columns.storage_dtype(column.key))


def _tree(leaves: Mapping[str, specs.Spec], depth: int = 0) -> specs.Spec:
    """The spec of a dict with leaves at these paths; in one pass, because there may be thousands."""
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
    if column.key.kind != pb.TREE or column.shapes is not None or column.values.shape[1] != len(EMPTY_DICT):
        return False
    return column.values.tobytes() == EMPTY_DICT * len(column.values)
