"""What a service can do, as a table: its routes and its OpenAPI document are made of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.trials.service.service import Service
from rlds_kit.trials.service.tokens import Role, Token
from rlds_kit.trials.wire.values import WireError


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that is allowed and valid.

    Attributes:
      service: that executes it.
      token: of who sent it; None: anybody may.
      path: parameters in it.
      query: parameters behind it, each with all its values.
      body: the message; None: there is none.
    """

    service: Service
    token: Token | None
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing to request.

    Attributes:
      name: of it, as OpenAPI's operationId.
      method: of HTTP.
      path: with parameters in braces.
      summary: one line.
      role: that may; None: anybody.
      run: does it; returns a message, or a response.
      body: kind of the message of a request; None: there is none.
      answer: kind of the message of an answer; None: it is text.
      status: of HTTP if all is well.
      media_type: of the answer.
      query: parameters behind the path, with what they do.
    """

    name: str
    method: str
    path: str
    summary: str
    role: Role | None
    run: Callable[[Call], Awaitable[Any]]
    body: type[Any] | None = None
    answer: type[Any] | None = None
    status: int = 200
    media_type: str = "application/json"
    query: Mapping[str, str] = field(default_factory=dict)


def property_of(text: str) -> tuple[str, str]:
    """The key and the value of a property in a query.

    Raises:
      WireError: there is no "=".

    >>> property_of("curriculum=easy")
    ('curriculum', 'easy')
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise WireError(f"property: expected KEY=VALUE, got {text!r}")
    return key, value
