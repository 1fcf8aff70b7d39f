"""Responses to requests."""

import json
import math
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.permissions import ForbiddenError
from rlds_kit.studio.accounts.signing import BadTokenError
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.database.errors import DatabaseError, NotFoundError, StaleError, TakenError
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError

with needs("studio"):
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

_HEADERS: Final = {"Cache-Control": "no-store"}

_CODES: Final[dict[type[Exception], tuple[int, str]]] = {
    ForbiddenError: (403, "forbidden"),
    NotFoundError: (404, "not_found"),
    StaleError: (409, "stale"),
    TakenError: (409, "taken"),
    BadTokenError: (401, "bad_token"),
    DatabaseError: (503, "database"),
    RequestFailedError: (422, "environment"),
    EnvironmentLostError: (422, "environment"),
}


def answer(values: Mapping[str, Any], status: int = 200) -> Response:
    """A response in JSON.

    Raises:
      ValueError: a value is NaN or infinite, which JSON cannot represent.
    """
    content = json.dumps({"v": 1, **values}, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(content, status, _HEADERS, "application/json")


def refusal(error: ApiError) -> Response:
    """The response for an error."""
    response = answer(error.as_json(), error.status)
    if error.retry_seconds is not None:
        response.headers["Retry-After"] = str(math.ceil(error.retry_seconds))
    return response


async def _refuse(request: Request, error: Exception) -> Response:
    del request
    return refusal(as_api_error(error))


def as_api_error(error: Exception) -> ApiError:
    """The response to a client after an error."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException):
        return ApiError(error.status_code, HTTPStatus(error.status_code).name.lower(), error.detail)
    for kind, (status, code) in _CODES.items():
        if isinstance(error, kind):
            return ApiError(status, code, str(error))
    return ApiError(500, "internal", "the studio failed; its log says why")


HANDLERS: Final[dict[Any, Callable[[Request, Exception], Any]]] = dict.fromkeys(
    (ApiError, HTTPException, *_CODES, Exception), _refuse
)
"""For `Starlette(exception_handlers=...)`."""
