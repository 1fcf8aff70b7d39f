"""Reads JSON bodies and whole numbers in URLs from requests."""

import json
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.replay.answers import VERSION

with needs("studio"):
    from starlette.requests import Request

MOST_BYTES: Final = 262_144
"""Maximum bytes of a body."""
_MOST_DIGITS: Final = 19


async def json_of(request: Request) -> Any:  # JSON
    """The JSON of a request.

    Raises:
      ApiError: it is not JSON, or too long.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise ApiError(413, "too_long", f"expected at most {MOST_BYTES} bytes")
    try:
        found = json.loads(body)
    except ValueError as error:  # UnicodeDecodeError is one
        raise ApiError(400, "malformed", f"expected JSON: {error}") from error
    except RecursionError:
        raise ApiError(400, "malformed", "expected JSON that is not so deep") from None
    if isinstance(found, dict) and found.get("v", VERSION) != VERSION:
        raise ApiError(400, "malformed", f"expected version {VERSION}", "v")
    return found


def whole_number(given: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A number of a query or a path.

    Raises:
      ApiError: it is not a number, or out of range.

    >>> whole_number({"page": "3"}, "page", 0, 0, 10), whole_number({}, "page", 0, 0, 10)
    (3, 0)
    """
    text = given.get(name) or str(default)
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not (is_number and least <= int(text) <= most):
        raise ApiError(400, "malformed", f"expected a whole number of {least} to {most}, got {text[:40]!r}", name)
    return int(text)
