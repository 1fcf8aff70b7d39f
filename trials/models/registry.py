"""A registry of models: numbered versions in a folder, or below a URL that fsspec can write."""

import asyncio
import hashlib
import itertools
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from rlds_kit.trials.models.store import store_of
from rlds_kit.trials.models.version import (
    SUFFIXES,
    ModelError,
    ModelVersion,
    checked_content,
    checked_name,
    from_json,
)

LATEST: Final = "latest"
"""In place of a number: the newest version."""
_DIGITS: Final = 8
_JSON: Final = ".json"


class ModelRegistry:
    """Models with numbered versions, which never change.

    A version is there completely or not at all: its bytes are stored under their hash first, its description last. In a
    folder any number of processes may push at once; on object stores, one for each model.

    Args:
      place: a folder, or a URL of fsspec.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     registry = ModelRegistry(folder)
    ...     _ = registry.push("pong", b"weights", suffix=".onnx", metadata={"return": 12.5})
    ...     version = registry.push("pong", b"better weights", suffix=".onnx")
    ...     version.number, registry.get("pong", 1).metadata, registry.read(version)
    (2, {'return': 12.5}, b'better weights')
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place: Final = os.fspath(place)
        self._store = store_of(self.place)

    def push(
        self, name: str, model: bytes | os.PathLike[str], *, suffix: str = "", metadata: Mapping[str, Any] | None = None
    ) -> ModelVersion:
        """Adds a version; returns when it is on the disk.

        Args:
          name: of the model.
          model: its bytes, or a file.
          suffix: ".onnx" or ".pt2"; "": that of the file.
          metadata: anything that JSON can hold.

        Raises:
          ModelError: the name or the suffix cannot be used.
          OSError: it cannot be written.
        """
        content = model if isinstance(model, bytes) else Path(model).read_bytes()
        suffix = suffix or ("" if isinstance(model, bytes) else Path(model).suffix)
        if suffix not in SUFFIXES:
            raise ModelError(f"{name}: expected one of the suffixes {', '.join(SUFFIXES)}, got {suffix!r}")
        digest = hashlib.sha256(content).hexdigest()
        self._store.write(f"{checked_name(name)}/{digest}{suffix}", content)
        for number in itertools.count(max(self.numbers(name), default=0) + 1):
            version = ModelVersion(
                name=name, number=number, sha256=digest, suffix=suffix, size=len(content), metadata=metadata or {}
            )
            if self._store.create(_described(name, number), version.to_json().encode()):
                return version
        raise AssertionError  # there is always a next number

    def names(self) -> list[str]:
        """Of all models."""
        return [name for name in self._store.names("") if self.numbers(name)]

    def numbers(self, name: str) -> list[int]:
        """Of all versions of a model, in order; none if there is no such model."""
        found = (PurePosixPath(each) for each in self._store.names(checked_name(name)))
        return sorted(int(each.stem) for each in found if each.suffix == _JSON and each.stem.isdecimal())

    def get(self, name: str, number: int | str = LATEST) -> ModelVersion:
        """A version.

        Args:
          name: of the model.
          number: of the version, or "latest".

        Raises:
          ModelError: there is none.
        """
        numbers = self.numbers(name)
        wanted = numbers[-1] if number == LATEST and numbers else number
        if wanted not in numbers:
            known = f"versions {numbers[0]} to {numbers[-1]}" if numbers else "no version"
            raise ModelError(f"{self.place}: model {name!r} has {known}, and no {number!r}")
        path = _described(name, int(wanted))
        return from_json(self._store.read(path), f"{self.place}/{path}")

    def read(self, version: ModelVersion) -> bytes:
        """The bytes of a version.

        Raises:
          ModelError: they are not those that were pushed.
          OSError: they cannot be read.
        """
        path = f"{version.name}/{version.sha256}{version.suffix}"
        return checked_content(self._store.read(path), version.sha256, f"{self.place}/{path}")

    async def watch(self, name: str, *, after: int = 0, every: float = 1.0) -> AsyncGenerator[ModelVersion, None]:
        """Versions of a model as they come, also those that other processes and machines push; it does not end.

        Args:
          name: of the model, which need not be there yet.
          after: number of the last version that is known already.
          every: seconds between two looks.
        """
        while True:
            for number in await asyncio.to_thread(self.numbers, name):
                if number > after:
                    after = number
                    yield await asyncio.to_thread(self.get, name, number)
            await asyncio.sleep(every)


def _described(name: str, number: int) -> str:
    return f"{name}/{number:0{_DIGITS}}{_JSON}"
