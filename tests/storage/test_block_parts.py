"""Blocks that stay heavy when compressed: how they are cut, and that nothing is lost by it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.storage.block_parts import FEWEST_ROWS, HEAVY_BYTES, rows_of_parts
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools.upkeep.verify import verify
from tests.storage.truth import GivingRecorder, assert_whole

SHAPE = (128, 128, 2)
DECLARED = specs.Dict(
    {
        "observation": specs.Array(SHAPE, np.uint8),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)


@given(st.integers(0, 1000), st.integers(1, 600), st.floats(0, 1e9))
def test_parts_have_every_row_once(first: int, count: int, row_bytes: float) -> None:
    """In order; none is heavy unless it has few rows, and none has few rows unless the block has."""
    rows = range(first, first + count)
    parts = list(rows_of_parts(rows, row_bytes))
    assert [row for part in parts for row in part] == list(rows)
    largest = max(map(len, parts))
    assert largest * row_bytes <= HEAVY_BYTES + row_bytes or largest < 2 * FEWEST_ROWS
    assert len(parts) == 1 or all(len(part) >= FEWEST_ROWS for part in parts[:-1])


def _record(directory: Path, policy: FlushPolicy, *, noise: bool) -> tuple[Any, GivingRecorder]:
    """One episode of frames of 32 KiB, with texts that come and go, and a field of the agent's that is not declared."""
    rng = np.random.default_rng(0)
    still = rng.integers(0, 256, SHAPE, np.uint8)
    with Recorder(directory, DECLARED, policy=policy) as recorder:
        episode = GivingRecorder(recorder)
        for row in range(200):
            frame = rng.integers(0, 256, SHAPE, np.uint8) if noise else still
            observed = {"observation": frame, "info": {"note": "x" * (row % 5)} if row % 3 else {}}
            episode.append(
                observed, {"action": row, "reward": row / 2, "logits": np.full(row % 4, row)} if row else None
            )
        episode.end(EpisodeEnd.TERMINATED)
    return rlds_kit.open(directory), episode


def _rows_of_blocks(dataset: Any) -> list[int]:
    (entry,) = dataset.source().entries
    return [int(end - first) for first, end in zip(entry.first_row, entry.end_row, strict=True)]


def test_noise_is_recorded_in_small_blocks(tmp_path: Path) -> None:
    """From the second block on, when it is known what rows weigh; every value is as given, and `verify` is content."""
    dataset, given_episode = _record(tmp_path / "noise", FlushPolicy(interval=None), noise=True)
    first, *others = _rows_of_blocks(dataset)
    assert first == 64
    assert max(others) == 11
    assert_whole(dataset, [given_episode.given])
    assert not verify(tmp_path / "noise").problems


def test_what_compresses_stays_in_one_block(tmp_path: Path) -> None:
    """Frames that are alike weigh little."""
    dataset, _ = _record(tmp_path / "still", FlushPolicy(interval=None), noise=False)
    assert _rows_of_blocks(dataset) == [64, 64, 64, 8]


def test_a_number_of_rows_is_taken_at_its_word(tmp_path: Path) -> None:
    """A given number of rows per block is used; the content, and so its digest, is the same."""
    cut, _ = _record(tmp_path / "cut", FlushPolicy(interval=None), noise=True)
    whole, _ = _record(tmp_path / "whole", FlushPolicy(block_rows=50, interval=None), noise=True)
    assert _rows_of_blocks(whole) == [50, 50, 50, 50]
    assert cut.episodes[0].content_digest == whole.episodes[0].content_digest
    assert np.array_equal(cut.episodes[0]["observation"], whole.episodes[0]["observation"])


@pytest.mark.parametrize("begin", [0, 63, 64, 71, 72, 199])
def test_single_rows_of_parts_are_right(tmp_path: Path, begin: int) -> None:
    """At every border the action of a step is that step's, though it is stored with the next observation."""
    dataset, _ = _record(tmp_path, FlushPolicy(interval=None), noise=True)
    part = dataset.episodes[0][begin : begin + 2]
    defined = np.arange(begin, min(begin + 2, 199))
    assert part["action"][: len(defined)].tolist() == (defined + 1).tolist()
