"""The names that specs may carry: those that protobuf and JSON can store."""

from rlds_kit.base.errors import SpecError


def utf8(text: str, what: str) -> str:
    """`text`, which must be a string that UTF-8 can hold.

    Raises:
      SpecError: it is not; `what` describes its purpose.
    """
    if not isinstance(text, str):
        raise SpecError(f"expected a string as {what}, got {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SpecError(f"expected a {what} without lone surrogates, got {text!r}") from error
    return text
