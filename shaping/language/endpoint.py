"""A language model behind an OpenAI-compatible endpoint on a local address: llama.cpp, vLLM, Ollama, LM Studio.

Manuals and recordings may be confidential, so they are sent to this machine and its network only: proxies of the
environment are not used, and redirections are not followed.
"""

import http.client
import ipaddress
import json
import math
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from rlds_kit.shaping.language.model import ModelError
from rlds_kit.shaping.manuals.model_reply import ModelReply

CANDIDATES: Final = 20
"""Requested candidates for the first token: as many as the protocol allows."""
_PATH: Final = "/chat/completions"
_MOST_BYTES: Final = 1 << 24
_MOST_SHOWN: Final = 200
_HINTS: Final = {
    401: "pass the key of the server",
    403: "pass the key of the server",
    404: "is the address that of an OpenAI-compatible server, with its /v1, and does it have this model?",
    429: "the server is busy: try again later; its replies so far are in the cache",
    503: "the server is busy, or loads the model: try again later; its replies so far are in the cache",
}


@dataclass(frozen=True)
class Endpoint:
    """A model of a server.

    Attributes:
      url: of the server, with the path before `/chat/completions`: "http://127.0.0.1:8080/v1".
      model: its name on the server.
      seed: of its random numbers; the temperature is 0.
      key: an API key that some servers require; neither shown nor stored.
      seconds: timeout for each part of a response.

    Raises:
      ModelError: the address is not one of http or https, has spaces, or its path has other characters than ASCII.

    >>> Endpoint("http://127.0.0.1:8080/v1", "qwen3-4b").fingerprint
    'chat-1 model=qwen3-4b seed=0 temperature=0'
    """

    url: str
    model: str
    seed: int = 0
    key: str = field(default="", repr=False)
    seconds: float = 300.0

    def __post_init__(self) -> None:
        try:
            parts = self._parts
            is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:
            is_address = False
        if is_address:
            is_address = self.url.isprintable() and " " not in self.url and parts.path.isascii()
        if not is_address or "@" in self.url or parts.query or parts.fragment:
            raise ModelError(f"expected an address such as http://127.0.0.1:8080/v1, got {self.url!r}")
        if not (self.key.isascii() and self.key.isprintable()):
            raise ModelError("expected a key of printable ASCII characters, got others")

    @property
    def fingerprint(self) -> str:
        """See `LanguageModel`; the address is not a part of it."""
        return f"chat-1 model={self.model} seed={self.seed} temperature=0"

    def say(self, system: str, prompt: str, *, most_tokens: int) -> ModelReply:
        """See `LanguageModel`."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = {
            "model": self.model,
            "messages": messages,
            "max_tokens": most_tokens,
            "temperature": 0,
            "seed": self.seed,
            "logprobs": True,
            "top_logprobs": CANDIDATES,
            "stream": False,
        }
        answer = self._answer(json.dumps(body).encode())
        try:
            content = json.loads(answer)
            choice = content["choices"][0]
            text = _text(choice["message"]["content"])
            version = content.get("system_fingerprint")
            model = f"{self.model} {_text(version)}" if version else self.model
            return ModelReply(model, self.seed, system, prompt, text, tuple(_candidates(choice)))
        except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError) as error:
            raise ModelError(
                f"{self._address}: expected an answer of the OpenAI protocol, got {_shown(answer)!r} "
                f"({type(error).__name__}: {error}): is the server OpenAI-compatible?"
            ) from error

    @cached_property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)

    @cached_property
    def _address(self) -> str:
        return self.url.rstrip("/") + _PATH

    @cached_property
    def _port(self) -> int:
        return self._parts.port or (443 if self._parts.scheme == "https" else 80)

    def _answer(self, body: bytes) -> bytes:
        """The body of the response to a request.

        Raises:
          ModelError: there is none, or its status is not 200.
        """
        self._require_local()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(self._parts.hostname), self._port, timeout=self.seconds)
        try:
            connection.request("POST", urlsplit(self._address).path, body, headers)
            response = connection.getresponse()
            answer = response.read(_MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(
                f"{self._address}: no answer ({type(error).__name__}: {error}): is the server running? Start it, or "
                "read offline what is in the cache"
            ) from error
        finally:
            connection.close()
        if len(answer) > _MOST_BYTES:
            raise ModelError(f"{self._address}: expected an answer of at most {_MOST_BYTES:,} bytes, got more")
        if response.status != http.HTTPStatus.OK:
            raise ModelError(self._refusal(response.status, answer))
        return answer

    def _require_local(self) -> None:
        host = str(self._parts.hostname)
        try:
            found = socket.getaddrinfo(host, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ModelError(f"{self.url}: expected the address of a server, got an unknown name: {error}") from error
        addresses = [str(each[4][0]) for each in found]
        far = [each for each in addresses if not ipaddress.ip_address(each.partition("%")[0]).is_private]
        if far:
            raise ModelError(
                f"{self.url}: expected an address of this machine or its network, got {far[0]}: manuals and recordings "
                "are not sent elsewhere"
            )

    def _refusal(self, status: int, answer: bytes) -> str:
        hint = _HINTS.get(status, "see the log of the server")
        return f"{self._address}: expected status 200, got {status}: {_shown(answer)!r}: {hint}"


def _candidates(choice: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The candidates for the first token, if the server reports them; those with a probability of 0 are left out."""
    tokens = (choice.get("logprobs") or {}).get("content") or []
    for each in tokens[0]["top_logprobs"] if tokens else []:
        token, logarithm = _text(each["token"]), float(each["logprob"])
        if math.isfinite(logarithm):
            yield token, min(logarithm, 0.0)


def _text(value: object) -> str:
    """A text without lone surrogates, which UTF-8 cannot encode."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {type(value).__name__}")
    return value.encode(errors="replace").decode()


def _shown(answer: bytes) -> str:
    return answer[:_MOST_SHOWN].decode(errors="replace")
