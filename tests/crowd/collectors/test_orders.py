"""Orders in which aliens are shot, on memories that are drawn here."""

from collections.abc import Callable

import pytest

from rlds_kit.crowd.collectors import Alien, Formation, collector
from rlds_kit.crowd.collectors import orders as _orders
from rlds_kit.crowd.collectors.aliens import own_hits
from tests.crowd.collectors.consoles import FULL, Bits, memory, moments_of, without


def _is_right(rule: Callable[[Formation, Alien], bool], left: Bits, alien: tuple[int, int]) -> bool:
    """Whether an alien was rightly shot when these are left."""
    formation = Formation()
    formation.update(memory(left))
    return rule(formation, Alien(*alien))


def _columns(*columns: int) -> Bits:
    row = sum(1 << column for column in columns)
    return (row,) * 6


@pytest.mark.parametrize(
    ("left", "row", "is_right"),
    [
        (without(FULL, (0, 3)), 0, True),
        (without(FULL, (1, 3)), 1, False),
        ((0, *FULL[1:]), 1, True),
        ((0, 0, 0, 0, 0, 0b1), 5, True),
        ((0, 0b1, 0, 0, 0, 0b1), 5, False),
    ],
)
def test_c21_row_by_row_needs_empty_rows_below(left: Bits, row: int, *, is_right: bool) -> None:
    assert _is_right(_orders.from_below, left, (row, 3)) == is_right


@pytest.mark.parametrize(
    ("left", "column", "per_side", "strict"),
    [
        (_columns(0, 1, 2, 3, 4, 5), 0, True, True),
        (_columns(0, 1, 2, 3, 4, 5), 5, True, True),
        (_columns(0, 1, 2, 3, 4, 5), 1, False, False),
        (_columns(1, 2, 3, 4, 5), 1, True, False),  # the other side's outermost is there
        (_columns(1, 2, 3, 4), 1, True, True),
        (_columns(1, 2, 3, 4), 3, False, False),
        (_columns(2, 3, 4, 5), 2, True, False),
        (_columns(2, 3), 3, True, True),
    ],
)
def test_c22_outside_in_per_side_and_strict(left: Bits, column: int, *, per_side: bool, strict: bool) -> None:
    found = [_is_right(rule, left, (0, column)) for rule in (_orders.outside_in, _orders.outside_in_strict)]
    assert found == [per_side, strict]


@pytest.mark.parametrize(
    ("left", "column", "per_side", "strict"),
    [
        (_columns(0, 1, 2, 3, 4, 5), 2, True, True),
        (_columns(0, 1, 2, 3, 4, 5), 3, True, True),
        (_columns(0, 1, 2, 3, 4, 5), 1, False, False),
        (_columns(0, 1, 3, 4, 5), 1, True, False),
        (_columns(0, 1, 4, 5), 4, True, True),
        (_columns(0, 4, 5), 0, True, False),
        (_columns(0, 1, 5), 5, True, False),
        (_columns(0, 5), 0, True, True),
    ],
)
def test_c23_inside_out_per_side_and_strict(left: Bits, column: int, *, per_side: bool, strict: bool) -> None:
    found = [_is_right(rule, left, (0, column)) for rule in (_orders.inside_out, _orders.inside_out_strict)]
    assert found == [per_side, strict]


@pytest.mark.parametrize(("name", "expected"), [("odd_rows", 0.5), ("odd_rows_count", 1.0), ("aliens_hit", 2.0)])
def test_c24_odd_rows_and_hits(name: str, expected: float) -> None:
    """Rows 0, 2 and 4 count; both are hits."""
    count = collector(name).begin()
    first, second = without(FULL, (2, 0)), without(FULL, (2, 0), (3, 0))
    values = [*map(count, moments_of(memory(FULL), memory(first), memory(second), rewards=(15, 20)))]
    assert values[-1] == expected


def test_c20_a_shift_is_no_hit_and_columns_stay_where_they_were() -> None:
    """When the first column is empty all rows move by a bit and the place by 16; then column 1 is hit, not column 0."""
    formation = Formation()
    formation.update(memory(_columns(1, 2, 3, 4, 5), 40))
    assert formation.update(memory(_columns(0, 1, 2, 3, 4), 56)) == ()
    assert formation.update(memory(without(_columns(0, 1, 2, 3, 4), (4, 0)), 57)) == (Alien(4, 1),)
    assert formation.column_is_empty(0)


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_c20_a_hit_and_a_shift_between_two_memories(shift: int) -> None:
    """Where frames are skipped both happen at once; several columns may have been empty."""
    first = tuple(range(shift, 6))
    formation = Formation()
    formation.update(memory(without(_columns(*first), *((row, shift) for row in range(1, 6))), 40))
    left = _columns(*(column - shift - 1 for column in first[1:]))
    assert formation.update(memory(left, 41 + 16 * (shift + 1))) == (Alien(0, shift),)


def test_c21_a_new_wave_is_not_a_hit() -> None:
    """After the last alien there are 36 again, without a shift."""
    formation = Formation()
    formation.update(memory((0, 0, 0, 0, 0, 0b100), 90))
    assert formation.update(memory((0, 0, 0, 0, 0, 0), 90)) == (Alien(5, 2),)
    assert formation.update(memory(FULL, 26)) == ()
    assert formation.update(memory(without(FULL, (0, 0)), 26)) == (Alien(0, 0),)


def test_c19_two_players_own_what_they_are_paid_for() -> None:
    """The other's hit pays nothing; two hits in a frame differ in their points."""
    two = (Alien(0, 1), Alien(3, 2))
    assert own_hits(two, 20.0) == (Alien(3, 2),)
    assert own_hits(two, 5.0) == (Alien(0, 1),)
    assert own_hits(two, 25.0) == two
    assert own_hits(two, 0.0) == ()
    assert own_hits(two[:1], 1.0) == two[:1]  # clipped


@pytest.mark.parametrize(("player", "expected"), [(0, 0.5), (1, 1.0)])
def test_c24_shots_of_two_players(player: int, expected: float) -> None:
    """The second place is that of the other player; a shot that moves to the first place is no new one."""
    empty = memory(FULL, bits=0x08)
    one = memory(FULL, shot=0x55, bits=0x08)
    both = memory(FULL, shot=0x35, second=0x7F, bits=0x08)
    moved = memory(FULL, shot=0x55, bits=0x04)
    count = collector("accuracy" if player == 0 else "accuracy_second").begin()
    memories = (empty, one, both, moved, both, moved)
    values = [*map(count, moments_of(*memories, rewards=(0, 0, 5, 0, 0)))]
    assert values[-1] == expected


def test_c21_an_episode_begins_with_another_formation() -> None:
    """A session's count goes on: the first memory of an episode is no hit, whatever was left before."""
    count = collector("aliens_hit").begin()
    hit = without(FULL, (0, 0))
    values = [count(each) for _ in range(2) for each in moments_of(memory(FULL), memory(hit))]
    assert values == [1.0, 2.0]
