from collections.abc import Iterable, Sequence

from rlds_kit.riegeli._pure_transposed import State
from rlds_kit.riegeli.buffer import Buffer

def highway_hash64(data: Buffer, /) -> int: ...
def frame_records(begin: int, records: list[bytes], /) -> tuple[bytes, bytes]: ...
def chunk_entries(chunks: Iterable[tuple[int, int, int]], /) -> tuple[list[bytes], list[int]]: ...
def crc32c(data: Buffer, /) -> int: ...
def expand(
    states: Sequence[State],
    buffers: bytes,
    buffer_ends: Sequence[int],
    transitions: bytes,
    first: int,
    num_records: int,
    decoded_size: int,
    /,
) -> list[bytes]: ...
