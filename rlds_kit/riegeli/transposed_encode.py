"""The smallest legal transposed chunk: every record is opaque, one state writes them all.

Riegeli demands a transposed encoding for file metadata only. The states that would cut protocol
buffers into columns are left out: any reader takes this form, and pixels gain nothing from columns.

"Transposed chunk with records" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlds_kit.riegeli import varint
from rlds_kit.riegeli.codec import Codec

MAX_RECORD_SIZE = (1 << 32) - 1

_NO_OP = 0
_NON_PROTO = 1


def encode(records: Sequence[bytes], codec: Codec, compress: Callable[[bytes], bytes]) -> bytes:
    """Return the data of a transposed chunk that holds `records`, each buffer passed through `compress`.

    Raises:
        ValueError: a record has 4 GiB or more, which this encoding cannot express.

    >>> encode([b"abc", b"", b"hello"], Codec.NONE, bytes).hex()
    '000a01020b0803010100000068656c6c6f61626305000301'
    """
    if any(len(record) > MAX_RECORD_SIZE for record in records):
        raise ValueError("a transposed chunk cannot hold a record of 4 GiB or more")
    if records:
        header, bucket, transitions = _encode_records(records, compress)
    else:
        header, bucket, transitions = _header(0, 0, states=[(_NO_OP, 0)]), b"", b""
    packed_header = compress(header)
    return b"".join((bytes((codec,)), varint.encode(len(packed_header)), packed_header, bucket, compress(transitions)))


def _encode_records(records: Sequence[bytes], compress: Callable[[bytes], bytes]) -> tuple[bytes, bytes, bytes]:
    """Return the header, the compressed bucket and the transitions. The decoder works back to front."""
    values = b"".join(reversed(records))
    lengths = b"".join(varint.encode(len(record)) for record in reversed(records))
    bucket = compress(values + lengths)
    sizes = (len(bucket), len(values), len(lengths))
    header = _header(1, 2, *sizes, states=[(_NON_PROTO, 0)], buffers=[0])
    return header, bucket, _stay(len(records) - 1)


def _header(*numbers: int, states: Sequence[tuple[int, int]], buffers: Sequence[int] = ()) -> bytes:
    tags = [tag for tag, _ in states]
    targets = [target for _, target in states]
    first_state = 0
    fields = (*numbers, len(states), *tags, *targets, *buffers, first_state)
    return varint.encode_all(fields)


def _stay(hops: int) -> bytes:
    """Return the transitions that come back to the same state `hops` times; one byte is worth up to four."""
    whole, rest = divmod(hops, 4)
    return b"\x03" * whole + (bytes((rest - 1,)) if rest else b"")
