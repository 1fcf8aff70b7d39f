"""Columns for frameworks that only support numbers and bytes, and need dtype and shape in advance."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.loader.layout import Leaf
from rlds_kit.loader.nests import flattened, map_arrays
from rlds_kit.loader.read_ahead import Batch
from rlds_kit.spec.describe import describe_spec, describe_value
from rlds_kit.storage.stacking import as_declared, spec_at


@dataclass(frozen=True, slots=True)
class Column:
    """Dtype and shape of the values of a leaf.

    Attributes:
      path: of the leaf, for messages.
      spec: of one value; None for text and bytes.
    """

    path: str
    spec: specs.Array | None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values; object for bytes."""
        return np.dtype(object) if self.spec is None else self.spec.dtype

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """The dtypes of the arrays that `arrays` returns."""
        return [self.dtype, np.dtype(np.int64)] if self.is_ragged else [self.dtype]

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape of one value, with None for an unknown dimension."""
        return () if self.spec is None else self.spec.shape

    @property
    def is_ragged(self) -> bool:
        """Whether the shape changes from step to step."""
        return None in self.shape

    @property
    def row_bytes(self) -> int:
        """The bytes of one value; 0 if unknown."""
        return 0 if self.is_ragged else math.prod(size or 0 for size in self.shape) * self.dtype.itemsize

    def arrays(self, values: np.ndarray, defined: np.ndarray) -> list[np.ndarray]:
        """The values of many steps.

        Args:
          values: `[rows, ...]`, as a loader has them.
          defined: `[rows]` bool, where there is a value.

        Returns:
          `[rows, *shape]`. For a ragged column the elements of all values one after the other, and `[rows, rank]`
          int64, the shape of each. Missing values are zeros, empty bytes, or values without elements.

        Raises:
          SpecError: a value is of another dtype.
        """
        if self.spec is None:
            return [plain(np.where(defined, values, np.array(None)), self.path)]
        if not self.is_ragged:
            return [plain(values, self.path)]
        nothing = np.zeros([size or 0 for size in self.shape], self.dtype)
        items = [self._checked(each) if is_there else nothing for each, is_there in zip(values, defined, strict=True)]
        shapes = np.array([item.shape for item in items], np.int64).reshape(len(items), len(self.shape))
        return [plain(np.concatenate([nothing.reshape(-1), *map(np.ravel, items)]), self.path), shapes]

    def _checked(self, value: Any) -> np.ndarray:
        array = as_declared(np.asarray(value), self.spec)
        if array.dtype != self.dtype or array.ndim != len(self.shape):
            raise SpecError(
                f"{self.path}: expected {describe_spec(specs.Array(self.shape, self.dtype))}, got "
                f"{describe_value(array)}; leave the field out with `select`"
            )
        return array


def column(name: str, spec: specs.Dict, leaf: Leaf) -> Column:
    """The column of a leaf.

    Args:
      name: of the dataset, for messages.
      spec: of all fields.
      leaf: of the column.

    Raises:
      SpecError: its values are neither numbers of one dtype and rank nor text or bytes.
    """
    if leaf.spec is not None:
        return Column(leaf.path, leaf.spec)
    found = spec_at(spec, leaf.path)
    match found:
        case specs.Text() | specs.Bytes():
            return Column(leaf.path, None)
        case specs.Array():
            return Column(leaf.path, found)
        case specs.Sequence(specs.Array(shape, dtype), stacked=True):
            return Column(leaf.path, specs.Array((None, *shape), dtype))
        case specs.Optional():
            raise SpecError(
                f"{name}: {leaf.path} is None or missing at some steps, for which TensorFlow has no tensor; record a "
                "value that stands for none, such as empty text, or leave the field out: name the others in `select`"
            )
    holds = "values of no known kind" if found is None else describe_spec(found)
    raise SpecError(
        f"{name}: {leaf.path} holds {holds}, for which TensorFlow has no tensor; leave the field out: name the others "
        "in `select`"
    )


def plain(array: np.ndarray, path: str) -> np.ndarray:
    """Converts text to UTF-8 bytes, and numbers to the machine's byte order.

    Raises:
      SpecError: an object array has values that are neither text nor bytes.

    >>> plain(np.array(["a", None], object), "instruction").tolist()
    [b'a', b'']
    """
    if array.dtype.kind in "OSU":
        encoded = np.empty(array.shape, object)
        encoded.reshape(-1)[:] = [_encoded(value, path) for value in array.reshape(-1).tolist()]
        return encoded
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def plain_batch(batch: Batch) -> Batch:
    """Converts all arrays of a batch with `plain`, and lists to tuples.

    Raises:
      SpecError: a field has values other than numbers, text and bytes.
    """
    arrays = iter([plain(array, path) for path, array in flattened(batch).items()])
    made: Batch = without_lists(map_arrays(lambda _: next(arrays), batch))
    return made


def without_lists(nest: Any) -> Any:
    """Converts lists to tuples, because TensorFlow converts lists to tensors.

    >>> without_lists({"a": [1, (2, [3])]})
    {'a': (1, (2, (3,)))}
    """
    match nest:
        case dict():
            return {key: without_lists(item) for key, item in nest.items()}
        case tuple() | list():
            return tuple(without_lists(item) for item in nest)
    return nest


def _encoded(value: Any, path: str) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    raise SpecError(
        f"{path}: expected text or bytes, got {describe_value(value)}, for which TensorFlow has no tensor; leave the "
        "field out: name the others in `select`"
    )
