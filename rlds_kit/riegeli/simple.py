"""Simple chunks: record sizes in one buffer, record contents in another.

"Simple chunk with records" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlds_kit.riegeli import codec as codecs
from rlds_kit.riegeli import varint
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.errors import DamagedError

MAX_VARINT_SIZE = 10


def encode(records: Sequence[bytes], codec: Codec, compress: Callable[[bytes], bytes]) -> bytes:
    """Return the data of a simple chunk that holds `records`, each buffer passed through `compress`.

    >>> encode([b"abc", b"", b"hello"], Codec.NONE, bytes).hex()
    '000303000561626368656c6c6f'
    """
    sizes = compress(b"".join(map(varint.encode, map(len, records))))
    head = bytes((codec,)) + varint.encode(len(sizes)) + sizes
    if codec is Codec.NONE:
        return b"".join((head, *records))
    return head + compress(b"".join(records))


def decode(
    data: bytes, num_records: int, decoded_data_size: int, *, max_size: int = codecs.MAX_DECODED_SIZE
) -> list[bytes]:
    """Return the records of a simple chunk's data.

    `num_records` and `decoded_data_size` are what the chunk's header says; `max_size` is the largest
    buffer to decompress, in bytes.

    Raises:
        DamagedError: the data and the header do not fit together, or a buffer is broken.

    >>> decode(bytes.fromhex("000303000561626368656c6c6f"), 3, 8)
    [b'abc', b'', b'hello']
    """
    if not data:
        raise DamagedError("a simple chunk has no data")
    view = memoryview(data)
    codec = codecs.parse_codec(view[0])
    packed_sizes, start = codecs.take_length_prefixed(view, 1)
    sizes_limit = min(max_size, num_records * MAX_VARINT_SIZE)
    sizes = varint.decode_all(codecs.decompress(packed_sizes, codec, max_size=sizes_limit), num_records)
    if sum(sizes) != decoded_data_size:
        raise DamagedError(f"the record sizes add up to {sum(sizes)}, the chunk header says {decoded_data_size}")
    if codec is Codec.NONE:
        return _split(data, start, sizes)
    values_limit = min(max_size, decoded_data_size)
    return _split(codecs.decompress(view[start:], codec, max_size=values_limit), 0, sizes)


def _split(values: bytes, start: int, sizes: Sequence[int]) -> list[bytes]:
    """Return consecutive slices of `values`, which `sizes` must fill from `start` to the end."""
    if len(values) - start != sum(sizes):
        raise DamagedError(f"the record sizes add up to {sum(sizes)}, the values have {len(values) - start} bytes")
    records = []
    for size in sizes:
        records.append(values[start : start + size])
        start += size
    return records
