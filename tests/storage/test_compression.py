"""Several inputs are compressed as each of them is alone."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from typing import Final
from unittest import mock

import pytest
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
    with mock.patch.object(compression, "HAS_MULTI_COMPRESS", False):
        assert compress_each(inputs) == expected


CFFI_PROGRAM: Final = """
import sys
import numpy as np
import zstandard
import rlds_kit
from rlds_kit.storage.recorder import Recorder
assert zstandard.backend == "cffi"
with Recorder(sys.argv[1]) as recorder:
    episode = recorder.start_episode()
    for row in range(200):
        episode.append({"observation": np.full((20, 300), row, np.uint8), "x": row % 7, "y": row * row})
(read,) = rlds_kit.open(sys.argv[1]).episodes
assert read["y"].tolist() == [row * row for row in range(200)]
"""


def test_the_backend_of_zstandard_in_cffi_is_enough(tmp_path: Path) -> None:
    """It has no function for many inputs."""
    pytest.importorskip("zstandard._cffi")
    environment = {**os.environ, "PYTHON_ZSTANDARD_IMPORT_POLICY": "cffi"}
    command = [sys.executable, "-c", CFFI_PROGRAM, str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_examples() -> None:
    assert doctest.testmod(compression).failed == 0
