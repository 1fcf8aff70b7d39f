"""Codecs of Blosc2 and pcodec; runs in their environment."""

from collections.abc import Iterator

import blosc2
import numpy as np
from pcodec import ChunkConfig, standalone

from floats_side.codec import Codec


def candidates() -> Iterator[Codec]:
    """Both with their default levels, in one thread."""
    for shuffle in (blosc2.Filter.SHUFFLE, blosc2.Filter.BITSHUFFLE):
        for codec in (blosc2.Codec.LZ4, blosc2.Codec.ZSTD):
            yield _blosc2(shuffle, codec)
    yield Codec("pcodec", _pcodec, _from_pcodec)


def _blosc2(shuffle: blosc2.Filter, codec: blosc2.Codec) -> Codec:
    def encode(block: np.ndarray) -> bytes:
        options = {"typesize": block.itemsize, "codec": codec, "filters": [shuffle], "nthreads": 1}
        found: bytes = blosc2.compress2(block, **options)
        return found

    def decode(stored: bytes, out: np.ndarray) -> None:
        blosc2.decompress2(stored, dst=out, nthreads=1)

    return Codec(f"Blosc2, {shuffle.name.lower()}, {codec.name.lower()}", encode, decode)


def _pcodec(block: np.ndarray) -> bytes:
    """The numbers of a vector one after the other, each with all its rows: much smaller than row by row."""
    found: bytes = standalone.simple_compress(np.ascontiguousarray(block.T).reshape(-1), ChunkConfig())
    return found


def _from_pcodec(stored: bytes, out: np.ndarray) -> None:
    flat = np.empty(out.size, out.dtype)
    standalone.simple_decompress_into(stored, flat)
    out[...] = flat.reshape(out.shape[::-1]).T
