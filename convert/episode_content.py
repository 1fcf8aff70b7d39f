"""Digests of the content of an episode that is converted.

Equal for equal values: dtype, shape and bytes of arrays and numbers, text, bytes and nests of these. A Python number, a
NumPy scalar and an array without dimensions of the same dtype are equal; so are fields that no row has, and no field.

The values of a field are one stream, and so are those at each place in a nest: the kinds of consecutive values, with
their counts, and their bytes. So a column has the same digest as its rows, and is many times faster to hash.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import xxhash

from rlds_kit.convert.protocol import ForeignEpisode, Row
from rlds_kit.convert.rows import Rows
from rlds_kit.storage.array_rows import length_of, value_at

_INT64: Final = range(-(2**63), 2**63)
_PLAIN: Final = frozenset((str, bytes, type(None), dict))
_ABSENT: Final = b"absent"


def same(a: Any, b: Any) -> bool:
    """Whether two values have equal digests, and so the same dtypes, shapes and bits.

    >>> same({"weights": np.ones(2)}, {"weights": np.ones(2)}), same(1, 1.0)
    (True, False)
    """
    digests = []
    for value in (a, b):
        streams = _Streams()
        streams.add("", value)
        digests.append(streams.digest())
    return digests[0] == digests[1]


def content_of(episode: ForeignEpisode) -> bytes:
    """The digest of an episode, 16 bytes: of its steps, metadata, seed, options and end."""
    streams = _Streams()
    fields = _Fields(streams)
    for rows in (episode.observed, episode.acted):
        if isinstance(rows, Rows):
            fields.add_columns(rows)
        else:
            for number, row in enumerate(rows):
                fields.add_row(number, row)
    about = (dict(episode.metadata), episode.seed, episode.options)
    for name, value in zip(("metadata", "seed", "options"), about, strict=True):
        streams.add(name, value)
    ended = f"{episode.end.value} {episode.terminated} {episode.truncated}"
    streams.add("end", f"{len(episode.observed)} steps, {len(episode.acted)} actions, {ended}")
    return streams.digest()


class _Fields:
    """The fields of steps as streams."""

    def __init__(self, streams: "_Streams") -> None:
        self._streams = streams
        self._next: dict[str, int] = {}

    def add_row(self, number: int, row: Row) -> None:
        """The fields of one step."""
        for name, value in row.items():
            self._streams.add(self._path(name, number, 1), value)

    def add_columns(self, rows: Rows) -> None:
        """The fields of all steps that a view of columns has."""
        for name, column in rows.columns.items():
            begin = rows.begin.get(name, 0)
            count = min(length_of(column), len(rows) - begin)
            if count > 0:
                self._streams.add_column(self._path(name, begin, count), column, count)

    def _path(self, name: str, number: int, count: int) -> str:
        """The stream of a field that has values for some steps; those before that have none count."""
        path = f"field {name!r}"
        before = number - self._next.get(name, 0)
        if before:
            self._streams.put(path, _ABSENT, b"", before)
        self._next[name] = number + count
        return path


class _Streams:
    """Streams by their place in a nest."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def digest(self) -> bytes:
        """The digest of all streams, 16 bytes."""
        total = xxhash.xxh3_128()
        for path, stream in sorted(self._streams.items()):
            total.update(_framed(path) + stream.digest())
        return total.digest()

    def put(self, path: str, kind: bytes, data: bytes | memoryview, count: int = 1) -> None:
        """Adds values of one kind."""
        stream = self._streams.get(path)
        if stream is None:
            stream = self._streams[path] = _Stream()
        stream.put(kind, data, count)

    def add(self, path: str, value: Any) -> None:
        """Adds a value."""
        match value:
            case np.ndarray():
                self.put(path, _kind(value.dtype, value.shape), value.tobytes())
            case None | str() | bytes():
                self.put(path, *_plain(value))
            case Mapping():
                self.put(path, _keys(value), b"")
                for key, each in value.items():
                    self.add(f"{path}/{key!r}", each)
            case tuple() | list():
                self.put(path, b"%s %d" % (b"tuple" if isinstance(value, tuple) else b"list", len(value)), b"")
                for each in value:
                    self.add(f"{path}[]", each)
            case int() if value not in _INT64:
                self.put(path, b"int %x" % value, b"")
            case _:
                array = np.asarray(value)
                self.put(path, _kind(array.dtype, array.shape), array.tobytes())

    def add_column(self, path: str, column: Any, count: int) -> None:
        """Adds the first values of a column, or of a dict of columns."""
        if isinstance(column, np.ndarray):
            data = np.ascontiguousarray(column[:count]).reshape(-1).view(np.uint8)  # no copy
            self.put(path, _kind(column.dtype, column.shape[1:]), data.data, count)
        elif isinstance(column, dict):
            self.put(path, _keys(column), b"", count)
            for key, each in column.items():
                self.add_column(f"{path}/{key!r}", each, count)
        elif isinstance(column, list) and _is_one(column[:count]):
            kind, text = _plain(column[0])
            self.put(path, kind, text * count, count)
        else:
            for row in range(count):
                self.add(path, value_at(column, row))


class _Stream:
    """Values one after the other."""

    __slots__ = ("_count", "_kind", "_kinds", "_values")

    def __init__(self) -> None:
        self._kinds, self._values = xxhash.xxh3_128(), xxhash.xxh3_128()
        self._kind, self._count = b"", 0

    def put(self, kind: bytes, data: bytes | memoryview, count: int) -> None:
        """Adds values of one kind."""
        if kind != self._kind:
            self._end_run()
            self._kind = kind
        self._count += count
        self._values.update(data)

    def digest(self) -> bytes:
        """The digest of the stream."""
        self._end_run()
        return self._kinds.digest() + self._values.digest()

    def _end_run(self) -> None:
        if self._count:
            self._kinds.update(b"%d %d " % (self._count, len(self._kind)) + self._kind)
        self._count = 0


def _is_one(values: Sequence[Any]) -> bool:
    """Whether all values are the same text, None or empty dict, such as the task of an episode, and most infos."""
    first = values[0]
    is_plain = type(first) in _PLAIN and (type(first) is not dict or not first)
    return is_plain and set(map(type, values)) == {type(first)} and values.count(first) == len(values)


def _plain(value: str | bytes | Mapping[Any, Any] | None) -> tuple[bytes, bytes]:
    """The kind and the bytes of a value that is no number and has no parts."""
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return b"text %d" % len(text), text
    if isinstance(value, bytes):
        return b"bytes %d" % len(value), value
    return (b"none", b"") if value is None else (_keys(value), b"")


def _keys(value: Mapping[Any, Any]) -> bytes:
    return f"dict {sorted(map(repr, value))}".encode("utf-8", "surrogatepass")


@functools.lru_cache(4096)
def _kind(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    return f"{dtype.str} {shape}".encode()


def _framed(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "little") + data
