"""JSON to messages and back, and the schemas of all messages."""

import functools
import operator
from collections.abc import Iterable
from typing import Annotated, Any, Final, TypeVar

from rlds_kit.base.extras import needs
from rlds_kit.trials.wire.messages import Act, Ended, Join, Joined, Leave, Observe, Refused
from rlds_kit.trials.wire.values import WireError

with needs("trials"):
    from pydantic import Field, TypeAdapter, ValidationError
    from pydantic_core import PydanticSerializationError

FROM_PROGRAM: Final = (Join, Act, Leave)
"""Messages of a program that takes a seat."""
TO_PROGRAM: Final = (Joined, Observe, Ended, Refused)
"""Messages to it."""
MOST_BYTES: Final = 1 << 24
"""Of a message."""
_MOST_PROBLEMS: Final = 8
_WRITER: Final[TypeAdapter[Any]] = TypeAdapter(Any)
_adapters: Final[dict[Any, TypeAdapter[Any]]] = {}
Message = TypeVar("Message")


def _adapter(kinds: Any) -> TypeAdapter[Any]:
    if kinds not in _adapters:
        annotated: Any = Annotated  # of a type that is computed
        is_one = not isinstance(kinds, tuple)
        kind = kinds if is_one else annotated[functools.reduce(operator.or_, kinds), Field(discriminator="type")]
        _adapters[kinds] = TypeAdapter(kind)
    return _adapters[kinds]


def read(kind: type[Message], text: str | bytes) -> Message:
    """Reads a message of a kind.

    Raises:
      WireError: it is none; the text lists what was expected.

    >>> read(Leave, '{"type": "leave", "now": true}')
    Traceback (most recent call last):
    rlds_kit.trials.wire.values.WireError: now: Unexpected keyword argument
    """
    message: Message = _read(kind, text)
    return message


def read_any(kinds: tuple[type[Any], ...], text: str | bytes) -> Any:
    """Reads a message of one of several kinds, by its "type".

    Raises:
      WireError: it is none.

    >>> read_any(FROM_PROGRAM, '{"type": "act", "step": 3, "action": [0, 1]}').action
    [0, 1]
    """
    return _read(kinds, text)


def _read(kinds: Any, text: str | bytes) -> Any:
    try:
        return _adapter(kinds).validate_json(text)
    except ValidationError as error:
        problems = [_problem(each) for each in error.errors(include_url=False, include_context=False)[:_MOST_PROBLEMS]]
        raise WireError("; ".join(problems)) from error
    except (RecursionError, UnicodeError) as error:
        raise WireError(f"expected JSON in UTF-8, not nested too deeply: {type(error).__name__}") from error


def _problem(error: Any) -> str:
    where = ".".join(str(each) for each in error["loc"])
    return f"{where}: {error['msg']}" if where else str(error["msg"])


def write(message: Any) -> bytes:
    """The JSON of a message.

    Raises:
      WireError: it has a value that JSON cannot hold.

    >>> write(Ended(reason="a crash"))
    b'{"type":"ended","reason":"a crash"}'
    """
    try:
        return _WRITER.dump_json(message)
    except (PydanticSerializationError, ValueError) as error:
        raise WireError(f"expected values that JSON can hold: {error}") from error


def schemas(kinds: Iterable[type[Any]]) -> dict[str, Any]:
    """JSON schemas (2020-12) of messages by their names, with those that they refer to; as OpenAPI 3.1 has them.

    >>> sorted(schemas([Act]))
    ['Act', 'Reward', 'Text']
    """
    inputs: list[Any] = [(kind.__name__, "validation", _adapter(kind)) for kind in dict.fromkeys(kinds)]
    _, found = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")
    defined: dict[str, Any] = found["$defs"]
    return dict(sorted(defined.items()))
