"""A hash of values that come piece by piece is the one of all of them, also if a filter adds them while it encodes."""

from collections.abc import Callable

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import filters, runs
from rlds_kit.storage.native import native
from rlds_kit.storage.rows import Rows, Stored
from rlds_kit.storage.running_hash import RunningHash

SIZES = (
    st.integers(0, 20) | st.integers(0, 3_000) | st.sampled_from([63, 64, 65, 240, 241, 255, 256, 257, 1_024, 1_025])
)
Hashing = Callable[[Rows, RunningHash | None], Stored]


@given(st.lists(st.tuples(SIZES, st.integers(0, 2**32 - 1)), max_size=6))
def test_pieces_have_the_hash_of_the_whole(given_pieces: list[tuple[int, int]]) -> None:
    """Of any sizes, and after each of them: the package xxhash, which readers use, finds the same."""
    running, whole = RunningHash(), b""
    assert running.digest() == xxhash.xxh3_128_digest(whole)
    for size, seed in given_pieces:
        piece = np.random.default_rng(seed).bytes(size)
        running.update(memoryview(piece))
        whole += piece
        assert running.digest() == xxhash.xxh3_128_digest(whole)


@pytest.mark.parametrize(
    ("encode", "twin"), [(runs.runs, runs.runs_twin), (filters.sparse_xor, filters.sparse_xor_twin)]
)
@pytest.mark.parametrize("shape", [(1, 1), (5, 40), (3, 257), (4, 1_024), (2, 300_000)])
def test_filters_hash_what_they_encode(
    encode: Hashing, twin: Callable[[Rows], Stored], shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two blocks, one after the other, and the result is as without a hash; with C and without."""
    noise = np.random.default_rng(1)
    blocks = [(noise.integers(0, 9, shape) // 8).astype(np.uint8) for _ in range(2)]
    expected = xxhash.xxh3_128_digest(b"".join(each.tobytes() for each in blocks))
    for module in (None, runs, filters):
        if module is not None:
            monkeypatch.setattr(module, "native", None)  # the hash may still be one in C
        running = RunningHash()
        for block in blocks:
            assert encode(block, running).tolist() == twin(block).tolist() == encode(block, None).tolist()
        assert running.digest() == expected


@pytest.mark.skipif(native is None, reason="needs the C extension")
@pytest.mark.parametrize("state", [b"", bytes(343), b"\xff" * 344])
def test_other_memory_is_not_a_hash(state: bytes) -> None:
    """Of another size, or with counts that lead out of it."""
    assert native is not None
    rows, memory = np.zeros((2, 8), np.uint8), bytearray(state)
    with pytest.raises(ValueError, match="expected a hash from new_hash"):
        native.add(memory, rows)
    with pytest.raises(ValueError, match="expected a hash from new_hash"):
        native.digest(memory)
    with pytest.raises(ValueError, match="expected a hash from new_hash"):
        native.runs(rows, 2, memory)
