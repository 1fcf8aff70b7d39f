"""Turns batches, arrays of one value for each environment, into the columns of a row of all of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import RldsKitError, SpecError
from rlds_kit.storage.array_columns import NotColumnsError, all_fit, is_column, is_each
from rlds_kit.storage.array_form import example_of, is_alike
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.leaf import ColumnKey

Batch = Any  # arrays, and dicts and tuples of them, or a sequence of one value for each environment
_HOST: Final = (np.ndarray, np.generic, list)
"""Types of batches in the memory of the process."""
Place = tuple[Any, ...]  # the keys of dicts and numbers in tuples that lead to an array in a batch


def as_array(batch: Batch) -> Batch:
    """A batch of a device (JAX, Torch) as a NumPy array; anything else unchanged.

    >>> as_array([1, 2])
    [1, 2]
    """
    if isinstance(batch, _HOST):
        return batch
    if isinstance(batch, Mapping):
        return {key: item if type(item) is np.ndarray else as_array(item) for key, item in batch.items()}
    if isinstance(batch, tuple):
        return tuple(as_array(item) for item in batch)
    if not hasattr(batch, "__array__"):
        return batch
    return batch.detach().cpu().numpy() if hasattr(batch, "detach") else np.asarray(batch)


def value_of(batch: Batch, index: int, spec: specs.Spec | None) -> Any:  # a value of any type
    """Takes the value of one environment out of a batch; declared dicts and tuples are batched item by item.

    >>> value_of({"x": np.arange(3)}, 1, None)
    {'x': np.int64(1)}
    """
    if isinstance(batch, Mapping):
        fields = spec.fields if isinstance(spec, specs.Dict) else dict.fromkeys(batch)
        return {key: value_of(batch[key], index, each) for key, each in fields.items() if key in batch}
    if isinstance(batch, tuple) and isinstance(spec, specs.Tuple):
        return tuple(value_of(item, index, each) for item, each in zip(batch, spec.items, strict=True))
    return batch[index]


def check_batch(batch: Batch, place: str, spec: specs.Spec | None, lanes: int) -> None:
    """Raises SpecError if a batch does not have one value for each environment; it would be recorded wrongly.

    >>> check_batch({"x": np.arange(3)}, "observation", None, 2)
    Traceback (most recent call last):
    rlds_kit.base.errors.SpecError: observation/x: expected 2 values, one for each environment, got 3
    """
    for where, array in _batches(batch, place, spec):
        ndim = getattr(array, "ndim", None)
        is_batch = hasattr(array, "__len__") and not isinstance(array, str | bytes) if ndim is None else ndim > 0
        if not is_batch or len(array) != lanes:
            got = f"{len(array)}" if is_batch else f"{type(array).__name__}"
            raise SpecError(f"{where}: expected {lanes} values, one for each environment, got {got}")


def _batches(batch: Batch, place: str, spec: specs.Spec | None) -> Iterator[tuple[str, Batch]]:
    """The batches within a batch that have a value for each environment, with their names."""
    if isinstance(batch, Mapping):
        for key, item in batch.items():
            each = spec.fields.get(key) if isinstance(spec, specs.Dict) else spec
            yield from _batches(item, f"{place}/{key}", each)
    elif isinstance(batch, tuple) and isinstance(spec, specs.Tuple):
        if len(batch) != len(spec.items):
            raise SpecError(f"{place}: expected a tuple of {len(spec.items)} batches, got {len(batch)}")
        for index, (item, each) in enumerate(zip(batch, spec.items, strict=True)):
            yield from _batches(item, f"{place}/{index}", each)
    elif isinstance(batch, tuple) and spec is None and any(map(_is_nest, batch)):
        # Whether it is a tuple of batches or a batch of arrays cannot be known.
        raise SpecError(f"{place}: expected a tuple to be declared in the spec; declare it, or pass a dict or array")
    else:
        yield place, batch


def _is_nest(item: Any) -> bool:
    return isinstance(item, Mapping) or getattr(item, "ndim", 0) > 0


class BatchField:
    """A field whose batches become columns. The columns of one batch are reused for all batches of the same form.

    Args:
      name: of the field.
      spec: of the value of one environment; None: nothing is declared.
      lanes: number of environments.
    """

    def __init__(self, name: str, spec: specs.Spec | None, lanes: int) -> None:
        self._name, self._spec, self._lanes = name, spec, lanes
        self._form: list[tuple[Place, np.dtype[Any], tuple[int, ...]]] | None = None
        self._keys: list[ColumnKey] = []
        self.known: tuple[ColumnKey, np.ndarray] | None = None
        """The column, and an example, of batches that are one array and fit whatever their values are."""

    def value(self, batch: Batch, lane: int) -> Any:  # of any type
        """The value of one environment.

        Raises:
          SpecError: the batch does not have one for each environment.
        """
        check_batch(batch, self._name, self._spec, self._lanes)
        return value_of(batch, lane, self._spec)

    def leaves(self, batch: Batch, fields: DeclaredFields, *, is_acted: bool) -> list[BatchLeaf]:
        """The columns of a batch.

        Raises:
          NotColumnsError: its values must be recorded one by one, which also finds invalid ones.
        """
        if self.known is not None and type(batch) is np.ndarray and is_alike(batch, self.known[1]):
            return [BatchLeaf(self.known[0], batch)]
        found = list(self._arrays((), batch, self._spec))
        arrays = [array for _, array, _ in found]
        form = [(place, array.dtype, array.shape) for place, array, _ in found]
        if form != self._form:
            self._learn(batch, arrays, fields, is_acted=is_acted)
            self._form = form
        if not all(all_fit(array, spec) for _, array, spec in found) and not fields.takes_any(self._name):
            raise NotColumnsError
        if type(batch) is np.ndarray and _fits_by_form(batch, self._spec):
            self.known = self._keys[0], example_of(batch)
        return [BatchLeaf(key, array) for key, array in zip(self._keys, arrays, strict=True)]

    def _arrays(
        self, place: Place, batch: Batch, spec: specs.Spec | None
    ) -> Iterator[tuple[Place, np.ndarray, specs.Array | None]]:
        """The arrays in a batch, in the order of its leaves, with the spec of the value of one environment."""
        if isinstance(spec, specs.Array | None) and is_column(batch, self._lanes):
            yield place, batch, spec
        elif isinstance(batch, Mapping) and isinstance(spec, specs.Dict | None):
            fields = dict.fromkeys(batch) if spec is None else spec.fields
            for name, each in fields.items():
                if name in batch:
                    yield from self._arrays((*place, name), batch[name], each)
        elif isinstance(batch, tuple) and isinstance(spec, specs.Tuple) and len(batch) == len(spec.items):
            for index, (item, each) in enumerate(zip(batch, spec.items, strict=True)):
                yield from self._arrays((*place, index), item, each)
        else:
            raise NotColumnsError

    def _learn(self, batch: Batch, arrays: list[np.ndarray], fields: DeclaredFields, *, is_acted: bool) -> None:
        """Finds the columns by the value of one environment, as they are found for rows."""
        self._form = self.known = None
        row = {self._name: value_of(batch, 0, self._spec)}
        try:
            found = fields.leaves({}, row)[1] if is_acted else fields.leaves(row, {})[0]
        except RldsKitError as error:
            raise NotColumnsError from error
        if fields.deviations.has_pending() or not is_each(found.keys, arrays):
            raise NotColumnsError
        self._keys = list(found.keys)


def _fits_by_form(batch: np.ndarray, spec: specs.Spec | None) -> bool:
    """Whether `all_fit` depends on the form of a batch alone."""
    return batch.ndim > 1 or spec is None or (isinstance(spec, specs.Array) and batch.dtype == spec.dtype)
