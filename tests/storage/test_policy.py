"""Flush policies: the meaning of each, and errors for invalid ones."""

import pytest

from rlds_kit.storage.policy import BLOCK_BYTES, BLOCK_ROWS, FlushPolicy


def test_the_default_is_the_first_of_rows_bytes_and_time() -> None:
    """By default a block has 64 rows or 8 MiB, and nothing waits for more than a second."""
    assert (BLOCK_ROWS, BLOCK_BYTES) == (64, 8 << 20)
    assert FlushPolicy() == FlushPolicy(block_rows=None, block_bytes=8 << 20, interval=1.0)


@pytest.mark.parametrize(
    ("rows", "nbytes", "full"),
    [(64, 256 << 10, True), (63, 256 << 10, False), (64, 6400, False), (640, 256 << 10, True), (1, 8 << 20, True)],
)
def test_small_rows_make_longer_blocks(rows: int, nbytes: int, *, full: bool) -> None:
    """64 rows close a block only if they have 256 KiB; a given number of rows is used exactly."""
    assert FlushPolicy().is_full(rows, nbytes) == full
    assert FlushPolicy(block_rows=64).is_full(rows, nbytes) == (rows >= 64 or nbytes >= 8 << 20)


def test_named_policies_use_no_timer() -> None:
    """What is written every step, every episode or by bytes needs no clock; `seconds` is nothing but one."""
    policies = (FlushPolicy.every_step(), FlushPolicy.every_episode(), FlushPolicy.bytes(9), FlushPolicy.manual())
    assert [policy.interval for policy in policies] == [None] * 4
    assert [policy.each_step for policy in policies] == [True, False, False, False]
    assert [policy.each_episode for policy in policies] == [False, True, False, False]
    assert [policy.each_bytes for policy in policies] == [None, None, 9, None]
    assert FlushPolicy.seconds(2.5) == FlushPolicy(interval=2.5)


@pytest.mark.parametrize("name", ["block_rows", "block_bytes", "interval", "each_bytes"])
@pytest.mark.parametrize("value", [0, -1])
def test_numbers_must_be_positive(name: str, value: int) -> None:
    """Zero rows, bytes or seconds make no sense."""
    with pytest.raises(ValueError, match=f"{name}: expected a number above 0, got {value}"):
        FlushPolicy(**{name: value})  # type: ignore[arg-type]  # one of the names above
