"""Decodes the episodes of TFDS, `tf.train.Example` messages, by the features of the dataset.

TFDS's `example_serializer.py` defines how features become entries of an Example
(https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/core/example_serializer.py): values of one level
of sequences one after the other, those of several levels in `ragged_flat_values`, with the lengths of their rows in
`ragged_row_lengths_0` and so on. A dataset of steps is one more level.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.convert import images
from rlds_kit.convert.byte_rows import byte_rows
from rlds_kit.convert.tfds.features import Feature, Features, leaves, stacked
from rlds_kit.convert.tfds.tf_example import Example, Values

Column: TypeAlias = np.ndarray | list[Any]
"""One value for each step: `[steps, ...]`, or a list where shapes differ or values are text or bytes."""
Elements: TypeAlias = np.ndarray | list[Any]

_FLAT: Final = "ragged_flat_values"
_LENGTHS: Final = "ragged_row_lengths_"
_MOST_BYTES: Final = 1 << 31
"""Maximum decoded bytes of one compressed value."""
_SMALL: Final = 1 << 10
"""Compressed bytes that are unpacked without a limit: deflate makes no more than about a megabyte of them."""


def count_steps(example: Example, features: Features) -> int:
    """The number of steps of an episode.

    Raises:
      FormatError: the lengths of its columns contradict each other, or it has none.
    """
    counts = {path: _count_of(example, f"{STEPS}/{path}", feature) for path, feature in leaves(features).items()}
    known = {path: count for path, count in counts.items() if count is not None}
    if not known:
        raise FormatError("no feature determines the number of steps")
    if len(set(known.values())) > 1:
        raise FormatError(f"the features have different numbers of steps: {known}")
    return next(iter(known.values()))


def count_of_numbers(example: Example, features: Features) -> int:
    """The number of steps from one feature of numbers, without unpacking them if possible; else as `count_steps`."""
    for path, feature in leaves(features).items():
        if feature.kind == "numbers" and feature.encoding == "none" and not feature.stores_shape:
            count = _count_of(example, f"{STEPS}/{path}", feature)
            if count is not None:
                return count
    return count_steps(example, features)


def step_columns(example: Example, features: Features, steps: int) -> dict[str, Column]:
    """The columns of all leaves of the steps, by path.

    Raises:
      FormatError: a feature is missing, or has invalid values.
      MissingExtraError: no library for images is installed.
    """
    return {path: step_column(example, path, feature, steps) for path, feature in leaves(features).items()}


def step_column(example: Example, path: str, feature: Feature, steps: int) -> Column:
    """One of `step_columns`."""
    key = f"{STEPS}/{path}"
    column: Column = _explained(key, lambda: _values(example, key, feature, (steps, *feature.levels)))
    return column


def last_value(example: Example, path: str, feature: Feature, steps: int) -> Column:
    """The last value of a `step_column`, or all of them where they are not stored one by one."""
    key = f"{STEPS}/{path}"
    if feature.levels or feature.stores_shape or feature.encoding == "none" or feature.kind != "numbers":
        return step_column(example, path, feature, steps)
    column: Column = _explained(key, lambda: _unpacked(_strings(_stored(example, key, feature))[-1:], feature))
    return column


def stored_strings(example: Example, key: str) -> list[bytes]:
    """The stored strings of a feature, which may be within sequences; none if it is missing."""
    return [data for name in (key, f"{key}/{_FLAT}") if name in example for data in _strings(example[name])]


def metadata(example: Example, features: Features, place: str = "") -> dict[str, Any]:
    """The metadata of an episode: a dict of values and dicts. Missing optional values are left out.

    Raises:
      As `step_columns`.
    """
    found: dict[str, Any] = {}
    for name, feature in features.items():
        key = f"{place}{name}"
        if not isinstance(feature, Feature):
            found[name] = metadata(example, feature, f"{key}/")
        elif not (feature.optional and _is_absent(example, key)):
            found[name] = _explained(key, lambda: _value(example, key, feature))  # noqa: B023  called immediately
    return found


def _value(example: Example, key: str, feature: Feature) -> Any:
    """A value of the episode: one element, or nested sequences of them."""
    if feature.levels:
        return _values(example, key, feature, feature.levels)
    (element,) = _elements(example, key, feature, 1)
    return element


def _values(example: Example, key: str, feature: Feature, levels: Sequence[int | None]) -> Any:
    """The value of a sequence, or of the column of all steps: an array where shapes agree, else a list."""
    rows = _row_lengths(example, key, feature, len(levels) - 1)
    count = int(rows[-1].sum()) if rows else levels[0]
    values = _elements(example, key, feature, count)
    spec = feature.element_spec
    for lengths, level in zip(reversed(rows), reversed(levels), strict=False):
        values = _grouped(values, lengths, spec)
        spec = stacked(spec, level) or specs.Sequence(spec)
    if levels[0] is not None and len(values) != levels[0]:
        raise FormatError(f"expected {levels[0]} values, got {len(values)}")
    return _together(values, spec)


def _grouped(values: Elements, lengths: np.ndarray, spec: specs.Spec) -> list[Any]:
    ends = np.cumsum(lengths)
    if len(ends) and (lengths.min() < 0 or ends[-1] != len(values)):
        raise FormatError(f"the lengths of its rows add up to {ends[-1]}, but there are {len(values)} values")
    rows = [values[begin:end] for begin, end in zip(ends - lengths, ends, strict=True)]
    return [
        _together(row, spec) if isinstance(spec, specs.Array) and None not in spec.shape else tuple(row) for row in rows
    ]


def _together(values: Elements, spec: specs.Spec) -> Elements:
    """Combines values into one array if they have one shape."""
    if isinstance(values, np.ndarray) or not isinstance(spec, specs.Array) or None in spec.shape:
        return values
    shape = [length or 0 for length in spec.shape]
    return np.stack(values) if values else np.zeros((0, *shape), spec.dtype)


def _elements(example: Example, key: str, feature: Feature, count: int | None) -> Elements:
    """All values, one after the other."""
    if feature.stores_shape:
        shapes = np.asarray(_stored(example, f"{key}/shape", feature)).reshape(-1, len(feature.shape))
        stored = _stored(example, f"{key}/value", feature)
        return [_decoded(data, feature, tuple(shape)) for data, shape in zip(_strings(stored), shapes, strict=True)]
    stored = _stored(example, key, feature)
    match feature.kind:
        case "image":
            assert feature.dtype is not None  # noqa: S101  images have one
            return [images.decode(data, feature.shape, feature.dtype) for data in _strings(stored)]
        case "text":
            return [data.decode("utf-8", "surrogatepass") for data in _strings(stored)]  # written by our builders
        case "bytes":
            return _shaped_strings(_strings(stored), feature.shape)
    if feature.encoding != "none":
        return _unpacked(_strings(stored), feature)
    return _numbers(stored, feature, count)


def _numbers(stored: Values, feature: Feature, count: int | None) -> np.ndarray:
    """`[count, *shape]`; one length that is not known in advance follows from the others."""
    if isinstance(stored, list):
        raise FormatError("expected numbers, got byte strings")
    dtype = feature.dtype
    if dtype == np.uint64:
        numbers = stored.view(np.uint64)  # an Example has only int64, so TFDS stores it there
    elif dtype is not None and dtype.kind in "iu" and stored.size and not _represents(dtype, stored):
        raise FormatError(f"expected {dtype}, got numbers up to {stored.max()} and down to {stored.min()}")
    else:
        numbers = stored.astype(dtype)
    lengths = (count, *feature.shape)
    known = math.prod(length for length in lengths if length is not None)
    if None not in lengths or not known:
        return numbers.reshape([length or 0 for length in lengths])
    return numbers.reshape([-1 if length is None else length for length in lengths])


def _represents(dtype: np.dtype[Any], numbers: np.ndarray) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= numbers.min() and numbers.max() <= limits.max)


def _unpacked(strings: list[bytes], feature: Feature) -> Elements:
    """The values in byte strings: one array if their shape is known."""
    assert feature.dtype is not None  # noqa: S101  numbers have one
    lengths = [length for length in feature.shape if length is not None]
    size = math.prod(lengths) * feature.dtype.itemsize
    if len(lengths) < len(feature.shape) or not 0 < size <= _MOST_BYTES or not strings:
        return [_decoded(data, feature, feature.shape) for data in strings]
    raw: Iterable[bytes] = strings
    if feature.encoding == "zlib":
        raw = (zlib.decompress(data) if len(data) <= _SMALL else _inflated(data, feature, lengths) for data in strings)
    return byte_rows(raw, len(strings), size).view(feature.dtype).reshape(len(strings), *lengths)


def _decoded(data: bytes, feature: Feature, shape: Iterable[int | None]) -> np.ndarray:
    lengths = [-1 if length is None else int(length) for length in shape]
    raw = _inflated(data, feature, lengths) if feature.encoding == "zlib" else data
    if -1 in lengths and 0 in lengths:  # the unknown length is not stored
        lengths = [0 if length == -1 else length for length in lengths]
    return np.frombuffer(raw, feature.dtype).reshape(lengths)


def _inflated(data: bytes, feature: Feature, lengths: list[int]) -> bytes:
    """Decompresses the bytes of a value, never more than its shape implies."""
    assert feature.dtype is not None  # noqa: S101  numbers have one
    most = _MOST_BYTES if -1 in lengths else math.prod(lengths) * feature.dtype.itemsize
    if not 0 <= most <= _MOST_BYTES:
        raise FormatError(f"expected at most {_MOST_BYTES} bytes, got a value of the shape {lengths}")
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(data, most + 1)  # 0 would be no limit
    if len(raw) > most or not unpacker.eof:
        raise FormatError(f"expected {most} bytes of the shape {lengths}, got others when they were unpacked")
    return raw


def _strings(stored: Values) -> list[bytes]:
    if isinstance(stored, list):
        return stored
    if stored.size:
        raise FormatError("expected byte strings, got numbers")
    return []


def _shaped_strings(strings: list[bytes], shape: tuple[int | None, ...]) -> list[Any]:
    """Byte strings in nested tuples."""
    values: list[Any] = strings
    for length in reversed(shape):
        size = len(values) if length is None else length
        if size and len(values) % size:
            raise FormatError(f"{len(strings)} strings do not fill the shape {shape}")
        values = [tuple(values[begin : begin + size]) for begin in range(0, len(values), size)] if size else [()]
    return values


def _row_lengths(example: Example, key: str, feature: Feature, levels: int) -> list[np.ndarray]:
    base = f"{key}/value" if feature.stores_shape else key
    return [np.asarray(example[f"{base}/{_LENGTHS}{level}"], np.int64) for level in range(levels)]


def _stored(example: Example, key: str, feature: Feature) -> Values:
    ragged = f"{key}/{_FLAT}"
    if ragged in example:
        return example[ragged]
    if key in example:
        return example[key]
    raise FormatError(f"the episode has no feature {key!r}, which {feature.kind} {feature.shape} are expected in")


def _is_absent(example: Example, key: str) -> bool:
    return not any(name == key or name.startswith(f"{key}/") for name in example)


def _count_of(example: Example, key: str, feature: Feature) -> int | None:
    """The number of steps of a column, if it alone determines that."""
    if feature.levels:
        base = f"{key}/value" if feature.stores_shape else key
        return len(example[f"{base}/{_LENGTHS}0"]) if f"{base}/{_LENGTHS}0" in example else None
    name = f"{key}/value" if feature.stores_shape else key
    if name not in example:
        return None
    size = (
        1
        if feature.kind in ("image", "text") or feature.encoding != "none"
        else math.prod(each or 0 for each in feature.shape)
    )
    return len(example[name]) // size if size else None


def _explained(key: str, decode: Callable[[], Any]) -> Any:
    try:
        return decode()
    except KeyError as error:
        raise FormatError(f"the episode has no feature {error}") from error
    except (FormatError, ValueError, OverflowError, zlib.error) as error:
        raise FormatError(f"{key}: {error}") from error
