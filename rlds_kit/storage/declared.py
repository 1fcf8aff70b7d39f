"""Checks that a row's declared fields fit the spec, and takes the whole row apart into leaves."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.errors import SpecError
from rlds_kit.spec.validate import require
from rlds_kit.step import ACTION, FLAGS
from rlds_kit.storage import leaf as leaf_module
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.leaf import ColumnKey, Leaf

MAX_LEAVES: Final = 1024
"""A dynamic field with more leaves than this is stored as one, so that columns stay few."""


class DeclaredFields:
    """The spec of a recorder, and what is known to fit it.

    An action is recorded as it was given, whether it fits or not: what the agent did is data, not an error.
    """

    def __init__(self, declared: specs.Dict) -> None:
        self._specs = dict(declared.fields)
        self._known: dict[str, tuple[object, ...]] = {}
        self._arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...], ColumnKey]] = {}
        self._floats = {name for name, spec in self._specs.items() if _is_float(spec)}

    def leaves(self, fields: Mapping[str, Any]) -> list[Leaf]:
        """All leaves of one side of a row.

        Raises:
          SpecError: a declared field does not fit; every problem is listed with its place.
          UnsupportedTypeError: a value cannot be recorded.
        """
        found: list[Leaf] = []
        for name, item in fields.items():
            spec = self._specs.get(name)
            if spec is None:
                found += self._dynamic(name, item)
            else:
                found += self._declared(name, item, spec)
        return found

    def _declared(self, name: str, item: object, spec: specs.Spec) -> list[Leaf]:
        if type(item) is np.ndarray:
            known = self._arrays.get(name)
            if known is not None and item.dtype == known[0] and item.shape == known[1]:
                return [Leaf(known[2], item)]
        try:
            found = leaf_module.leaves(leaf_module.escape(name), item, spec)
        except ValueError as error:  # a tuple of another length than declared
            if name != ACTION:
                require(spec, item, name)
            raise SpecError(f"{name}: {error}") from error
        if name == ACTION or (type(item) is float and name in self._floats):
            return found
        # Arrays of a shape and dtype that fitted before fit again: nothing else about an array is checked.
        signature = tuple((leaf.key, leaf.value.shape) for leaf in found if leaf.key.kind == pb.ARRAY)
        if len(signature) != len(found) or self._known.get(name) != signature:
            require(spec, item, name)
            self._known[name] = signature
        if type(item) is np.ndarray and len(found) == 1:
            self._arrays[name] = (item.dtype, item.shape, found[0].key)
        return found

    def _dynamic(self, name: str, item: object) -> list[Leaf]:
        if name in FLAGS:
            raise SpecError(f"{name}: expected another name for this field: the flag is derived from the episode")
        path = leaf_module.escape(name)
        found = leaf_module.leaves(path, item, None)
        return found if len(found) <= MAX_LEAVES else [leaf_module.as_tree(path, item)]


def _is_float(spec: specs.Spec) -> bool:
    """Whether every Python float fits: so it is with most rewards and discounts."""
    return isinstance(spec, specs.Array) and spec.shape == () and spec.dtype == np.float64
