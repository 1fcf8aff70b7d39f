"""Which part an episode belongs to: proportions, stability, and what is refused."""

import doctest
import uuid

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.base import split
from rlds_kit.base.split import part_of

fractions = st.lists(st.floats(0.05, 1), min_size=1, max_size=4).map(
    lambda sizes: {f"part {number}": size / sum(sizes) for number, size in enumerate(sizes)}
)


def test_examples_of_docstrings() -> None:
    """Runs the examples of all docstrings."""
    assert doctest.testmod(split).failed == 0


@settings(max_examples=20)
@given(fractions, st.integers(0, 2**63 - 1))
def test_parts_have_their_share(sizes: dict[str, float], seed: int) -> None:
    """Of 2000 ids, each part gets its fraction, give or take five standard deviations."""
    parts = [part_of(number, sizes, seed) for number in range(2000)]
    for name, size in sizes.items():
        assert abs(parts.count(name) - 2000 * size) <= 5 * (2000 * size * (1 - size)) ** 0.5


@given(st.text(max_size=20), st.floats(0.1, 0.4), st.floats(0.1, 0.4))
def test_growing_a_part_takes_nothing_from_it(episode_id: str, size: float, more: float) -> None:
    """What was in the training part stays there when the part grows."""
    before = part_of(episode_id, {"train": size, "test": 1 - size})
    after = part_of(episode_id, {"train": size + more, "test": 1 - size - more})
    assert (before, after) != ("train", "test")


def test_the_split_never_changes() -> None:
    """These are golden: another result would move episodes between parts of datasets in use."""
    ids: list[str | bytes | int | uuid.UUID] = ["", "a", "episode 17", "Ünïcödé", b"\x00\xff", 17, -3, uuid.UUID(int=5)]
    sizes = {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}
    assert "".join(part_of(one, sizes) for one in ids) == "dabdccbb"
    assert "".join(part_of(one, sizes, seed=7) for one in ids) == "bddbdcbc"


def test_kinds_of_ids_with_the_same_text_are_the_same() -> None:
    """A number is its decimal text, a UUID its usual text, text is UTF-8."""
    sizes = {str(number): 1 / 64 for number in range(64)}
    one = uuid.UUID("12345678-1234-5678-1234-567812345678")
    assert part_of(17, sizes) == part_of("17", sizes) == part_of(b"17", sizes)
    assert part_of(one, sizes) == part_of(str(one), sizes)


def test_tiny_parts_and_rounded_sums_work() -> None:
    """Ten times a tenth is not quite 1, and that is fine."""
    assert part_of("a", {str(number): 0.1 for number in range(10)}) in set("0123456789")
    assert part_of("a", {"rare": 1e-15, "rest": 1 - 1e-15}) == "rest"


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"train": 0.9, "test": 0.2}, "sum to 1.1"),
        ({"train": 0.9}, "sum to 0.9"),
        ({"train": 1.0, "test": 0.0}, "above 0, got {'test': 0.0}"),
        ({"train": 1.5, "test": -0.5}, "above 0, got {'test': -0.5}"),
        ({"train": float("nan")}, "above 0"),
        ({}, "got none"),
        ({"train": np.float32(0.9), "test": np.float32(0.1)}, "give Python's floats"),
    ],
)
def test_fractions_of_no_whole_are_refused(sizes: dict[str, float], message: str) -> None:
    """The message names the invalid fraction, or the sum."""
    with pytest.raises(ValueError, match=message):
        part_of("a", sizes)


def test_a_list_of_fractions_is_refused() -> None:
    with pytest.raises(TypeError, match=r'expected fractions by name, such as {"train": 0.9, .* got \[0.9, 0.1\]'):
        part_of("a", [0.9, 0.1])  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    """The range is that of the hash's key."""
    with pytest.raises(ValueError, match="expected a seed from 0"):
        part_of("a", {"all": 1}, seed)
