"""The interface of the studio for a task; `rlds_kit.studio.tasks`, on a higher floor, implements it."""

from pathlib import Path
from typing import Any, Protocol

from rlds_kit.base.extras import needs
from rlds_kit.base.strict_json import from_json

with needs("studio"):
    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection, Request

MOST_BYTES = 1 << 20
"""Maximum bytes of the body of a request."""


class Person(Protocol):
    """A person who does a task."""

    @property
    def id(self) -> str:
        """A pseudonym."""

    @property
    def is_designer(self) -> bool:
        """Whether the person may see the results of all."""


class Host(Protocol):
    """The studio, as a task uses it."""

    @property
    def directory(self) -> Path:
        """The directory for recordings."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules that register environments."""

    def person(self, connection: HTTPConnection, /) -> Person:
        """The sender of a request."""


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request.

    Raises:
      HTTPException: it is not a JSON object, is too long, or has values that cannot be stored.
    """
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BYTES:
            raise HTTPException(413, f"expected a body of at most {MOST_BYTES} bytes")
    try:
        found = from_json(content)
    except ValueError as error:
        raise HTTPException(400, f"expected a body in JSON: {error}") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "expected an object of JSON")
    return found
