"""Columns of LeRobot's Parquet files as arrays, lists of text and images, and back."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.convert import images, parquet
from rlds_kit.convert.image_size import announced_size
from rlds_kit.convert.lerobot.info import IMAGE, TEXT, Feature


class EncodedImages(Sequence[np.ndarray]):
    """Images as they are stored, each decoded on access.

    Args:
      data: PNG or JPEG files.
      shape: height, width and channels, which they must have.
      place: of the files, for errors.
    """

    def __init__(self, data: Sequence[bytes], shape: tuple[int, ...], place: str) -> None:
        self.data, self.shape, self._place = data, shape, place

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: Any) -> Any:
        """An image `[height, width, channels]`, uint8.

        Raises:
          FormatError: it is no image, or has another size, which is checked before decoding.
        """
        data = self.data[row]
        if announced_size(data) is None:
            raise FormatError(f"{self._place}, row {row}: expected PNG or JPEG, got bytes that begin with {data[:8]!r}")
        return images.decode(data, self.shape, np.dtype(np.uint8))


def values_of(column: Any, feature: Feature, place: str) -> Any:
    """A column of a table.

    Args:
      column: of one episode.
      feature: what it is declared as.
      place: for errors.

    Returns:
      An array `[rows, *shape]`, a list of text, or `EncodedImages`.

    Raises:
      FormatError: it does not match its declaration.
    """
    if column.null_count:
        raise FormatError(f"{place}: expected a value in every row, but {column.null_count} have none")
    if feature.dtype == IMAGE:
        return _images(column, feature, place)
    if feature.dtype == TEXT:
        return _text(column, place)
    return _array(column, feature, place)


def _images(column: Any, feature: Feature, place: str) -> EncodedImages:
    pa = parquet.library()
    kind = column.type
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        column = pa.chunked_array([each.field("bytes") for each in column.chunks], kind.field("bytes").type)
    data = column.to_pylist()
    if not all(isinstance(each, bytes) for each in data):
        raise FormatError(f"{place}: expected images that are embedded as bytes, got {kind}")
    return EncodedImages(data, feature.shape, place)


def _text(column: Any, place: str) -> list[str]:
    found = column.to_pylist()
    if not all(isinstance(each, str) for each in found):
        raise FormatError(f"{place}: expected text, got {column.type}")
    return list(found)


def _array(column: Any, feature: Feature, place: str) -> np.ndarray:
    pa = parquet.library()
    rows = len(column)
    values = column.combine_chunks()
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    for length in feature.shape if _is_listed(values) else ():
        if not _is_listed(values):
            break
        lengths = [values.type.list_size] if pa.types.is_fixed_size_list(values.type) else _lengths(values)
        if any(each != length for each in lengths):
            raise FormatError(f"{place}: expected lists of {length} values, got others")
        values = values.flatten()
    if _is_listed(values) or values.null_count or len(values) != rows * math.prod(feature.shape):
        raise FormatError(f"{place}: expected {rows} values of the shape {feature.shape}, got {column.type}")
    found = parquet.numbers_in(values)
    if found.dtype.kind not in "biuf":
        raise FormatError(f"{place}: expected {feature.dtype}, got {column.type}")
    dtype = np.dtype(feature.dtype)
    made = found if found.dtype == dtype else found.astype(dtype)
    if made is not found and not np.array_equal(made, found, equal_nan=True):
        raise FormatError(f"{place}: expected {feature.dtype}, got {column.type} with values that it cannot store")
    return np.ascontiguousarray(made).reshape(rows, *feature.shape)


def require_lengths(kind: Any, feature: Feature, place: str) -> None:
    """Checks that lists of a fixed length have the declared one, before any of them is read.

    Args:
      kind: type of the column.
      feature: what it is declared as.
      place: for errors.

    Raises:
      FormatError: they have another length.
    """
    types = parquet.library().types
    for length in feature.shape:
        if types.is_fixed_size_list(kind) and kind.list_size != length:
            raise FormatError(f"{place}: expected lists of {length} values, got {kind.list_size}")
        if not types.is_nested(kind) or types.is_struct(kind):
            return
        kind = kind.value_type


def _lengths(values: Any) -> list[int | None]:
    found: list[int | None] = parquet.library().compute.list_value_length(values).unique().to_pylist()
    return found


def _is_listed(values: Any) -> bool:
    types = parquet.library().types
    return bool(types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type))


def arrow_type(feature: Feature) -> Any:
    """The type that LeRobot uses for the column of a feature."""
    pa = parquet.library()
    if feature.dtype == IMAGE:
        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    if feature.dtype == TEXT:
        return pa.string()
    kind = pa.from_numpy_dtype(np.dtype(feature.dtype))
    if feature.shape == (1,):
        return kind
    if len(feature.shape) == 1:
        return pa.list_(kind, feature.shape[0])
    for _ in feature.shape:
        kind = pa.list_(kind)
    return kind


def arrow_array(values: Any, feature: Feature) -> Any:
    """The column of a feature.

    Args:
      values: an array `[rows, *shape]`, whose shape has as many elements as that of the feature; a list of text;
        or images `[rows, height, width, channels]`.
      feature: of the column.
    """
    pa = parquet.library()
    kind = arrow_type(feature)
    if feature.dtype == TEXT:
        return pa.array(values, kind)
    if feature.dtype == IMAGE:
        files = [images.encode_png(np.reshape(each, feature.shape)) for each in values]
        paths = pa.array([f"frame-{row:06d}.png" for row in range(len(files))], pa.string())
        return pa.StructArray.from_arrays([pa.array(files, pa.binary()), paths], fields=list(kind))
    flat = pa.array(np.ascontiguousarray(values).reshape(-1).astype(feature.dtype, copy=False))
    if feature.shape == (1,):
        return flat
    if len(feature.shape) == 1:
        return pa.FixedSizeListArray.from_arrays(flat, feature.shape[0])
    for length in reversed(feature.shape):
        flat = pa.ListArray.from_arrays(np.arange(0, len(flat) + 1, length, dtype=np.int32), flat)
    return flat


def hugging_face_type(feature: Feature) -> dict[str, Any]:
    """The description of the column for the library `datasets`."""
    if feature.dtype == IMAGE:
        return {"_type": "Image"}
    value = {"dtype": feature.dtype, "_type": "Value"}
    if feature.shape == (1,):
        return value
    if len(feature.shape) == 1:
        return {"feature": value, "length": feature.shape[0], "_type": "List"}
    return {"shape": list(feature.shape), "dtype": feature.dtype, "_type": f"Array{len(feature.shape)}D"}
