"""One version of a model, and what can be wrong with it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError

SUFFIXES: Final = (".onnx", ".pt2")
"""Of files that actors can use: ONNX, and what `torch.export.save` writes."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class ModelError(RldsKitError, ValueError):
    """There is no such model, or its bytes are not those that were pushed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVersion:
    """A version of a model, which never changes.

    Attributes:
      name: of the model.
      number: from 1.
      sha256: of its bytes, in hexadecimal digits.
      suffix: of its file, as ".onnx".
      size: in bytes.
      metadata: anything that JSON can hold.
    """

    name: str
    number: int
    sha256: str
    suffix: str
    size: int
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of its description."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}, indent=1, default=dict)


def from_json(text: str | bytes, where: str) -> ModelVersion:
    """Reads a description.

    Args:
      text: of it.
      where: it was found, for errors.

    Raises:
      ModelError: it is not a description.

    >>> version = ModelVersion(name="pong", number=1, sha256="ab" * 32, suffix=".onnx", size=7, metadata={"loss": 0.5})
    >>> from_json(version.to_json(), "here") == version
    True
    """
    try:
        version = ModelVersion(**json.loads(text))
        sound = _HASH.fullmatch(version.sha256) and version.suffix in SUFFIXES and _NAME.fullmatch(version.name)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{where}: expected the description of a model's version: {error}") from error
    if not sound:
        raise ModelError(f"{where}: expected a name, a SHA-256 and a suffix of {', '.join(SUFFIXES)}, got {version}")
    return version


def checked_name(name: str) -> str:
    """A name that can be a folder's.

    Raises:
      ModelError: it cannot.

    >>> checked_name("pong-dqn.small")
    'pong-dqn.small'
    """
    if not _NAME.fullmatch(name):
        raise ModelError(f"expected letters, digits, '.', '_' and '-' as the name of a model, got {name!r}")
    return name


def checked_content(content: bytes, sha256: str, where: str) -> bytes:
    """The bytes of a model, if they have the hash.

    Raises:
      ModelError: they have another one.

    >>> checked_content(b"", hashlib.sha256().hexdigest(), "empty.onnx")
    b''
    """
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ModelError(f"{where}: expected the SHA-256 {sha256}, got {found}; get the file again")
    return content
