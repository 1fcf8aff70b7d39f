"""Recorded values as JSON that a page can show: exact, and with their types.

Every value is an object with a "kind", which `routes` lists. Images are requested by their place, a JSON Pointer (RFC
6901) without the first "/"; numbers are those of `numbers`.
"""

import itertools
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from rlds_kit.studio.json_numbers import number, numbers
from rlds_kit.studio.replay.pictures import Frames, frames_of

MOST_NUMBERS: Final = 4096
"""Maximum numbers of an array; of a larger one the first are shown, with least, greatest and mean."""
FIRST_NUMBERS: Final = 256
MOST_TEXT: Final = 20_000
MOST_BYTES: Final = 1024
_MOST_DIGITS: Final = 12
MOST_ITEMS: Final = 2000
"""Maximum items of a dict, list or tuple."""
MOST_VALUES: Final = 10_000
"""Maximum values of a whole nest."""


def shown(value: Any, place: str | None = "") -> dict[str, Any]:
    """A value as JSON.

    Args:
      value: as it was recorded.
      place: where it is in the step; None if it cannot be requested, and then it is never shown as an image.

    >>> shown(np.float32(0.5))
    {'kind': 'number', 'type': 'float32', 'value': 0.5}
    >>> shown((b"a", None))["items"]
    [{'kind': 'bytes', 'size': 1, 'hex': '61'}, {'kind': 'none'}]
    """
    return _Shown().value(value, place)


class _Shown:
    """Makes JSON of a value, up to a limit of size."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def value(self, value: Any, place: str | None) -> dict[str, Any]:
        """A value, or a placeholder for one that is too large."""
        self._left -= 1
        if self._left < 0:
            return {"kind": "cut"}
        match value:
            case None:
                return {"kind": "none"}
            case np.ndarray():
                self._left -= min(value.size, MOST_NUMBERS) // 64
                return _array(value, place)
            case str():
                return {"kind": "text", "value": str(value[:MOST_TEXT]), "size": len(value)}
            case bytes():
                return {"kind": "bytes", "size": len(value), "hex": value[:MOST_BYTES].hex()}
            case np.generic():
                return {"kind": "number", "type": value.dtype.name, "value": numbers(np.asarray(value))}
            case bool() | int() | float() | complex():
                return {"kind": "number", "type": type(value).__name__, "value": number(value)}
            case dict():
                items = [[_key(key), self.value(item, below(place, key))] for key, item in _first(value.items())]
                return {"kind": "dict", "size": len(value), "items": items}
            case list() | tuple():
                parts = [self.value(item, below(place, index)) for index, item in enumerate(_first(value))]
                return {"kind": type(value).__name__, "size": len(value), "items": parts}
        return {"kind": "other", "text": repr(value)[:MOST_TEXT]}


def at(value: Any, place: str) -> Any:
    """The value at a place.

    Raises:
      LookupError: there is none.

    >>> at({"a/b": [5, 6]}, "a~1b/1")
    6
    """
    for part in place.split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value[key]
        elif isinstance(value, list | tuple) and key.isascii() and key.isdigit() and len(key) < _MOST_DIGITS:
            value = value[int(key)]
        else:
            raise LookupError(key)
    return value


def below(place: str | None, key: Any) -> str | None:
    """The place of a part; None if a key is not text.

    >>> below("observation", "left/right")
    'observation/left~1right'
    """
    if place is None or not isinstance(key, str | int) or isinstance(key, bool):
        return None
    part = str(key).replace("~", "~0").replace("/", "~1")
    return f"{place}/{part}" if place else part


def _first(items: Iterable[Any]) -> list[Any]:
    return list(itertools.islice(items, MOST_ITEMS))


def _key(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)


def _array(array: np.ndarray, place: str | None) -> dict[str, Any]:
    about = {"dtype": array.dtype.name if array.dtype.isnative else array.dtype.str, "shape": list(array.shape)}
    frames = frames_of(array) if place else None
    if frames is not None:
        return {"kind": "image", **about, "place": place, **_picture(frames)}
    if array.size <= MOST_NUMBERS:
        return {"kind": "array", **about, "values": numbers(array)}
    return {"kind": "array", **about, "cut": numbers(array.reshape(-1)[:FIRST_NUMBERS]), **_summary(array)}


def _picture(frames: Frames) -> dict[str, Any]:
    count, height, width = frames.pixels.shape[:3]
    size = {"frames": count, "height": height, "width": width}
    return {**size, "exact": frames.is_exact, "range": [number(frames.low), number(frames.high)]}


def _summary(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind not in "biuf":
        return {}
    found = {"min": array.min(), "max": array.max(), "mean": array.mean(dtype=np.float64)}
    return {"summary": {name: numbers(np.asarray(each)) for name, each in found.items()}}
