"""What people are owed follows from the recordings."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import rlds_kit
from rlds_kit import logger
from rlds_kit.crowd.collectors import Tally, collector, moments
from rlds_kit.crowd.incentives import (
    CROWD,
    Entry,
    Requirement,
    Reward,
    Terms,
    Treatment,
    Work,
    ledger,
    payment_csv,
    presets,
    prolific_bonuses,
    reward,
    unpaid,
)

SCORED = Treatment("scored", 100, (Requirement("score", 3),))


def record(path: Path, *episodes: tuple[dict[str, str], list[dict[str, float]], list[dict[str, str]]]) -> Path:
    """Episodes with the assignments of their seats, the rewards of each step, and who acted."""
    with logger.EpisodeWriter(path) as writer:
        for assignments, rewards, drivers in episodes:
            with writer.episode(metadata={CROWD: assignments}) as episode:
                episode.start(dict.fromkeys(assignments, 0))
                for given, who in zip(rewards, drivers, strict=True):
                    seats: dict[str, Any] = {seat: {"driver": driver} for seat, driver in who.items()}
                    episode.step(
                        dict.fromkeys(given, 1), given, dict.fromkeys(assignments, 0), acted={"play": {"seats": seats}}
                    )
    return path


BOTH = {"left": "human", "right": "human"}


@pytest.fixture
def played(tmp_path: Path) -> rlds_kit.Dataset:
    """Two seats; in the second episode a program takes over the right one after a step."""
    one = ({"left": "a1", "right": "a2"}, [{"left": 1.0, "right": 2.0}] * 2, [BOTH] * 2)
    two = ({"left": "a1", "right": "a2"}, [{"left": 2.0, "right": 2.0}] * 2, [BOTH, {**BOTH, "right": "policy"}])
    other = ({"left": "a3", "right": ""}, [{"left": 1.0, "right": 9.0}], [{"left": "human", "right": "policy"}])
    return rlds_kit.open(record(tmp_path / "d", one, two, other))


def test_c26_the_ledger_is_what_was_counted_live(played: rlds_kit.Dataset) -> None:
    """Over all episodes of an assignment; a program's steps do not count."""
    found = ledger(played, [Work(each, f"p{each}", SCORED) for each in ("a1", "a2", "a3", "a4")])
    assert {each.work.assignment: each.values["score"] for each in found} == {
        "a1": 6.0,
        "a2": 6.0,
        "a3": 1.0,
        "a4": 0.0,
    }
    assert [each.reward.total_cents for each in found] == [100, 100, 0, 0]
    live = Tally([collector("score")])
    for episode in played.episodes[:2]:
        live.begin_episode()
        live.add_all(moments(episode.steps, "left"))
    assert found[0].reward == reward(SCORED, live.values.session)


def test_c30_payments_are_a_file_without_repetition(played: rlds_kit.Dataset) -> None:
    """Nothing is paid twice, for nothing, or to test users."""
    works = [Work("a1", "worker_1", SCORED), Work("a2", "=1+1", SCORED), Work("a3", "w3", SCORED)]
    entries = ledger(played, [*works, Work("a4", "w4", SCORED)])
    to_pay = unpaid(entries, {"a2"})
    rows = [*csv.reader(io.StringIO(payment_csv(to_pay)))]
    assert rows[1:] == [["worker_1", "a1", "scored", "1.00", "0.00", "0.00", "1.00", "USD"]]
    assert unpaid(entries, {"a1", "a2"}) == ()
    assert "\n'=1+1,a2," in payment_csv(entries)
    assert unpaid(ledger(played, [Work("a1", "w", SCORED, is_test=True)]), ()) == ()
    assert prolific_bonuses(entries) == ""


def test_c30_an_assignment_is_counted_once(played: rlds_kit.Dataset) -> None:
    with pytest.raises(ValueError, match="the assignment a1: expected it once, got it twice"):
        ledger(played, [Work("a1", "p", SCORED), Work("a1", "q", SCORED)])


def test_c26_without_recordings_nothing_is_owed(tmp_path: Path) -> None:
    """Not even where nothing is required."""
    dataset = rlds_kit.open(record(tmp_path / "d", ({"left": "a1"}, [{"left": 1.0}], [{"left": "human"}])))
    (found,) = ledger(dataset, [Work("b", "p", Treatment("free", 100))])
    assert (found.reward.total_cents, found.episodes) == (0, 0)


def test_nothing_is_paid_twice_whatever_lists_what_was_paid() -> None:
    """An iterator, which ends, too; one text is no list of assignments."""
    entries = [Entry(Work(name, f"p{name}", SCORED), {}, Reward(1.0, 100, 5, 0), 1) for name in "abc"]
    assert unpaid(entries, iter(["c", "a"])) == (entries[1],)
    with pytest.raises(TypeError, match="got the text 'abc'"):
        unpaid(entries, "abc")


def test_a_participant_cannot_be_another_line_of_payments() -> None:
    evil = Entry(Work("a", "p1,1.00\nevil", SCORED), {}, Reward(1.0, 100, 5, 0), 1)
    with pytest.raises(ValueError, match="a participant of letters, digits"):
        prolific_bonuses([evil])


def test_odd_metadata_of_an_episode_is_no_assignment(tmp_path: Path) -> None:
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode(metadata={CROWD: {"player": ["a"]}}) as episode:
        episode.start(0)
        episode.step(1, 3.0, 0)
    (found,) = ledger(rlds_kit.open(tmp_path), [Work("a", "p", SCORED)])
    assert found.episodes == 0


def test_time_is_counted_at_the_rate_that_was_recorded(tmp_path: Path) -> None:
    """A rate that is given is that of episodes which record none."""
    played = {"play": {"seats": {"player": {"driver": "human"}}, "fps": 20.0}}
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode(metadata={CROWD: {"player": "a"}}) as episode:
        episode.start(0)
        episode.step(1, 3.0, 0, acted=played)
    timed = Treatment("timed", 1, (Requirement("time_played", 1),))
    (found,) = ledger(rlds_kit.open(tmp_path), [Work("a", "p", timed)], fps=10.0)
    assert found.values == {"time_played": 1 / 20}


def test_terms_come_back_from_json_as_they_were() -> None:
    """With a bonus and its formula, too."""
    for each in presets(200, 50).values():
        terms = Terms("t", each, "EUR")
        assert Terms.of_json(json.loads(json.dumps(terms.as_json()))) == terms
