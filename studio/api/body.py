"""Reads the JSON of a request."""

from typing import Any, Final, TypeVar

from rlds_kit.base.extras import needs
from rlds_kit.base.strict_json import from_json
from rlds_kit.studio.api.errors import ApiError

with needs("studio"):
    from pydantic import BaseModel, ValidationError
    from starlette.requests import Request

M = TypeVar("M", bound=BaseModel)
_MOST_NAMED: Final = 20
"""Maximum number of parts of a request that one error names."""


async def read(request: Request, model: type[M]) -> M:
    """The body of a request.

    Raises:
      ApiError: it is too long, not JSON, or does not match the model; `where` names the part.
    """
    return checked(await _json(request), model)


def checked(values: Any, model: type[M]) -> M:
    """Validates values as a model.

    Raises:
      ApiError: they do not fit; the message names every part that does not fit, and `where` names the first.
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
        return from_json(content)
    except ValueError as error:
        raise ApiError(400, "invalid", f"expected a body in JSON: {error}") from error
