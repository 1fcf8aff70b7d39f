"""Reads the JSON of a request."""

import json
import math
from typing import Any, Final, NoReturn, TypeVar

from rlds_kit.base.extras import needs
from rlds_kit.studio.api.errors import ApiError

with needs("studio"):
    from pydantic import BaseModel, ValidationError
    from starlette.requests import Request

M = TypeVar("M", bound=BaseModel)
_DEEPEST: Final = 32
"""Of lists and objects in one another; what copies them later goes deeper with each."""
_MOST_NAMED: Final = 20
"""Parts of a request that are named in one error."""
_LARGEST: Final = 2**63
"""Of whole numbers, which databases hold in 64 bits."""


async def read(request: Request, model: type[M]) -> M:
    """The body of a request.

    Raises:
      ApiError: it is too long, no JSON, or not as the model states; `where` names the part.
    """
    return checked(await _json(request), model)


def checked(values: Any, model: type[M]) -> M:
    """Values as a model.

    Raises:
      ApiError: they do not fit; the message names every part that does not, and `where` the first.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        places = [".".join(str(part) for part in each["loc"]) for each in found]
        problems = [f"{where or 'the body'}: {each['msg']}" for where, each in zip(places, found, strict=True)]
        if len(problems) > _MOST_NAMED:
            problems[_MOST_NAMED:] = [f"and {len(problems) - _MOST_NAMED} more"]
        raise ApiError(400, "invalid", "; ".join(problems), places[0]) from error


async def _json(request: Request) -> Any:
    most = request.app.state.settings.body_bytes
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise ApiError(413, "too_long", f"expected a body of at most {most} bytes")
    try:
        values = json.loads(content, parse_constant=_no_number)
        _require_storable(values, _DEEPEST)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "invalid", f"expected a body in JSON: {error}") from error
    return values


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _require_storable(values: Any, deep: int) -> None:
    """Refuses what cannot be stored, or sent again, everywhere."""
    if deep < 0:
        raise ValueError(f"lists and objects are in one another more than {_DEEPEST} times")
    match values:
        case str():
            if "\0" in values or any("\ud800" <= character <= "\udfff" for character in values):
                raise ValueError("text has a character 0 or half of a surrogate pair")
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
