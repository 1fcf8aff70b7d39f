"""Drawn seeds of resets without one."""

import numpy as np
import pytest

from rlds_kit.logger.seeds import SeedSource


@pytest.mark.parametrize("seed", [0, 5, 2**40, np.int64(5), [1, 2], np.array([3, 4])])
def test_seeds_after_a_given_one_repeat(seed: int) -> None:
    """Whatever kind of seed it is."""
    drawn = []
    for _ in range(2):
        source = SeedSource()
        source.follow(seed)
        drawn.append([source.draw() for _ in range(5)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 5


def test_seeds_differ_without_a_given_one() -> None:
    """Two runs do not play the same episodes."""
    assert SeedSource().draw() != SeedSource().draw()


def test_seeds_leave_room_for_counting_up() -> None:
    """A vector environment adds the index of each sub-environment; 31 bits must do."""
    count = 2**31 - 1
    assert {SeedSource().draw(count) for _ in range(20)} <= {0, 1}


def test_stream_is_not_that_of_the_environment() -> None:
    """An environment seeds its own generator with the same number; ours must not repeat its draws."""
    source = SeedSource()
    source.follow(1)
    environment = np.random.default_rng(1)
    assert source.draw() != int(environment.integers(2**31))
