"""Transposed chunks: records cut into columns, and a small program that puts them together again.

A transposed chunk sees each record as a protocol buffer and stores equal fields of all records side by
side, in *buffers*; buffers lie in compressed *buckets*. A state machine defines in which order the pieces
were taken. It works back to front: the last record first, and within it the last field first, each state
prepending a few bytes to the output.

- A **state** has an action (below), perhaps a buffer of its own, and a next state. The next state is
  *implicit*, taken at once, or *explicit*: a base that a transition leads on from.
- A **transition** is a byte: six bits say how many states after the base to go, two bits how many further
  explicit hops need no byte because they go to the base itself.

The C++ source is the only published description of this chunk type; the container around it is
"Transposed chunk with records" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from rlds_kit.riegeli import _pure_transposed, varint
from rlds_kit.riegeli import codec as codecs
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli._pure_transposed import Action, State
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.errors import DamagedError

Expand = Callable[[Sequence[State], bytes, Sequence[int], bytes, int, int, int], list[bytes]]

_expand: Expand = native.expand if native else _pure_transposed.expand

# Every state becomes a Python object of some hundred bytes; a chunk of ordinary messages needs a few kilobytes.
MAX_HEADER_SIZE = 1 << 24

# Tags below 8 cannot be tags of protocol buffers, whose field numbers begin at 1.
_TAG_NO_OP, _TAG_NON_PROTO, _TAG_SUBMESSAGE_START, _TAG_RECORD_START = range(4)
_FIRST_FIELD_TAG = 8

# The low three bits of a field's tag. The sixth is not a wire type of protocol buffers: it ends a submessage.
_WIRE_VARINT, _WIRE_FIXED64, _WIRE_STRING, _WIRE_GROUP_START, _WIRE_GROUP_END, _WIRE_FIXED32, _WIRE_SUBMESSAGE_END = (
    range(7)
)

_FIRST_INLINE_SUBTYPE = 10  # below: the value has `subtype + 1` bytes in a buffer
_LAST_INLINE_SUBTYPE = 137

_OWNS_BUFFER = frozenset((Action.NON_PROTO, Action.VARINT, Action.FIXED, Action.STRING))


def decode(
    data: bytes, num_records: int, decoded_data_size: int, *, max_size: int = codecs.MAX_DECODED_SIZE
) -> list[bytes]:
    """Return the records of a transposed chunk's data.

    `num_records` and `decoded_data_size` are from the chunk's header; `max_size` is the largest
    output and the largest buffer to decompress, in bytes.

    Raises:
        DamagedError: the data break a rule, or do not match the header.

    >>> decode(bytes.fromhex("000a01020b0803010100000068656c6c6f61626305000301"), 3, 8)
    [b'abc', b'', b'hello']
    """
    if not data:
        raise DamagedError("a transposed chunk has no data")
    if decoded_data_size > max_size:
        raise DamagedError(f"a transposed chunk announces {decoded_data_size} bytes, more than {max_size}")
    view = memoryview(data)
    codec = codecs.parse_codec(view[0])
    packed_header, position = codecs.take_length_prefixed(view, 1)
    header = _Numbers(codecs.decompress(packed_header, codec, max_size=min(max_size, MAX_HEADER_SIZE)))
    buffers, lengths, position = _read_buffers(header, view, position, codec, max_size)
    states, first = _read_states(header, len(lengths))
    transitions = codecs.decompress(view[position:], codec, max_size=max_size)
    ends = list(accumulate(lengths))
    try:
        return _expand(states, buffers, ends, transitions, first, num_records, decoded_data_size)
    except ValueError as error:
        raise DamagedError(f"a transposed chunk is broken: {error}") from error


class _Numbers:
    """The header's numbers, taken one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, bits: int = 32) -> int:
        value, self._position = varint.decode(self._data, self._position, bits=bits)
        return value

    def take_many(self, count: int, bits: int = 32) -> list[int]:
        if count > self.left:
            raise DamagedError(f"a transposed header announces {count} numbers where {self.left} bytes are left")
        return [self.take(bits) for _ in range(count)]

    def take_bytes(self, count: int) -> bytes:
        if count > self.left:
            raise DamagedError(f"a transposed header announces {count} subtypes where {self.left} bytes are left")
        self._position += count
        return self._data[self._position - count : self._position]

    @property
    def left(self) -> int:
        return len(self._data) - self._position


def _read_buffers(
    header: _Numbers, data: memoryview, position: int, codec: Codec, max_size: int
) -> tuple[bytes, list[int], int]:
    """Return all buffers joined, their lengths, and the position after the last bucket."""
    num_buckets, num_buffers = header.take(), header.take()
    if num_buffers and not num_buckets:
        raise DamagedError(f"a transposed header has {num_buffers} buffers but no bucket")
    bucket_sizes = header.take_many(num_buckets, bits=64)
    lengths = header.take_many(num_buffers, bits=64)
    total = sum(lengths)
    if total > max_size:
        raise DamagedError(f"the buffers of a transposed chunk announce {total} bytes, more than {max_size}")
    if sum(bucket_sizes) > len(data) - position:
        raise DamagedError("the buckets of a transposed chunk are larger than the chunk")
    buckets = []
    left = total
    for size in bucket_sizes:
        buckets.append(codecs.decompress(data[position : position + size], codec, max_size=left))
        position += size
        left -= len(buckets[-1])
    if left:
        raise DamagedError(f"the buckets of a transposed chunk hold {total - left} bytes, the buffers need {total}")
    return b"".join(buckets), lengths, position


def _read_states(header: _Numbers, num_buffers: int) -> tuple[list[State], int]:
    """Return the state machine and the index of its first state; nothing may follow in the header."""
    count = header.take()
    tags = header.take_many(count)
    targets = header.take_many(count)
    subtypes = iter(header.take_bytes(sum(1 for tag in tags if _is_varint_field(tag))))
    actions = [_read_action(tag, subtypes) for tag in tags]
    states = []
    for (action, prefix, size), target in zip(actions, targets, strict=True):
        buffer = header.take() if action in _OWNS_BUFFER else 0
        if action in _OWNS_BUFFER and buffer >= num_buffers:
            raise DamagedError(f"a state uses buffer {buffer} of {num_buffers}")
        implicit = target >= count
        if implicit and target - count >= count:
            raise DamagedError(f"a state leads to state {target - count} of {count}")
        states.append(State(action, prefix, target - count if implicit else target, implicit, buffer, size))
    first = header.take()
    if first >= count:
        raise DamagedError(f"the first state is {first} of {count}")
    if header.left:
        raise DamagedError(f"{header.left} bytes follow the header of a transposed chunk")
    return _shorten_implicit_paths(states), first


def _is_varint_field(tag: int) -> bool:
    return tag >= _FIRST_FIELD_TAG and tag & 7 == _WIRE_VARINT


def _read_action(tag: int, subtypes: Iterator[int]) -> tuple[Action, bytes, int]:
    """Return what a state with `tag` does, what it prepends, and the size of its value where that is fixed."""
    if tag < _FIRST_FIELD_TAG:
        return _read_special_action(tag)
    wire_type = tag & 7
    prefix = varint.encode(tag)
    if wire_type == _WIRE_VARINT:
        subtype = next(subtypes)
        if subtype < _FIRST_INLINE_SUBTYPE:
            return Action.VARINT, prefix, subtype + 1
        if subtype > _LAST_INLINE_SUBTYPE:
            raise DamagedError(f"varint subtype {subtype} is unknown")
        return Action.LITERAL, prefix + bytes((subtype - _FIRST_INLINE_SUBTYPE,)), 0
    if wire_type in (_WIRE_FIXED32, _WIRE_FIXED64):
        return Action.FIXED, prefix, 4 if wire_type == _WIRE_FIXED32 else 8
    if wire_type == _WIRE_STRING:
        return Action.STRING, prefix, 0
    if wire_type in (_WIRE_GROUP_START, _WIRE_GROUP_END):
        return Action.LITERAL, prefix, 0
    if wire_type == _WIRE_SUBMESSAGE_END:
        return Action.SUBMESSAGE_END, varint.encode(tag - _WIRE_SUBMESSAGE_END + _WIRE_STRING), 0
    raise DamagedError(f"tag {tag} has wire type {wire_type}")


def _read_special_action(tag: int) -> tuple[Action, bytes, int]:
    if tag == _TAG_NO_OP:
        return Action.LITERAL, b"", 0
    if tag == _TAG_NON_PROTO:
        return Action.NON_PROTO, b"", 0
    if tag == _TAG_SUBMESSAGE_START:
        return Action.SUBMESSAGE_START, b"", 0
    if tag == _TAG_RECORD_START:
        return Action.RECORD_START, b"", 0
    raise DamagedError(f"tag {tag} is reserved")


def _shorten_implicit_paths(states: list[State]) -> list[State]:
    """Return the same machine with implicit edges that pass by every state that does nothing.

    Hostile data could otherwise chain a million of them behind each transition, or join them to a ring.

    Raises:
        DamagedError: implicit edges form a ring, of any states.
    """
    end_of: dict[int, int] = {}  # state -> where an implicit edge to it ends up
    for start in range(len(states)):
        path = []
        on_path = set()
        here = start
        while here not in end_of and here not in on_path and states[here].implicit:
            path.append(here)
            on_path.add(here)
            here = states[here].next
        if here in on_path:
            raise DamagedError("the implicit edges of a transposed chunk form a ring")
        end_of.setdefault(here, here)
        for here in reversed(path):
            does_nothing = states[here].action is Action.LITERAL and not states[here].prefix
            end_of[here] = end_of[states[here].next] if does_nothing else here
    return [state._replace(next=end_of[state.next]) if state.implicit else state for state in states]
