"""Responses of the replay to errors of recordings."""

import functools
from collections.abc import Awaitable, Callable
from typing import Final

from rlds_kit.base.errors import DamagedError, FormatError, NotADatasetError, RecordingError
from rlds_kit.base.extras import needs
from rlds_kit.riegeli import RiegeliError
from rlds_kit.studio.api.answer import refusal
from rlds_kit.studio.api.errors import ApiError

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response

VERSION: Final = 1

Endpoint = Callable[[Request], Awaitable[Response]]


def answered(endpoint: Endpoint) -> Endpoint:
    """Turns errors of an endpoint into responses; unexpected ones are left to the server.

    So are errors of accounts and of the database; a server that has these converts them itself.
    """

    @functools.wraps(endpoint)
    async def wrapped(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ApiError as error:
            return refusal(error)
        except (DamagedError, RiegeliError) as error:
            return refusal(ApiError(422, "damaged", str(error), request.url.path))
        except (FormatError, NotADatasetError) as error:
            return refusal(ApiError(422, "unreadable", str(error), request.url.path))
        except (RecordingError, OSError) as error:
            return refusal(ApiError(500, "disk", str(error), request.url.path))

    return wrapped
