"""Requirements, bonuses and treatments."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.crowd.incentives import (
    Bonus,
    Formula,
    Requirement,
    Treatment,
    completion,
    draw_raffle,
    presets,
    reward,
    reward_in_proportion,
)
from rlds_kit.crowd.incentives.ledger import amount

COUNT, FRACTION = "inside_out_count", "inside_out"


@pytest.mark.parametrize(
    ("formula", "number", "fraction", "expected"),
    [
        (Formula.SLIDING, 200, 1.0, 1.0),
        (Formula.SLIDING, 400, 1.0, 1.0),
        (Formula.SLIDING, 100, 1.0, 0.5),
        (Formula.SLIDING, 100, 0.75, 0.25),
        (Formula.SLIDING, 200, 0.5, 0.0),
        (Formula.SLIDING, 200, 0.3, 0.0),
        (Formula.SLIDING, 0, 1.0, 0.0),
        (Formula.CODE_2022, 200, 1.0, 1.0),
        (Formula.CODE_2022, 100, 1.0, 0.5),
        (Formula.CODE_2022, 200, 0.75, 0.375),  # the fraction counts twice
        (Formula.CODE_2022, 50, 0.75, 0.125),
        (Formula.CODE_2022_STRICTER, 200, 1.0, 0.002),
        (Formula.CODE_2022_STRICTER, 10_000, 0.75, 0.00075),
    ],
)
def test_c27_golden_values_of_the_formulas(formula: Formula, number: float, fraction: float, expected: float) -> None:
    """The formula as meant, and those of the published code."""
    part = Bonus(100, COUNT, FRACTION, formula).part({COUNT: number, FRACTION: fraction})
    assert part == pytest.approx(expected, abs=1e-12)


def test_c27_the_stricter_code_pays_less_than_a_cent() -> None:
    """At most 0.6 cent of 3.00, whatever a person does."""
    assert Bonus(300, COUNT, FRACTION, Formula.CODE_2022_STRICTER).cents({COUNT: 1e6, FRACTION: 1.0}) == 0


@given(st.sampled_from(Formula), st.integers(0, 1000), st.floats(0, 1), st.integers(0, 100))
def test_c26_a_bonus_is_within_its_limits_and_grows(formula: Formula, number: int, fraction: float, more: int) -> None:
    """From nothing to the most, and no lower with more that was right."""
    bonus = Bonus(150, COUNT, FRACTION, formula)
    first = bonus.cents({COUNT: float(number), FRACTION: fraction})
    assert 0 <= first <= 150
    assert first <= bonus.cents({COUNT: float(number + more), FRACTION: fraction})


def test_c25_completion_is_the_least_requirement() -> None:
    """40 of 50 aliens and all of the time are 80 %; more than required is 100 %, not more."""
    required = [Requirement(COUNT, 50), Requirement("time_played", 300)]
    assert completion(required, {COUNT: 40.0, "time_played": 500.0}) == 0.8
    assert completion(required, {COUNT: 60.0, "time_played": 500.0}) == 1.0
    assert completion(required, {COUNT: 60.0}) == 0.0
    assert completion(required, {COUNT: float("nan"), "time_played": 300.0}) == 0.0


def test_c25_the_state_is_itemised_for_people() -> None:
    assert Requirement(COUNT, 50).text({COUNT: 40.0}) == "Aliens shot inside out: 40 (required: 50)"
    assert Requirement(FRACTION, 0.8).text({FRACTION: 0.799}) == "Aliens shot inside out, of all: 79 % (required: 80 %)"


@pytest.mark.parametrize("number", [0, -1, float("nan"), float("inf")])
def test_c25_numbers_must_be_above_nothing(number: float) -> None:
    with pytest.raises(ValueError, match="expected a number above 0"):
        Requirement("score", number)
    with pytest.raises(ValueError, match="expected a number above 0"):
        Bonus(100, COUNT, FRACTION, full_at=number)


PLAYED = {"time_played": 300.0, "active_time": 10.0}
ACTIVE = {"time_played": 300.0, "active_time": 300.0}
GOOD = {**ACTIVE, COUNT: 100.0, FRACTION: 1.0}


@pytest.mark.parametrize(
    ("treatment", "played", "active", "good"),
    [
        ("none", 200, 200, 200),
        ("active_time", 0, 200, 200),
        ("minimum", 0, 0, 200),
        ("sliding_bonus", 0, 50, 125),
        ("all", 0, 0, 125),
        ("raffle", 0, 0, 0),
        ("challenge", 0, 0, 0),
    ],
)
def test_c28_treatments_pay_for_what_they_say(treatment: str, played: int, active: int, good: int) -> None:
    """For time alone, for active time, and for 100 aliens that were all rightly shot: half of the bonus."""
    found = presets(200, 50)[treatment]
    assert [reward(found, values).total_cents for values in (PLAYED, ACTIVE, GOOD)] == [played, active, good]


@given(st.floats(0, 400), st.integers(0, 500))
def test_pay_in_proportion_is_between_nothing_and_what_all_gives(played: float, base: int) -> None:
    """It is never less than the part that was done, and a bonus only with all of it."""
    treatment = Treatment("t", base, (Requirement("time_played", 300),), Bonus(100, "score", "score"), tickets=1)
    values = {"time_played": played, "score": 1000.0}
    whole, part = reward(treatment, values), reward_in_proportion(treatment, values)
    assert part.completion == whole.completion
    if played >= 300:
        assert part == whole
    else:
        assert base * played / 300 - 1e-6 <= part.base_cents <= base
        assert (part.bonus_cents, part.tickets, whole.total_cents) == (0, 0, 0)


def test_c28_base_and_full_bonus_are_the_lump_sum() -> None:
    full = {**ACTIVE, COUNT: 200.0, FRACTION: 1.0}
    found = presets(200, 50)
    assert {name: reward(found[name], full).total_cents for name in ("none", "sliding_bonus", "all")} == {
        "none": 200,
        "sliding_bonus": 200,
        "all": 200,
    }
    assert reward(found["raffle"], full).tickets == 1
    assert reward(found["raffle"], PLAYED).tickets == 0
    with pytest.raises(ValueError, match="less than 50, got 50"):
        presets(50, 50)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 5)), st.integers(0, 6), st.integers(0, 9))
def test_c31_a_raffle_draws_each_once_and_only_with_a_ticket(tickets: dict[str, int], prizes: int, seed: int) -> None:
    winners = draw_raffle(tickets, prizes, random.Random(seed).randrange)
    assert len(set(winners)) == len(winners) == min(prizes, sum(number > 0 for number in tickets.values()))
    assert all(tickets[name] > 0 for name in winners)


@pytest.mark.parametrize("formula", list(Formula))
@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_numbers_that_are_none_earn_nothing(formula: Formula, odd: float) -> None:
    """As for a requirement."""
    bonus = Bonus(150, COUNT, FRACTION, formula)
    assert bonus.cents({COUNT: 100.0, FRACTION: odd}) == 0
    assert bonus.cents({COUNT: odd, FRACTION: 1.0}) == bonus.cents({FRACTION: 1.0})


@pytest.mark.parametrize("cents", [1.5, float("nan"), -1])
def test_money_is_whole_cents(cents: float) -> None:
    with pytest.raises(ValueError, match="a whole number from 0 on"):
        Treatment("odd", cents)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="whole number of cents"):
        amount(cents)  # type: ignore[arg-type]  # what is tested
