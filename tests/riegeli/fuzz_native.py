"""Feeds hostile data to a build of the C extension with sanitizers; run by `test_native_sanitized.py`.

    python fuzz_native.py <the extension> <seconds> <seed>

Prints how many inputs were tried and how many gave records. A bug ends the process with a report.
"""

import importlib.util
import random
import sys
import time
from pathlib import Path

from rlds_kit.riegeli import _pure_transposed, blocks, transposed
from rlds_kit.riegeli._pure_transposed import Action, State
from rlds_kit.riegeli.chunk import TRANSPOSED
from rlds_kit.riegeli.chunk_reader import Chunk, read_chunk
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.riegeli.source import FileSource

GOLDEN = Path(__file__).parent.parent / "data" / "envlogger" / "transposed_none"

spec = importlib.util.spec_from_file_location("rlds_kit.riegeli._native", sys.argv[1])
assert spec is not None
assert spec.loader is not None
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)
rng = random.Random(int(sys.argv[3]))


def golden_chunks() -> list[Chunk]:
    """Return transposed chunks of real steps, uncompressed, so that changed bytes reach the machine."""
    chunks = []
    for path in sorted(GOLDEN.rglob("*.riegeli")):
        with path.open("rb") as file:
            source, position = FileSource(file), 0
            while isinstance(chunk := read_chunk(source, position), Chunk):
                position = chunk.end
                if chunk.header.chunk_type == TRANSPOSED:
                    chunks.append(chunk)
    return chunks


CHUNKS = golden_chunks()


def mutate(data: bytes) -> bytes:
    """Change, drop or insert a few bytes, mostly near the begin, where the header is."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(rng.choice([8, 64, len(out)]))
        out[at : at + rng.choice([0, 1, 1, 3])] = rng.randbytes(rng.choice([0, 1, 1, 3]))
    return bytes(out)


def run(decode: transposed.Expand, chunk: Chunk, data: bytes, size: int) -> list[bytes] | None:
    """Return the records of a chunk by one implementation, None where it refuses."""
    transposed._expand = decode
    try:
        return transposed.decode(data, chunk.header.num_records, size, max_size=1 << 20)
    except DamagedError:
        return None


def try_chunk() -> bool:
    """Decode a changed chunk in C and in Python."""
    chunk = rng.choice(CHUNKS)
    data = mutate(chunk.data)
    size = max(0, chunk.header.decoded_data_size + rng.choice([0, 0, 0, 1, -1]))
    found = run(native.expand, chunk, data, size)
    assert found == run(_pure_transposed.expand, chunk, data, size), (chunk, data, size)
    return found is not None


def try_program() -> bool:
    """Call the machine itself with a random program, legal or not."""
    count, data = rng.randrange(6), rng.randbytes(rng.randrange(40))
    ends = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(4)))
    states = [
        State(
            rng.randrange(-1, len(Action) + 1),
            rng.randbytes(rng.randrange(8)),
            rng.randrange(-1, count + 1),
            rng.random() < 0.4,
            rng.randrange(-1, len(ends) + 1),
            rng.randrange(-1, 12),
        )
        for _ in range(count)
    ]
    transitions = bytes(rng.choice([0, 1, 4, 255]) for _ in range(rng.randrange(8)))
    try:
        native.expand(
            states, data, ends, transitions, rng.randrange(-1, count + 1), rng.randrange(-1, 6), rng.randrange(80)
        )
    except ValueError:
        return False
    return True


def try_hash() -> bool:
    """Hash bytes that end where their memory ends."""
    native.highway_hash64(rng.randbytes(rng.randrange(200)))
    return True


def try_frames() -> bool:
    """Frame records whose chunks end where their memory ends, with and without headers of blocks between."""
    begin = blocks.round_up(rng.randrange(3 * blocks.BLOCK_SIZE))
    records = [rng.randbytes(rng.choice([0, 3, 150, 1 << 16, 3 << 16])) for _ in range(rng.randrange(4))]
    data, places = native.frame_records(begin, records)
    return data != b"" and len(places) == 8 * len(records)


def try_entries() -> bool:
    """Make entries of numbers of any size."""
    chunks = [tuple(rng.getrandbits(rng.randrange(1, 66)) for _ in range(3)) for _ in range(3)]
    try:
        return len(native.chunk_entries(chunks)[0]) == len(chunks)
    except ValueError:
        return False


deadline = time.monotonic() + float(sys.argv[2])
tried = passed = 0
while time.monotonic() < deadline:
    for attempt in (try_chunk, try_program, try_hash, try_frames, try_entries):
        tried += 1
        passed += attempt()
print(tried, passed)
