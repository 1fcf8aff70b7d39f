"""Reads the JSON of a request."""

import json
from typing import Any, NoReturn, TypeVar

from rlds_kit.feed.extras import needs
from rlds_kit.studio.api.errors import ApiError

with needs("studio"):
    from pydantic import BaseModel, ValidationError
    from starlette.requests import Request

M = TypeVar("M", bound=BaseModel)


async def read(request: Request, model: type[M]) -> M:
    """The body of a request.

    Raises:
      ApiError: it is too long, no JSON, or not as the model says; `where` says which part.
    """
    return checked(await _json(request), model)


def checked(values: Any, model: type[M]) -> M:
    """Values as a model.

    Raises:
      ApiError: they do not fit; `where` says which part.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ApiError(400, "invalid", f"{where or 'the body'}: {first['msg']}", where) from error


async def _json(request: Request) -> Any:
    most = request.app.state.settings.body_bytes
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise ApiError(413, "too_long", f"expected a body of at most {most} bytes")
    try:
        values = json.loads(content, parse_constant=_no_number)
        _require_text(values)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "invalid", f"expected a body in JSON: {error}") from error
    return values


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _require_text(values: Any) -> None:
    """Refuses text that cannot be stored everywhere: characters 0, and halves of pairs."""
    match values:
        case str():
            if "\0" in values or any("\ud800" <= character <= "\udfff" for character in values):
                raise ValueError("text has a character 0 or half of a surrogate pair")
        case dict():
            for key, value in values.items():
                _require_text(key)
                _require_text(value)
        case list():
            for value in values:
                _require_text(value)
