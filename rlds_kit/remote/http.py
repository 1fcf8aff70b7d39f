"""A directory of a web server: range requests, every response validated. `checksums.txt` lists the files.

Requests use the session of fsspec's HTTP file system, which has the caller's headers and certificates. They are made
here because responses must be validated: servers without range support send the whole file, and a file may have changed
since the last request.

RFC 9110, sections 13 to 15: https://www.rfc-editor.org/rfc/rfc9110
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.remote.address import HTTP, Address
from rlds_kit.remote.checksums import CHECKSUMS, listed_checksums
from rlds_kit.remote.errors import RemoteError, TransientError
from rlds_kit.remote.store import FsspecStore, Info, Listed, Naming, Store

FIRST_BYTES: Final = 8 << 10
"""Bytes that are requested to find out size and version of a file; for a shard they contain its header."""
CONNECT_SECONDS: Final = 15
SILENCE_SECONDS: Final = 60
"""Timeout in seconds for a server that sends nothing."""
_CONTENT_RANGE: Final = re.compile(r"bytes (?:(?P<begin>\d{1,18})-(?P<end>\d{1,18})|\*)/(?P<size>\d{1,18})", re.ASCII)
_BUSY: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_DENIED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    data: bytes


class HttpStore:
    """A directory of a web server.

    Args:
      address: of the directory.
      options: of fsspec's HTTP file system, such as `headers` or `client_kwargs`.

    Raises:
      MissingExtraError: aiohttp is not installed.
    """

    def __init__(self, address: Address, options: Mapping[str, Any]) -> None:
        with needs("remote"):
            import aiohttp
        import fsspec

        self._address, self._naming = address, Naming.of(address, options)
        self._system: Any = fsspec.filesystem("https", **options)  # fsspec has no types
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        self._failures: tuple[type[Exception], ...] = (aiohttp.ClientError, TimeoutError, OSError)

    def listing(self) -> Mapping[str, Listed]:
        """The files that `checksums.txt` names."""
        shown = self._address.shown(CHECKSUMS)
        try:
            answer = self._get(CHECKSUMS, None)
        except FileNotFoundError:
            raise RemoteError(
                f"{shown} is not there. A web server has no list of its files that can be relied on, so {CHECKSUMS} "
                "must name them: `rlds-kit publish` writes it, or on the server in the dataset's directory "
                f"`sha256sum closed-*.json episodes-*.riegeli dataset.json > {CHECKSUMS}`"
            ) from None
        sums = listed_checksums(answer.data.decode("utf-8", "replace"), shown)
        return {name: Listed(sha256=sha256) for name, sha256 in sums.items()}

    def first(self, name: str) -> tuple[Info, bytes]:
        """Requests the first bytes of a file; the response contains size and version."""
        answer = self._get(name, (0, FIRST_BYTES))
        return self._info(name, answer, 0), answer.data

    def read(self, name: str, begin: int, end: int, info: Info) -> bytes:
        """Reads bytes of a file."""
        answer = self._get(name, (begin, end))
        found = self._info(name, answer, begin)
        if found != info:
            raise self._naming.changed(name, info, f"{found.size} and {found.version or 'unknown'}")
        if len(answer.data) != end - begin:
            raise TransientError(f"expected {end - begin} bytes, got {len(answer.data)}")
        return answer.data

    def confirm(self, infos: Mapping[str, Info]) -> None:
        """Does nothing: every response already contained its version."""

    def _info(self, name: str, answer: _Answer, begin: int) -> Info:
        matched = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if matched is None:
            raise RemoteError(f"{self._address.shown(name)}: the response does not state which bytes it has")
        if matched["begin"] is not None:
            first, after = int(matched["begin"]), int(matched["end"]) + 1
            if (first, len(answer.data)) != (begin, after - first):
                got = f"{len(answer.data)} bytes that are declared as {first} to {after}"
                raise TransientError(f"expected bytes from {begin} on, got {got}")
        modified = answer.headers.get("Last-Modified", "")
        found = [("ETag", answer.headers.get("ETag", "")), ("modified", modified)]
        version = " ".join(f"{key}={value.removeprefix('W/')}" for key, value in found if value)
        return Info(int(matched["size"]), version, _timestamp(modified))

    def _get(self, name: str, wanted: tuple[int, int] | None) -> _Answer:
        """Sends a request and returns the response, if it is valid."""
        from fsspec.asyn import sync

        try:
            answer: _Answer = sync(self._system.loop, self._request, self._address.of(name), wanted)
        except self._failures as error:
            kind, text = type(error).__name__, self._naming.plain(error)
            raise TransientError(kind if text == kind else f"{kind}: {text}") from None
        except asyncio.CancelledError:
            raise TransientError("the request was broken off") from None
        self._require_good(name, answer, wanted)
        return answer

    async def _request(self, url: str, wanted: tuple[int, int] | None) -> _Answer:
        session = await self._system.set_session()
        options = {**self._system.kwargs}
        headers = {**options.pop("headers", {}), "Accept-Encoding": "identity"}
        if wanted is not None:
            headers["Range"] = f"bytes={wanted[0]}-{wanted[1] - 1}"
        url = self._system.encode_url(url)
        async with session.get(url, headers=headers, timeout=self._timeout, **options) as answer:
            is_useful = answer.status == HTTPStatus.PARTIAL_CONTENT or (wanted is None and answer.ok)
            return _Answer(answer.status, answer.headers, await answer.read() if is_useful else b"")

    def _require_good(self, name: str, answer: _Answer, wanted: tuple[int, int] | None) -> None:
        status = answer.status
        expected = HTTPStatus.OK if wanted is None else HTTPStatus.PARTIAL_CONTENT
        if status == expected or (status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and wanted is not None):
            return  # 416 contains the size, which is smaller than before
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            raise FileNotFoundError(self._address.shown(name))
        if status in _DENIED:
            raise self._naming.denied(name, f"HTTP status {status}")
        if status in _BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise TransientError(f"HTTP status {status}")
        if status == HTTPStatus.OK:
            raise RemoteError(
                f"{self._address.shown(name)}: the server sends whole files only, and no byte ranges; serve the "
                "dataset with one that does (nginx, Apache, Caddy, object stores; not Python's http.server), "
                "or download it and open the directory"
            )
        raise RemoteError(f"{self._address.shown(name)}: HTTP status {status}; check the URL")


def _timestamp(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return 0.0


def store_of(address: Address, options: Mapping[str, Any]) -> Store:
    """Returns the reader of the directory at an address."""
    make: Callable[[Address, Mapping[str, Any]], Store] = FsspecStore
    if address.url.startswith(HTTP):
        from rlds_kit.remote.http import HttpStore  # imports asyncio

        make = HttpStore
    return make(address, options)
