"""The content digest of an episode: equal for equal content, independent of blocks and compression.

For each leaf, in the order of (path, kind, dtype, rank): XXH3-128 over the rows that have a value (uint64), over the
shapes (uint64), and over the values (C order, little-endian). The episode's digest is the XXH3-128 over all of these,
then the metadata, seed, options and ending. UUID, clock times, undefined values and block layout are left out. It
detects accidental changes, not forgery.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import is_clock
from rlds_kit.spec import dtypes
from rlds_kit.storage import block, leaf_states
from rlds_kit.storage.column import Column, storage_dtype
from rlds_kit.storage.column_encoder import NO_HASHES, Hashes, is_hashed_while_encoded
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.running_hash import RunningHash

Identity = tuple[str, int, str, int]
_PLAIN_KINDS: Final = frozenset("biufc")
"""Of dtypes whose arrays have the bytes that are hashed."""


CACHED_ROWS: Final = 1 << 12
"""Hashes of the numbers of up to so many consecutive rows, and of their equal shapes, are cached."""
_NUMBERS: Final = np.arange(CACHED_ROWS, dtype="<u8")
_PIECE: Final = 1 << 16
"""Numbers or shapes of so many rows are hashed at a time."""


class _Rows:
    """The running hash of the numbers of rows; hashes consecutive ones when they end."""

    __slots__ = ("_first", "_hash", "_stop")

    def __init__(self, first: int, stop: int) -> None:
        self._first, self._stop = first, stop
        self._hash = xxhash.xxh3_128()

    def update(self, rows: np.ndarray) -> None:
        first, stop = int(rows[0]), int(rows[-1]) + 1
        is_run = stop - first == len(rows)
        if is_run and first == self._stop:
            self._stop = stop
            return
        self._add_run()
        self._first, self._stop = (first, stop) if is_run else (stop, stop)
        if not is_run:
            self._hash.update(rows.astype("<u8").data)

    def digest(self) -> bytes:
        self._add_run()
        return self._hash.digest()

    def _add_run(self) -> None:
        for at in range(self._first, self._stop, _PIECE):
            self._hash.update(np.arange(at, min(at + _PIECE, self._stop), dtype="<u8").data)
        self._first = self._stop


class _Shapes:
    """The running hash of shapes; hashes equal ones when others follow."""

    __slots__ = ("_count", "_hash", "_shape")

    def __init__(self, shape: tuple[int, ...], count: int) -> None:
        self._shape, self._count = shape, count
        self._hash = xxhash.xxh3_128()

    def update(self, column: Column) -> None:
        shape = column.values.shape[1:]
        if column.shapes is None and shape == self._shape:
            self._count += len(column.rows)
            return
        self._add_equal()
        if column.shapes is None:
            self._shape, self._count = shape, len(column.rows)
        else:
            self._hash.update(column.shapes.astype("<u8").tobytes())

    def digest(self) -> bytes:
        self._add_equal()
        return self._hash.digest()

    def _add_equal(self) -> None:
        shape = shape_bytes(self._shape)
        for at in range(0, self._count, _PIECE):
            self._hash.update(shape * min(_PIECE, self._count - at))
        self._count = 0


class _Leaf:
    """The three running hashes of one leaf.

    As long as rows follow each other and shapes are equal, only values are hashed: most leaves need no more.

    Attributes:
      values: the hash of values; a `RunningHash` in a writer that hashes them while they are encoded.
    """

    __slots__ = ("_first", "_others", "_shape", "_stop", "values")

    def __init__(
        self, first: int, shape: tuple[int, ...], values: "RunningHash | xxhash.xxh3_128", stop: int | None = None
    ) -> None:
        self._first, self._stop = first, first if stop is None else stop
        self._shape = shape
        self._others: tuple[_Rows, _Shapes] | None = None
        self.values = values

    def update(self, column: Column, are_values_hashed: bool) -> None:
        rows, values = column.rows, column.values
        count = len(rows)
        stop = self._stop + count
        if (
            self._others is None
            and column.shapes is None
            and values.shape[1:] == self._shape
            and rows[0] == self._stop
            and rows[-1] == stop - 1
        ):
            self._stop = stop
        else:
            rows_hash, shapes_hash = self._apart()
            rows_hash.update(rows)
            shapes_hash.update(column)
        if are_values_hashed:
            return
        if _is_plain(values):
            self.values.update(values.data)
        elif values.size:
            self.values.update(dtypes.little_endian(values).reshape(-1).view(np.uint8).data)

    def extend(self, first: int, stop: int, shape: tuple[int, ...], values: memoryview) -> bool:
        """Adds rows of one shape that follow the earlier ones; False if they do not, or shapes differ."""
        if self._others is not None or first != self._stop or shape != self._shape:
            return False
        self._stop = stop
        self.values.update(values)
        return True

    def digest(self) -> bytes:
        if self._others is None and self._stop - self._first <= CACHED_ROWS:
            return digests_of_run(self._first, self._stop, shape_bytes(self._shape)) + self.values.digest()
        rows, shapes = self._apart()
        return rows.digest() + shapes.digest() + self.values.digest()

    def _apart(self) -> tuple[_Rows, _Shapes]:
        """The hashes of rows and shapes that need not be alike."""
        if self._others is None:
            self._others = _Rows(self._first, self._stop), _Shapes(self._shape, self._stop - self._first)
        return self._others


LeafValues: TypeAlias = tuple[ColumnKey, Identity | None, tuple[int, ...], int, int, memoryview]
"""The values of a column in rows `[first, stop)`, all of which have one of this shape: its key, its `identity_of`, the
shape, `first`, `stop`, and the bytes of the values. Made in a fifth of the time of a NamedTuple, for each block."""


class _WholeLeaf(NamedTuple):
    """The three hashes of a leaf whose values have all come."""

    hashes: bytes

    def digest(self) -> bytes:
        return self.hashes


def _is_plain(values: np.ndarray) -> bool:
    """Whether the bytes of an array are those that are hashed."""
    dtype = values.dtype
    return dtype.kind in _PLAIN_KINDS and values.flags.c_contiguous and not dtypes.is_big_endian(dtype)


class LeafForms:
    """The columns of episodes that have states, see `leaf_states`.

    Args:
      forms: of each its identity, and the shape of a value, in the order of identities.

    Attributes:
      layouts: of the columns.
    """

    def __init__(self, forms: tuple[tuple[Identity, tuple[int, ...]], ...]) -> None:
        self.forms = forms
        self.layouts = [leaf_states.Layout(head_of(identity), shape_bytes(shape)) for identity, shape in forms]


class EpisodeDigest:
    """Computes the digest from an episode's columns, which come in the order of rows for each leaf."""

    def __init__(self) -> None:
        self._leaves: dict[Identity, _Leaf | _WholeLeaf] = {}
        self._whole = b""
        self._state: tuple[LeafForms, bytearray] | None = None  # of all leaves, instead of `_leaves`

    def state(self, forms: LeafForms) -> bytearray | None:
        """Memory to which `leaf_states.add_values` adds blocks of these columns; None if earlier ones had others."""
        if self._state is None and not self._leaves:
            self._state = forms, leaf_states.new_state(len(forms.layouts))
        return None if self._state is None or self._state[0] is not forms else self._state[1]

    def _separate(self) -> None:
        """From now on, each leaf has an object."""
        if self._state is None:
            return
        (forms, state), self._state = self._state, None
        for (identity, shape), (first, stop, hashed) in zip(forms.forms, leaf_states.leaves_of(state), strict=True):
            if first < stop:
                self._leaves[identity] = _Leaf(first, shape, hashed, stop)

    def hashes(self, columns: Iterable[Column]) -> dict[ColumnKey, RunningHash]:
        """The hashes to which the values of some columns must be added, in the order of rows, before `update`.

        If that fails, no digest can be computed any more.
        """
        self._separate()
        found = {}
        for column in columns:
            if is_hashed_while_encoded(column) and not is_clock(column.key.path):
                running = self._leaf(column, RunningHash).values
                if isinstance(running, RunningHash):  # not if its first values were small
                    found[column.key] = running
        return found

    def update_once(self, columns: Iterable[Column], hashes: Hashes = NO_HASHES) -> None:
        """Adds the columns of an episode's only block, in a fraction of the time of `update`; arguments as there."""
        self._separate()
        for column in columns:
            key, rows, values, shapes = column
            first, count = int(rows[0]), len(rows)
            is_run = shapes is None and count <= CACHED_ROWS and int(rows[-1]) == first + count - 1
            is_hashed = key in hashes
            if not is_run or is_hashed or is_clock(key.path) or not values.nbytes or not _is_plain(values):
                self.update((column,), hashes)
                continue
            layout = digests_of_run(first, first + count, shape_bytes(values.shape[1:]))
            self._leaves[_identity(key)] = _WholeLeaf(layout + xxhash.xxh3_128_digest(values.data))

    def update_whole(self, hashes: bytes) -> None:
        """Adds all columns of an episode, from `hashes_of_leaves` or `leaf_hashes`; nothing else may be added."""
        self._whole = hashes

    def update_values(self, leaves: Iterable[LeafValues]) -> None:
        """Adds the columns of a block, faster than `update` does."""
        self._separate()
        for key, identity, shape, first, stop, values in leaves:
            if identity is None:
                continue
            known = self._leaves.get(identity)
            if known is None:
                known = self._leaves[identity] = _Leaf(first, shape, xxhash.xxh3_128())
            if not isinstance(known, _Leaf) or not known.extend(first, stop, shape, values):
                array = np.frombuffer(values, storage_dtype(key)).reshape(-1, *shape)
                self.update((Column(key, np.arange(first, stop), array),))

    def update(self, columns: Iterable[Column], hashes: Hashes = NO_HASHES) -> None:
        """Adds the columns of one block.

        Args:
          columns: of all leaves.
          hashes: from `hashes`, to which the values of those columns were added.
        """
        self._separate()
        for column in columns:
            if not is_clock(column.key.path) and len(column.rows):
                self._leaf(column).update(column, bool(hashes) and column.key in hashes)

    def _leaf(self, column: Column, make: "Callable[[], RunningHash | xxhash.xxh3_128]" = xxhash.xxh3_128) -> _Leaf:
        identity = _identity(column.key)
        leaf = self._leaves.get(identity)
        if leaf is None:
            leaf = self._leaves[identity] = _Leaf(int(column.rows[0]), column.values.shape[1:], make())
        assert isinstance(leaf, _Leaf), "an episode's only block came twice"  # noqa: S101
        return leaf

    def hashes_of_leaves(self) -> bytes:
        """What the digest is made of, beside the messages of start and end."""
        if self._state is not None:
            forms, state = self._state
            return leaf_states.hashes_of(forms.layouts, state)
        parts = [self._whole]
        for identity in sorted(self._leaves):
            parts += (head_of(identity), self._leaves[identity].digest())
        return b"".join(parts)

    def digest(self, start: pb.EpisodeStart, end: pb.EpisodeEnd | None) -> bytes:
        """16 bytes. `end` is None for an INCOMPLETE episode."""
        if end is None:
            return digest_in_python(self.hashes_of_leaves(), start, end)
        return self.digest_of(start.SerializeToString(), end.SerializeToString())

    def digest_of(self, start: bytes, end: bytes) -> bytes:
        """The digest with these serialized messages."""
        hashes = self.hashes_of_leaves()
        if block.native is not None:
            with contextlib.suppress(ValueError):  # fields that are not known, of a type that C does not know
                found: bytes = block.native.digest(hashes, start, end)
                return found
        return digest_in_python(hashes, pb.EpisodeStart.FromString(start), pb.EpisodeEnd.FromString(end))


def digest_in_python(hashes: bytes, start: pb.EpisodeStart, end: pb.EpisodeEnd | None) -> bytes:
    """As `EpisodeDigest.digest`, from its `hashes_of_leaves`."""
    messages = [start.metadata, start.seed, start.options]
    if end is not None:
        messages.append(end.metadata)
    parts = [hashes, *(_framed(message.SerializeToString(deterministic=True)) for message in messages)]
    if end is not None:
        parts += (_number(end.rows), bytes((end.ending, end.terminated, end.truncated)))
    return xxhash.xxh3_128_digest(b"".join(parts))


def combine(digests: Iterable[bytes]) -> bytes:
    """The digest of a dataset: over the sorted multiset of its episodes' digests."""
    return xxhash.xxh3_128_digest(b"".join(sorted(digests)))


def digests_of_run(first: int, stop: int, shape: bytes) -> bytes:
    """The hashes of the numbers of consecutive rows, and of their equal shapes, from `shape_bytes`."""
    return _digest_of_numbers(first, stop) + _digest_of_shapes(shape, stop - first)


@functools.lru_cache(maxsize=4096)
def _digest_of_numbers(first: int, stop: int) -> bytes:
    # `np.arange` gives up the interpreter's lock, and a thread that computes may not return it for milliseconds.
    numbers = _NUMBERS[first:stop] if stop <= len(_NUMBERS) else np.arange(first, stop, dtype="<u8")
    return xxhash.xxh3_128_digest(numbers.data)


@functools.lru_cache(maxsize=4096)
def _digest_of_shapes(shape: bytes, count: int) -> bytes:
    return xxhash.xxh3_128_digest(shape * count)


@functools.lru_cache(maxsize=256)
def shape_bytes(shape: tuple[int, ...]) -> bytes:
    """A shape as it is hashed."""
    return np.array(shape, "<u8").tobytes()


@functools.lru_cache(maxsize=4096)
def head_of(identity: Identity) -> bytes:
    """The bytes before the hashes of a leaf."""
    path, kind, dtype, rank = identity
    return _framed(path.encode()) + _number(kind) + _framed(dtype.encode()) + _number(rank)


@functools.lru_cache(maxsize=4096)
def _identity(key: ColumnKey) -> Identity:
    return (key.path, key.kind, "" if key.dtype is None else dtypes.name_of(key.dtype, key.path), key.rank)


def identity_of(key: ColumnKey) -> Identity | None:
    """The identity of a column, by which leaves are ordered; None if no digest has its values: measured times."""
    return None if is_clock(key.path) else _identity(key)


def _framed(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(number: int) -> bytes:
    return number.to_bytes(8, "little")
