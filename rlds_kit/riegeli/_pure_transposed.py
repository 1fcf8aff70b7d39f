"""The state machine of transposed chunks in plain Python, the twin of `_native.c`.

See `transposed` for what the machine means.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from rlds_kit.riegeli import varint

_MAX_NESTING = 1 << 20  # writers stop at 100; implicit edges could nest without end and put out nothing


class Action(enum.IntEnum):
    """What a state prepends to the output. `_native.c` has the same numbers."""

    LITERAL = 0  # prefix
    NON_PROTO = 1  # a whole record out of its buffer; its length is in the last buffer
    SUBMESSAGE_START = 2  # tag and length of the submessage that ended last
    SUBMESSAGE_END = 3  # nothing yet: remembers prefix (the tag) and where the submessage ends
    RECORD_START = 4  # nothing: a record is complete
    VARINT = 5  # prefix and `size` bytes, whose continuation bits were dropped
    FIXED = 6  # prefix and `size` bytes
    STRING = 7  # prefix, a length and that many bytes, as they stand in the buffer


class State(NamedTuple):
    """One state. `next` is a state index, `buffer` an index of the buffers (0 where none is used)."""

    action: int
    prefix: bytes
    next: int
    implicit: bool
    buffer: int
    size: int


def expand(
    states: Sequence[State],
    buffers: bytes,
    buffer_ends: Sequence[int],
    transitions: bytes,
    first: int,
    num_records: int,
    decoded_size: int,
) -> list[bytes]:
    """Run the machine and return the `num_records` records, `decoded_size` bytes in all.

    `buffer_ends` is where each buffer ends in `buffers`.

    Raises:
        ValueError: the machine reads beyond a buffer, writes beyond `decoded_size`, leaves the states, or
            ends in the middle of something.
    """
    machine = _Machine(buffers, buffer_ends, num_records, decoded_size)
    state = states[first]
    position = repeat = 0
    while True:
        machine.run(state)
        if state.implicit:
            state = states[state.next]
        elif repeat:
            repeat -= 1
            state = states[state.next]
        elif position == len(transitions):
            return machine.records()
        else:
            transition = transitions[position]
            position += 1
            target = state.next + (transition >> 2)
            if target >= len(states):
                raise ValueError("a transition leads beyond the last state")
            repeat = transition & 3
            state = states[target]


class _Machine:
    """The output so far, back to front, and a cursor in every buffer."""

    def __init__(self, buffers: bytes, ends: Sequence[int], num_records: int, decoded_size: int) -> None:
        self._buffers = buffers
        self._ends = ends
        self._cursors = [0, *ends[:-1]]
        self._num_records = num_records
        self._decoded_size = decoded_size
        self._pieces: list[bytes] = []
        self._size = 0
        self._record_sizes: list[int] = []
        self._recorded = 0
        self._open_submessages: list[tuple[int, bytes]] = []

    def run(self, state: State) -> None:
        action = state.action
        if action == Action.LITERAL:
            self._prepend(state.prefix)
        elif action == Action.VARINT:
            value = self._take(state.buffer, state.size)
            continued = bytes(byte | 128 for byte in value[:-1])
            self._prepend(state.prefix + continued + value[-1:])
        elif action == Action.FIXED:
            self._prepend(state.prefix + self._take(state.buffer, state.size))
        elif action == Action.STRING:
            self._prepend(state.prefix + self._take_string(state.buffer))
        elif action == Action.SUBMESSAGE_END:
            self._end_submessage(state.prefix)
        elif action == Action.SUBMESSAGE_START:
            self._start_submessage()
        elif action == Action.NON_PROTO:
            self._prepend(self._take(state.buffer, self._take_length(len(self._ends) - 1)))
            self._start_record()
        else:
            self._start_record()

    def records(self) -> list[bytes]:
        """Return the records in file order, after the checks that only the end allows."""
        if self._open_submessages:
            raise ValueError("a submessage is never started")
        if len(self._record_sizes) != self._num_records:
            raise ValueError(f"{len(self._record_sizes)} records came out, expected {self._num_records}")
        if self._recorded != self._size:
            raise ValueError(f"{self._size - self._recorded} bytes belong to no record")
        if self._size != self._decoded_size:
            raise ValueError(f"{self._size} bytes came out, expected {self._decoded_size}")
        values = b"".join(reversed(self._pieces))
        records, start = [], 0
        for size in reversed(self._record_sizes):
            records.append(values[start : start + size])
            start += size
        return records

    def _prepend(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._decoded_size:
            raise ValueError(f"more than {self._decoded_size} bytes came out")
        if piece:
            self._pieces.append(piece)

    def _take(self, buffer: int, size: int) -> bytes:
        start = self._cursors[buffer]
        if size > self._ends[buffer] - start:
            raise ValueError("a buffer ends too early")
        self._cursors[buffer] = start + size
        return self._buffers[start : start + size]

    def _take_length(self, buffer: int) -> int:
        value = shift = 0
        while True:
            byte = self._take(buffer, 1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
            if shift == 35:
                raise ValueError("a length needs more than 32 bits")
        if value >> 32:
            raise ValueError("a length needs more than 32 bits")
        return value

    def _take_string(self, buffer: int) -> bytes:
        start = self._cursors[buffer]
        self._take(buffer, self._take_length(buffer))
        return self._buffers[start : self._cursors[buffer]]

    def _end_submessage(self, tag: bytes) -> None:
        if len(self._open_submessages) == _MAX_NESTING:
            raise ValueError("submessages are nested too deeply")
        self._open_submessages.append((self._size, tag))

    def _start_submessage(self) -> None:
        if not self._open_submessages:
            raise ValueError("a submessage starts that has no end")
        end, tag = self._open_submessages.pop()
        self._prepend(tag + varint.encode(self._size - end))

    def _start_record(self) -> None:
        if self._open_submessages:
            raise ValueError("a record starts inside a submessage")
        if len(self._record_sizes) == self._num_records:
            raise ValueError(f"more than {self._num_records} records came out")
        self._record_sizes.append(self._size - self._recorded)
        self._recorded = self._size
