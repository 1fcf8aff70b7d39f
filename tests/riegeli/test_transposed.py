"""The decoder of transposed chunks: examples, every rule of the header, hostile data, and C against Python."""

import random
from collections.abc import Sequence

import pytest

from rlds_kit.riegeli import _pure_transposed, transposed, varint
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli._pure_transposed import Action, State
from rlds_kit.riegeli.errors import DamagedError

# Written by Google's C++ encoder: {1: 150, 2: "Hey"}, {1: 2, 3: {1: 7}}, and two bytes that are no message.
CPP_EXAMPLE = bytes.fromhex(
    "00 24 04 05 03 04 02 01 01 02 04 02 01 08 12 08 08 08 02 1e 03 01 09 0e 0e 0c 0a 0b 00 0d 01 0c 00 02 01 00 03 07"
    "07 16 01 03 48 65 79 ff 00 02 00"
)
CPP_RECORDS = [bytes.fromhex(record) for record in ("0896011203486579", "08021a020807", "ff00")]

NO_OP, NON_PROTO, SUBMESSAGE_START, RECORD_START = range(4)


def chunk(
    tags: Sequence[int],
    targets: Sequence[int],
    *,
    subtypes: bytes = b"",
    owned: Sequence[int] = (),
    first: int = 0,
    buffers: Sequence[bytes] = (),
    transitions: bytes = b"",
) -> bytes:
    """Return an uncompressed transposed chunk with all buffers in one bucket."""
    bucket = b"".join(buffers)
    numbers = [1, len(buffers), len(bucket), *map(len, buffers)] if buffers else [0, 0]
    before, after = [*numbers, len(tags), *tags, *targets], [*owned, first]
    header = b"".join(map(varint.encode, before)) + subtypes + b"".join(map(varint.encode, after))
    return b"\0" + varint.encode(len(header)) + header + bucket + transitions


def test_worked_example_from_cpp() -> None:
    """Varints of two widths, an inline one, a string, a submessage and a non-message come back."""
    assert transposed.decode(CPP_EXAMPLE, 3, 16) == CPP_RECORDS


def test_empty_message_of_envlogger() -> None:
    """One state and no buffer make one empty record."""
    assert transposed.decode(chunk([RECORD_START], [0]), 1, 0) == [b""]


def test_no_records() -> None:
    """A no-op state that leads nowhere makes no record."""
    assert transposed.decode(chunk([NO_OP], [0]), 0, 0) == []


@pytest.mark.parametrize("width", range(1, 11))
def test_varints_of_every_width(width: int) -> None:
    """Continuation bits are put back on all bytes but the last."""
    value = varint.encode(1 << 7 * (width - 1))
    data = chunk(
        [8, RECORD_START], [3, 0], subtypes=bytes([width - 1]), owned=[0], buffers=[bytes(b & 127 for b in value)]
    )
    assert transposed.decode(data, 1, width + 1) == [b"\x08" + value]


def test_fixed_groups_and_long_tags() -> None:
    """Fixed-width fields, group tags and a tag of five bytes are prepended as they are."""
    tags = [13, 17, 19, 20, 0xFFFFFFFA, RECORD_START]
    data = chunk(
        tags, [7, 8, 9, 10, 11, 0], owned=[0, 1, 2], buffers=[b"abcd", b"12345678", b"\x03xyz"], transitions=b""
    )
    pieces = [b"\x0dabcd", b"\x1112345678", b"\x13", b"\x14", b"\xfa\xff\xff\xff\x0f\x03xyz"]
    expected = b"".join(reversed(pieces))
    assert transposed.decode(data, 1, len(expected)) == [expected]


def test_long_length_forms_of_strings_are_kept() -> None:
    """The length of a string is copied, not written anew."""
    data = chunk([10, RECORD_START], [3, 0], owned=[0], buffers=[b"\x82\x00hi"])
    assert transposed.decode(data, 1, 5) == [b"\x0a\x82\x00hi"]


def test_transitions_reach_far_states_over_no_ops() -> None:
    """An offset of 63 and a further hop from a no-op state reach a state beyond the offset's six bits."""
    tags = [NO_OP] * 70 + [RECORD_START]
    targets = [0] * 63 + [7] + [0] * 7
    assert transposed.decode(chunk(tags, targets, transitions=bytes([63 << 2, 63 << 2])), 1, 0) == [b""]


def test_repeat_counts_hops_that_need_no_byte() -> None:
    """The two low bits of a transition are the number of further explicit hops."""
    assert transposed.decode(chunk([RECORD_START], [0], transitions=b"\x03\x01"), 7, 0) == [b""] * 7


HOSTILE = {
    "no data": b"",
    "unknown codec": b"\x01\x00",
    "header longer than the chunk": b"\x00\x05\x00",
    "header cut short": b"\x00\x01\x00",
    "buffers without bucket": b"\x00\x06\x00\x01\x00\x01\x03\x00",
    "more buckets than bytes": b"\x00\x05\xff\xff\xff\xff\x0f",
    "more states than bytes": b"\x00\x07\x00\x00\xff\xff\xff\xff\x0f",
    "33-bit count": b"\x00\x08\x00\x00\xff\xff\xff\xff\x1f\x00",
    "bucket beyond the chunk": b"\x00\x08\x01\x01\x05\x05\x01\x03\x00\x00ab",
    "bucket larger than its buffers": b"\x00\x08\x01\x01\x02\x01\x01\x03\x00\x00ab",
    "bucket smaller than its buffers": b"\x00\x08\x01\x01\x02\x03\x01\x03\x00\x00ab",
    "no state": chunk([], []),
    "reserved tag 4": chunk([4], [0]),
    "reserved tag 7": chunk([7], [0]),
    "wire type 7": chunk([15], [0]),
    "subtype 138": chunk([8], [0], subtypes=b"\x8a"),
    "subtypes cut short": chunk([8], [0])[:-1],
    "target out of range": chunk([RECORD_START], [2]),
    "buffer out of range": chunk([NON_PROTO], [0], owned=[2], buffers=[b"a", b"\x01"]),
    "non-proto without buffers": chunk([NON_PROTO], [0], owned=[0]),
    "first state out of range": chunk([RECORD_START], [0], first=1),
    "trailing header bytes": b"\x00\x07\x00\x00\x01\x03\x00\x00\x00",
    "implicit ring of one": chunk([NO_OP], [1]),
    "implicit ring of two": chunk([NO_OP, RECORD_START, NO_OP], [5, 0, 3]),
    "transition beyond the last state": chunk([RECORD_START], [0], transitions=b"\x04"),
    "value beyond its buffer": chunk([8, RECORD_START], [3, 0], subtypes=b"\x01", owned=[0], buffers=[b"a"]),
    "string beyond its buffer": chunk([10, RECORD_START], [3, 0], owned=[0], buffers=[b"\x02a"]),
    "string length of 33 bits": chunk([10, RECORD_START], [3, 0], owned=[0], buffers=[b"\xff\xff\xff\xff\x1f"]),
    "length beyond the buffer": chunk([NON_PROTO], [0], owned=[0], buffers=[b"a", b"\x02"]),
    "submessage never started": chunk([14, NO_OP, RECORD_START], [4, 2, 0]),
    "submessage never ended": chunk([SUBMESSAGE_START, RECORD_START], [3, 0]),
    "record inside submessage": chunk([14, RECORD_START], [3, 0]),
    "too many records": chunk([RECORD_START], [0], transitions=b"\x00"),
    "too few records": chunk([NO_OP], [0]),
    "bytes without record": chunk([RECORD_START, 8], [3, 0], subtypes=b"\x0a"),
    "too many bytes": chunk([8, RECORD_START], [3, 0], subtypes=b"\x0a"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_chunks_are_damage(name: str) -> None:
    """Each broken rule is refused as damage, with no other exception."""
    with pytest.raises(DamagedError):
        transposed.decode(HOSTILE[name], 1, 0)


def test_too_few_bytes_are_damage() -> None:
    """The output must have the size in the chunk's header."""
    with pytest.raises(DamagedError, match="bytes came out"):
        transposed.decode(CPP_EXAMPLE, 3, 17)


def test_sizes_above_the_ceiling_are_damage() -> None:
    """Neither the output nor the buffers may announce more than the caller allows."""
    with pytest.raises(DamagedError, match="more than 15"):
        transposed.decode(CPP_EXAMPLE, 3, 16, max_size=15)
    with pytest.raises(DamagedError, match="announce"):
        transposed.decode(b"\x00\x0c\x01\x01\x02\x80\x80\x80\x80\x80\x10\x01\x03\x00\x00ab", 1, 0)


def test_implicit_chains_of_no_ops_are_passed_by() -> None:
    """Fifty thousand no-ops behind every hop cost nothing, so that hostile data cannot buy time."""
    count = 50_000
    tags = [RECORD_START, *[NO_OP] * count]
    targets = [len(tags) + 1, *range(len(tags) + 2, 2 * len(tags)), 0]
    data = chunk(tags, targets, transitions=b"\x00" * 2_000)
    assert transposed.decode(data, 2_001, 0) == [b""] * 2_001


def test_nesting_has_a_limit() -> None:
    """A million submessages that end and never start are refused instead of filling the memory."""
    with pytest.raises(DamagedError, match="nested too deeply"):
        transposed.decode(chunk([14], [0], transitions=b"\x03" * (1 << 18)), 1, 0)


def outcome(expand: transposed.Expand, arguments: tuple[object, ...]) -> list[bytes] | None:
    """Return the records, None where the machine refuses."""
    try:
        return expand(*arguments)  # type: ignore[arg-type]  # mutated on purpose
    except ValueError:
        return None


def random_state(rng: random.Random, states: int, buffers: int) -> State:
    """Return a legal state, one field of which may lie."""
    action = rng.choice([*Action, Action.RECORD_START, Action.VARINT, Action.STRING])
    prefix = rng.randbytes(rng.choice([0, 1, 2, 6]))
    size = rng.randrange(1, 11) if action == Action.VARINT else rng.choice([4, 8])
    return State(action, prefix, rng.randrange(states), rng.random() < 0.4, rng.randrange(max(buffers, 1)), size)


def has_implicit_ring(states: Sequence[State]) -> bool:
    """Return whether following implicit edges from some state never ends."""
    for state in states:
        here, hops = state, 0
        while here.implicit and hops <= len(states):
            here, hops = states[here.next], hops + 1
        if hops > len(states):
            return True
    return False


def totals(arguments: tuple[object, ...]) -> tuple[int, int]:
    """Return how many records and bytes a program puts out, limits that it fails at if it fails anyway."""
    with pytest.MonkeyPatch.context() as patch:
        machine = _pure_transposed._Machine
        patch.setattr(machine, "records", lambda self: [len(self._record_sizes), self._size])
        found = outcome(_pure_transposed.expand, (*arguments, 1000, 10_000))
    return (3, 30) if found is None else (int(found[0]), int(found[1]))


def test_native_and_pure_machines_agree_on_random_programs(repeats: int) -> None:
    """Random programs give the same bytes in C and in Python, or are refused by both."""
    if native is None:
        pytest.skip("the C extension is absent")
    rng = random.Random(1)
    agreed = 0
    for _ in range(repeats * 50):
        data = bytes(rng.choice([0, 1, 2, 3, 5, 200]) for _ in range(rng.randrange(100)))
        ends = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 4)))
        count = rng.randrange(1, 8)
        states = [random_state(rng, count, len(ends)) for _ in range(count)]
        if has_implicit_ring(states):
            continue
        transitions = bytes(rng.choice([0, 1, 2, 4, 5, 8]) for _ in range(rng.randrange(12)))
        program = (states, data, ends, transitions, rng.randrange(len(states)))
        records, size = totals(program)
        for limits in ((records, size), (records + 1, size), (records, size + 1), (records, max(0, size - 1))):
            found = outcome(native.expand, (*program, *limits))
            assert found == outcome(_pure_transposed.expand, (*program, *limits)), (program, limits)
            agreed += found is not None
    assert agreed > repeats // 10


def test_native_and_pure_decoders_agree_on_mutated_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks with flipped, lost and repeated bytes give the same records in C and in Python, or none in either."""
    if native is None:
        pytest.skip("the C extension is absent")
    rng = random.Random(2)
    survivors = 0
    for _ in range(3000):
        data = bytearray(CPP_EXAMPLE)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.choice([0, 1, 1, 1, 2])] = rng.randbytes(rng.choice([0, 1, 1, 1, 2]))
        found = []
        for expand in (native.expand, _pure_transposed.expand):
            monkeypatch.setattr(transposed, "_expand", expand)
            try:
                found.append(transposed.decode(bytes(data), 3, 16))
            except DamagedError:
                found.append([])
        assert found[0] == found[1], bytes(data)
        survivors += found[0] != []
    assert survivors


@pytest.mark.parametrize(
    "arguments",
    [
        ([], b"", [], b"", 0, 0, 0),
        ([State(99, b"", 0, False, 0, 0)], b"", [], b"", 0, 0, 0),
        ([State(0, b"1234567", 0, False, 0, 0)], b"", [], b"", 0, 0, 0),
        ([State(0, b"", 1, False, 0, 0)], b"", [], b"", 0, 0, 0),
        ([State(1, b"", 0, False, 0, 0)], b"", [], b"", 0, 0, 0),
        ([State(5, b"", 0, False, 0, 11)], b"a", [1], b"", 0, 0, 0),
        ([State(0, b"", 0, False, 0, 0)], b"a", [2], b"", 0, 0, 0),
        ([State(0, b"", 0, False, 0, 0)], b"ab", [2, 1], b"", 0, 0, 0),
        ([State(0, b"", 0, False, 0, 0)], b"", [], b"", 1, 0, 0),
        ([State(0, b"", 0, False, 0, 0)], b"", [], b"", 0, -1, 0),
        ([State(0, b"", 0, True, 0, 0)], b"", [], b"", 0, 0, 0),
        ([(0, b"", 0)], b"", [], b"", 0, 0, 0),
        ([None], b"", [], b"", 0, 0, 0),
    ],
)
def test_native_machine_checks_its_arguments(arguments: tuple[object, ...]) -> None:
    """Called with what the Python side would never pass, the C function raises; it does not crash or hang."""
    if native is None:
        pytest.skip("the C extension is absent")
    with pytest.raises((ValueError, TypeError)):
        native.expand(*arguments)
