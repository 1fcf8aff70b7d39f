"""URLs of directories: the address for requests, and a form for messages that contains no credentials."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from rlds_kit.remote.errors import NotLocalError

CHAIN: Final = "::"
"""Between the parts of a URL of fsspec such as zip://pong::https://host/pong.zip."""
HTTP: Final = ("http://", "https://")
LOCAL: Final = ("file://", "local://")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
_MANGLED: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):[/\\]+")
_SECRET_LENGTH: Final = 4
"""Shorter values of options, such as the name of a region, are not removed from messages: they occur in other words."""


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of a directory.

    Attributes:
      url: as given, without a slash at its end and without `query`.
      query: of an HTTP URL, with its question mark: often a signature. It is part of every request.
    """

    url: str
    query: str = ""

    def of(self, name: str) -> str:
        """The URL of a file in the directory.

        >>> parse("https://host/pong/?key=1").of("dataset.json")
        'https://host/pong/dataset.json?key=1'
        >>> parse("zip://pong::/data/pong.zip").of("dataset.json")
        'zip://pong/dataset.json::/data/pong.zip'
        """
        first, chain, rest = self.url.partition(CHAIN)
        encoded = quote(name) if first.startswith(HTTP) else name
        between = "" if first.endswith("/") or not name else "/"
        return f"{first}{between}{encoded}{chain}{rest}{self.query}"

    def shown(self, name: str = "") -> str:
        """The URL of a file, or of the directory, for messages: without passwords and queries.

        >>> parse("https://me:secret@host/pong?key=1").shown("dataset.json")
        'https://host/pong/dataset.json'
        """
        parts = Address(self.url).of(name).split(CHAIN)
        return CHAIN.join(re.sub(r"(?<=://)[^/@]*@", "", re.sub(r"\?.*", "", part)) for part in parts)

    def secrets(self) -> list[str]:
        """The texts that must not appear in messages."""
        parts = self.url.split(CHAIN)
        found = [self.query.removeprefix("?"), *(part.partition("?")[2] for part in parts)]
        return found + [password for part in parts if (password := urlsplit(part).password)]


def parse(text: str) -> Address:
    """Parses a URL."""
    query = ""
    if text.startswith(HTTP) and CHAIN not in text:
        text, mark, query = text.partition("#")[0].partition("?")
        query = mark + query
    first, chain, rest = text.partition(CHAIN)
    bare = first.rstrip("/")
    return Address((first if bare.endswith(":") else bare) + chain + rest, query)


def is_url(text: str) -> bool:
    r"""Whether a text is a URL, or a chain of URLs, and not a path.

    >>> is_url("s3://bucket/pong"), is_url("zip::s3://bucket/pong.zip"), is_url("data/pong"), is_url("C:\\data\\pong")
    (True, True, False, False)
    """
    return _URL.match(text) is not None


def local_path(text: str) -> str | None:
    """The path of a URL of a local file; None for any other URL.

    >>> local_path("file:///data/pong%20new"), local_path("s3://bucket/pong")
    ('/data/pong new', None)
    """
    if not text.startswith(LOCAL) or CHAIN in text:
        return None
    return unquote(urlsplit(text).path)


def require_local(path: str | os.PathLike[str]) -> None:
    """Raises an error for a URL where only local paths can be written, also in the form "s3:/bucket" that `Path` makes.

    Raises:
      NotLocalError: it is a URL.

    >>> require_local("s3://bucket/pong")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rlds_kit.remote.errors.NotLocalError: s3://bucket/pong: datasets are written to directories of this machine, ...
    """
    text = os.fspath(path)
    if _MANGLED.match(text) or is_url(text):
        shown = parse(_MANGLED.sub(r"\1://", text)).shown()
        raise NotLocalError(
            f"{shown}: datasets are written to directories of this machine, not to URLs; write to a directory, then "
            f"`rlds-kit publish DIRECTORY {shown}`"
        )


def secrets_in(options: Any) -> Iterable[str]:
    """The values in options of a file system that must not appear in messages: all that are long enough."""
    if isinstance(options, Mapping):
        for value in options.values():
            yield from secrets_in(value)
    elif isinstance(options, list | tuple):
        for value in options:
            yield from secrets_in(value)
    elif isinstance(options, str | bytes):
        text = options if isinstance(options, str) else options.decode("utf-8", "replace")
        if len(text) >= _SECRET_LENGTH:
            yield text
