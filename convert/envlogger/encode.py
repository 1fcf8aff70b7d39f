"""Encodes values as EnvLogger's messages, the inverse of `envlogger.decode`, and reports values that they cannot store.

EnvLogger's codec, https://github.com/google-deepmind/envlogger/blob/main/envlogger/converters/codec.py, can read all
messages of this module. It writes an empty list, tuple or dict as None; this module writes their types, which it reads.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.convert.envlogger.recording import SCALAR_DIM_SIZE
from rlds_kit.convert.envlogger_storage_pb2 import Data, Datum
from rlds_kit.convert.protocol import Loss

DEEPEST: Final = 24
"""Nests of values; protobuf itself reads no more than 100 messages in each other, and a dict takes three."""
# Name of a dtype -> (field of `Values`, dtype of its bytes).
_PACKED: Final = {
    "int8": ("int8_values", ">i1"),
    "int16": ("int16_values", ">i2"),
    "uint8": ("uint8_values", ">u1"),
    "uint16": ("uint16_values", ">u2"),
}
_RUNS: Final = {"float32": ("float_values", "<f4"), "float64": ("double_values", "<f8")}
_NUMBERS: Final = ("int32", "int64", "uint32", "uint64", "bool")


def encode(value: Any, place: str, losses: list[Loss], depth: int = 0) -> Data | None:
    """The message of a value.

    Entries of a dict that cannot be stored are left out; so is a list or tuple with one such item.

    Args:
      value: any recordable value.
      place: of the value, for the losses.
      losses: gets the values that cannot be stored.
      depth: number of dicts, lists and tuples around it.

    Returns:
      None if the value cannot be stored.

    >>> losses = []
    >>> encode({"half": np.float16(1), "x": 1.5}, "info", losses).dict.values["x"].datum.values.double_values[0].hex()
    '000000000000f83f'
    >>> losses
    [Loss(field='info/half', reason='EnvLogger has no float16', values=1)]
    """
    if depth > DEEPEST:
        return _lost(place, f"is in more than {DEEPEST} dicts, lists and tuples", losses)
    match value:
        case None:
            return Data()
        case Mapping():
            return Data(dict=_dict(value, place, losses, depth + 1))
        case tuple():
            items = _items(value, place, losses, depth + 1)
            return None if items is None else Data(tuple=Data.Tuple(values=items))
        case list():
            items = _items(value, place, losses, depth + 1)
            return None if items is None else Data(array=Data.Array(values=items))
        case np.ndarray():
            return _array(value, value.shape, place, losses)
        case _:
            return _scalar(value, place, losses)


def _lost(place: str, reason: str, losses: list[Loss]) -> Data | None:
    losses.append(Loss(place, reason))
    return None


def _dict(value: Mapping[Any, Any], place: str, losses: list[Loss], depth: int) -> Data.Dict:
    made = Data.Dict()
    for key, each in value.items():
        inner = f"{place}/{key}"
        name = _scalar(key, inner, losses) if isinstance(key, str) else encode(key, inner, losses, depth)
        data = None if name is None else encode(each, inner, losses, depth)
        if name is None or data is None:
            continue
        if isinstance(key, str):
            made.values[key].CopyFrom(data)
        else:
            made.kvs.values.append(Data(tuple=Data.Tuple(values=[name, data])))
    return made


def _items(value: Sequence[Any], place: str, losses: list[Loss], depth: int) -> list[Data] | None:
    made = [encode(each, f"{place}/{index}", losses, depth) for index, each in enumerate(value)]
    items = [each for each in made if each is not None]
    return items if len(items) == len(made) else None


def _scalar(value: Any, place: str, losses: list[Loss]) -> Data | None:
    match value:
        case bool() | np.bool_():
            values = Datum.Values(bool_values=[bool(value)])
        case str():
            if any("\ud800" <= letter <= "\udfff" for letter in value):
                return _lost(place, "text with lone surrogates", losses)
            values = Datum.Values(string_values=[value])
        case bytes():
            values = Datum.Values(bytes_values=[value])
        case float():  # numpy.float64 too
            values = Datum.Values(double_values=[struct.pack("<d", value)])
        case int():
            values = Datum.Values(bigint_values=[value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)])
        case np.generic():
            return _array(np.asarray(value), (SCALAR_DIM_SIZE,), place, losses)
        case _:
            return _lost(place, f"EnvLogger has no {type(value).__name__}", losses)
    return Data(datum=Datum(shape=_shape((SCALAR_DIM_SIZE,)), values=values))


def _array(array: np.ndarray, shape: tuple[int, ...], place: str, losses: list[Loss]) -> Data | None:
    name = array.dtype.name
    if not array.size:
        return _lost(place, "EnvLogger stores an array without elements as None", losses)
    if not array.dtype.isnative:
        return _lost(place, "EnvLogger does not keep the order of bytes", losses)
    fill = _FILLS.get(name)
    if fill is None:
        return _lost(place, f"EnvLogger has no {'fixed-width text' if array.dtype.kind in 'US' else name}", losses)
    datum = Datum(shape=_shape(shape))
    fill(datum.values, array)
    return Data(datum=datum)


def _shape(sizes: tuple[int, ...]) -> Datum.Shape:
    return Datum.Shape(dim=[Datum.Shape.Dim(size=size) for size in sizes])


def _packed(field: str, layout: str) -> Callable[[Datum.Values, np.ndarray], None]:
    return lambda values, array: setattr(values, field, array.astype(layout).tobytes())


def _run(field: str, layout: str) -> Callable[[Datum.Values, np.ndarray], None]:
    return lambda values, array: getattr(values, field).append(array.astype(layout).tobytes())


def _numbers(field: str) -> Callable[[Datum.Values, np.ndarray], None]:
    return lambda values, array: getattr(values, field).extend(array.ravel().tolist())


_FILLS: Final[Mapping[str, Callable[[Datum.Values, np.ndarray], None]]] = {
    **{name: _packed(field, layout) for name, (field, layout) in _PACKED.items()},
    **{name: _run(field, layout) for name, (field, layout) in _RUNS.items()},
    **{name: _numbers(f"{name}_values") for name in _NUMBERS},
}
