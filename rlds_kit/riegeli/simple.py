"""Simple chunks: record sizes in one buffer, record contents in another.

"Simple chunk with records" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

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
    sizes = compress(varint.encode_all([*map(len, records)]))
    head = bytes((codec,)) + varint.encode(len(sizes)) + sizes
    if codec is Codec.NONE:
        return b"".join((head, *records))
    return head + compress(b"".join(records))


def decode(
    data: bytes, num_records: int, decoded_data_size: int, *, max_size: int = codecs.MAX_DECODED_SIZE
) -> list[bytes]:
    """Return the records of a simple chunk's data.

    `num_records` and `decoded_data_size` are from the chunk's header; `max_size` is the largest
    buffer to decompress, in bytes.

    Raises:
        DamagedError: the data and the header do not fit together, or a buffer is broken.

    >>> decode(bytes.fromhex("000303000561626368656c6c6f"), 3, 8)
    [b'abc', b'', b'hello']
    """
    values, start, sizes = _parse(data, num_records, decoded_data_size, max_size)
    return [values[begin:end] for begin, end in pairwise(accumulate(sizes, initial=start))]


def decode_last(data: bytes, num_records: int, decoded_data_size: int) -> bytes:
    """Return the last record, which must exist, without slicing the others. Arguments and errors as in `decode`.

    >>> decode_last(bytes.fromhex("000303000561626368656c6c6f"), 3, 8)
    b'hello'
    """
    values, _, sizes = _parse(data, num_records, decoded_data_size, codecs.MAX_DECODED_SIZE)
    return values[len(values) - sizes[-1] :]


def _parse(data: bytes, num_records: int, decoded_data_size: int, max_size: int) -> tuple[bytes, int, list[int]]:
    """Return the buffer of the values, where the first begins, and the sizes of all."""
    if not data:
        raise DamagedError("a simple chunk has no data")
    view = memoryview(data)
    codec = codecs.parse_codec(view[0])
    packed_sizes, start = codecs.take_length_prefixed(view, 1)
    sizes_limit = min(max_size, num_records * MAX_VARINT_SIZE)
    sizes = varint.decode_all(codecs.decompress(packed_sizes, codec, max_size=sizes_limit), num_records)
    if sum(sizes) != decoded_data_size:
        raise DamagedError(f"the record sizes add up to {sum(sizes)}, the chunk header has {decoded_data_size}")
    values = data
    if codec is not Codec.NONE:
        values, start = codecs.decompress(view[start:], codec, max_size=min(max_size, decoded_data_size)), 0
    if len(values) - start != decoded_data_size:
        raise DamagedError(f"the record sizes add up to {sum(sizes)}, the values have {len(values) - start} bytes")
    return values, start, sizes
