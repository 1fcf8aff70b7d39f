"""The examples of people and agents together, with simulated people, and the share of trials with people."""

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlds_kit.trials import EnvironmentSpec, PeopleShare, TrialSetup, run_trials

EXAMPLES = Path(__file__).parents[3] / "examples" / "people"
needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="a wheel holds no examples")


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"rlds_kit_example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.thorough
@needs_examples
def test_g28_people_act_with_agents(tmp_path: Path) -> None:
    """A team with a person does better than one with a person who acts at random."""
    found = _example("act_with_agents").main(tmp_path)
    assert found["with a person"] > found["at random"]


@needs_examples
def test_g28_people_evaluate_agents(tmp_path: Path) -> None:
    """Their late judgements rank the agents as they are."""
    assert list(_example("evaluate").main(tmp_path)) == ["careful", "average", "careless"]


@pytest.mark.thorough
@needs_examples
def test_g28_people_demonstrate(tmp_path: Path) -> None:
    found = _example("demonstrate").main(tmp_path)
    assert found["clone"] > 2 * found["random"]


@pytest.mark.thorough
@needs_examples
def test_g28_people_teach_and_override(tmp_path: Path) -> None:
    """The agent needs them less in each round."""
    shares = _example("teach_and_override").main(tmp_path)
    assert shares[0] > 2 * shares[-1]


@needs_examples
def test_g28_people_set_tasks(tmp_path: Path) -> None:
    """Harder ones step by step, until the agent fails."""
    tasks = _example("set_tasks").main(tmp_path)
    assert tasks[:4] == [0, 0, 0, 1]
    assert max(tasks) >= 2
    assert all(abs(one - two) <= 1 for one, two in itertools.pairwise(tasks))


@needs_examples
def test_g28_g31_a_share_of_trials_has_people(tmp_path: Path) -> None:
    """Over HTTP, in every fourth trial."""
    found = _example("share_with_people").main(tmp_path)
    assert found["share"] == 0.25
    assert found["with a person"] > found["without"]


@example(0.5, [False, True, False, True])
@given(st.floats(0, 1), st.lists(st.booleans(), max_size=50))
def test_g31_the_share_is_honoured_at_any_time(share: float, available: list[bool]) -> None:
    """Of the trials that began while people were there, give or take one, for every beginning of the row."""
    now = iter(available)
    scheduler = PeopleShare(share, {}, lambda: next(now))
    counted = chosen = 0
    for is_available in available:
        is_theirs = scheduler.next()
        counted, chosen = counted + is_available, chosen + is_theirs
        assert is_available or not is_theirs
        assert abs(chosen - share * counted) < 1


def test_g31_people_take_their_seats_and_the_trial_says_so() -> None:
    setup = TrialSetup(environment=EnvironmentSpec("CartPole-v1"), actors={"player": "random"}, seed=1, max_steps=5)
    share = PeopleShare(0.5, {"player": "scripted"})
    trials = list(run_trials(setup, 4, is_here=True, parallel=1, hooks=[share]))
    assert [trial.setup.properties["with_people"] for trial in trials] == [False, True, False, True]
    assert ["[...]" in trial.reason for trial in trials] == [False, True, False, True]  # scripted has no actions here
    with pytest.raises(ValueError, match="share of 0 to 1"):
        PeopleShare(1.5, {})
