"""Parses JSON from untrusted clients; accepts only values that any database and any JSON reader can represent."""

import json
import math
from typing import Any, Final, NoReturn

_DEEPEST: Final = 32
"""Maximum nesting of lists and objects; code that copies them later is recursive."""
_LARGEST: Final = 2**63
"""Limit of whole numbers, which databases store in 64 bits."""


def from_json(content: bytes | bytearray | str) -> Any:
    """The values of a text in JSON.

    Raises:
      ValueError: it is no JSON, or has a number that is not finite or of more than 64 bits, text that is not Unicode or
        has a character 0, or more than 32 lists and objects in one another.

    >>> from_json('{"value": 1}')
    {'value': 1}
    """
    try:
        values = json.loads(content, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    _require_storable(values, _DEEPEST)
    return values


def require_text(text: str) -> None:
    """Raises an error for text that some databases or JSON readers cannot represent.

    Raises:
      ValueError: it is not Unicode, or has a character 0.
    """
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("text has a character 0 or half of a surrogate pair")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _require_storable(values: Any, deep: int) -> None:
    if deep < 0:
        raise ValueError(f"lists and objects are in one another more than {_DEEPEST} times")
    match values:
        case str():
            require_text(values)
        case int():
            if not -_LARGEST <= values < _LARGEST:
                raise ValueError("a whole number has more than 64 bits")
        case float():
            if not math.isfinite(values):
                raise ValueError("a number is too large")
        case dict():
            for key, value in values.items():
                _require_storable(key, deep)
                _require_storable(value, deep - 1)
        case list():
            for value in values:
                _require_storable(value, deep - 1)
