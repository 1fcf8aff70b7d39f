"""The spec of the metadata of a shard's episodes, collected during recording: readers need not read each of them."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import dtypes
from rlds_kit.spec.union import NOTHING, merge

MOST_KEYS: Final = 1000
"""Metadata with more keys are not described: keys that are different in each episode would fill the memory."""
_SPECS: Final[dict[str | None, specs.Spec]] = {
    "boolean": specs.Array((), bool),
    "integer": specs.Array((), "int64"),
    "floating": specs.Array((), float),
    "text": specs.Text(),
    "raw": specs.Bytes(),
    "none": specs.NONE,
}


class MetadataSpec:
    """Collects the metadata of episodes. Values that are no numbers, arrays, text, bytes or None are `Any`."""

    def __init__(self) -> None:
        self._episodes = 0
        self._fields: dict[bytes, specs.Spec] = {}
        self._counts = Counter[bytes]()
        self._seen: set[tuple[object, ...]] = set()
        self._is_simple = True

    def add_without(self, count: int) -> None:
        """Adds episodes without metadata."""
        self._episodes += count

    def add(self, start: pb.Value, end: pb.Value) -> None:
        """Adds the metadata of an episode: those of its start, updated with those of its end."""
        self._episodes += 1
        if not (start.dict.key or end.dict.key):
            return  # most episodes have none
        items: dict[bytes, pb.Value] = {}
        for metadata in (start.dict, end.dict):
            for key, item in zip(metadata.key, metadata.value, strict=False):
                self._is_simple &= key.WhichOneof("kind") == "text" and len(self._fields) <= MOST_KEYS
                items[key.text] = item
        if self._is_simple:
            self._counts.update(items.keys())
            for name, item in items.items():
                self._add(name, item)

    def _add(self, name: bytes, item: pb.Value) -> None:
        kind = item.WhichOneof("kind")
        array = getattr(item, kind) if kind in ("array", "scalar") else None
        seen = (name, kind) if array is None else (name, kind, array.dtype, *array.shape)
        if seen in self._seen:
            return  # the usual case
        self._seen.add(seen)
        spec = _SPECS.get(kind, specs.Any()) if array is None else _array(array)
        self._fields[name] = merge(self._fields.get(name, spec), spec)

    def to_spec(self) -> specs.Spec:
        """The spec that the metadata of every episode fit; items that some episodes lack are optional."""
        try:
            fields = {name.decode(): (spec, self._counts[name]) for name, spec in self._fields.items()}
        except UnicodeDecodeError:  # a key with a lone surrogate
            return specs.Any()
        if not self._is_simple:
            return specs.Any()
        return specs.Dict(
            {key: spec if count == self._episodes else merge(spec, specs.NONE) for key, (spec, count) in fields.items()}
        )


def union_of_all(found: Iterable[specs.Spec | None]) -> specs.Spec | None:
    """The spec that the metadata of several parts fit; None if that of a part is not known."""
    union: specs.Spec | None = NOTHING
    for each in found:
        union = None if union is None or each is None else merge(union, each)
    return union


def _array(array: pb.Array) -> specs.Spec:
    try:
        dtype = dtypes.from_name(array.dtype)
    except ValueError:  # bfloat16, for which a package may be missing
        return specs.Any()
    is_whole = math.prod(array.shape) * dtype.itemsize == len(array.data)  # a copied record may be damaged
    return specs.Array(tuple(array.shape), dtype) if is_whole else specs.Any()
