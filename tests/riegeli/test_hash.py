"""HighwayHash-64: published values, and C against Python."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest

from rlds_kit.riegeli import _pure_hash
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli.hash import highway_hash64

# Of the bytes 0, 1, 2, ... n-1 (mod 256), computed by Google's C++ library.
VECTORS = {
    0: 0x72C3B1E9C0139FE1, 1: 0x2CD57BC47907559D, 2: 0x79F89E5C740F5E3B, 3: 0x3BBB8DA470C80319,
    4: 0x4D9E82979AB17CE7, 5: 0xFEEFA31FEEEBED80, 15: 0x3402CB26FB217163, 16: 0x3E13BE3A4140F4A7,
    17: 0xA7084C614077EACA, 18: 0x6AB4E1B257F838BC, 19: 0x357ED62531A86044, 20: 0xFBC84E6F3DDB64E3,
    31: 0x4D262A709C34AE7D, 32: 0xB73F6DF550F9DCE4, 33: 0xEC2F920014EAA741, 47: 0x132110A48AFEAEA0,
    48: 0x277958C5B5A06961, 63: 0xBEA28B7A087E1493, 64: 0xE34B1E100F1322AF, 65: 0xB4125566520CE871,
    100: 0xE809487465A44F74, 1000: 0x64A6A10BA1110D87,
}  # fmt: skip


@pytest.mark.parametrize("size", VECTORS)
def test_hash_of_counting_bytes(size: int) -> None:
    """Every tail length and several whole packets hash as in C++."""
    assert highway_hash64(bytes(i % 256 for i in range(size))) == VECTORS[size]


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint16)])
def test_any_buffer_is_hashed(wrap: type[bytes]) -> None:
    """Bytes, bytearrays, memoryviews and arrays of the same memory have one hash."""
    data = bytes(range(100))
    assert highway_hash64(wrap(data)) == VECTORS[100]


def test_text_is_not_hashed() -> None:
    """What is no buffer is a TypeError, not a hash of something else."""
    with pytest.raises(TypeError):
        highway_hash64("text")  # type: ignore[arg-type]  # the point of the test


def test_native_and_pure_agree_on_random_bytes() -> None:
    """C (whichever variant the processor gets) and Python agree on random bytes of all small and some large sizes."""
    if native is None:
        pytest.skip("the C extension is absent")
    rng = random.Random(0)
    for size in [*range(300), *(rng.randrange(5000) for _ in range(100)), 40_000]:
        data = rng.randbytes(size)
        assert native.highway_hash64(data) == _pure_hash.highway_hash64(data), size


def test_environment_variable_selects_python() -> None:
    """RLDS_KIT_PURE=1 disables the extension even if it was built."""
    code = "from rlds_kit.riegeli._implementation import native; print(native)"
    env = {**os.environ, "RLDS_KIT_PURE": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
