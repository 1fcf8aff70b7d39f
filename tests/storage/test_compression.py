"""Several inputs are compressed as each of them is alone."""

import doctest
from unittest import mock

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import compression
from rlds_kit.storage.compression import FAST_LEVEL, NOISE_LEVEL, THOROUGH_LEVEL, compress, compress_each

INPUTS = st.lists(
    st.tuples(
        st.lists(st.binary(max_size=300), min_size=1, max_size=3),
        st.sampled_from([NOISE_LEVEL, FAST_LEVEL, THOROUGH_LEVEL]),
    ),
    max_size=6,
)


@given(INPUTS)
def test_each_frame_is_that_of_its_input_alone(inputs: list[tuple[list[bytes], int]]) -> None:
    """Also without a function of zstd for many inputs, which not all of its Python packages have."""
    expected = [compress(parts, level) for parts, level in inputs]
    assert compress_each(inputs) == expected
    for frame, (parts, _) in zip(expected, inputs, strict=True):
        assert zstandard.ZstdDecompressor().decompress(frame) == b"".join(parts)
    with mock.patch.object(compression, "compressor", _Plain):
        assert compress_each(inputs) == expected


class _Plain:
    """A compressor that takes one input at a time."""

    def __init__(self, level: int) -> None:
        self._compressor = zstandard.ZstdCompressor(level=level)
        self.compress = self._compressor.compress
        self.compressobj = self._compressor.compressobj


def test_examples() -> None:
    assert doctest.testmod(compression).failed == 0
