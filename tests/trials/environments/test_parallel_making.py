"""PettingZoo environments: those of turns are converted where that is right; games of Atari find their ROMs."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.trials import ActorConfig, EnvironmentSpec, TrialSetup, run_trials
from rlds_kit.trials.environments.parallel_catalogue import parallel_catalogue
from rlds_kit.trials.environments.parallel_making import make_parallel
from rlds_kit.trials.environments.parallel_playable import ParallelPlayable

pytest.importorskip("pettingzoo")
MODULE = "tests.trials.environments.taking_turns"


def _spec(name: str, **kwargs: Any) -> EnvironmentSpec:
    return EnvironmentSpec(name, kwargs, interface="pettingzoo", is_for_people=False)


def test_an_environment_of_turns_is_played_in_rounds(tmp_path: Path) -> None:
    """Each step is a round with the actions of all."""
    actors = {
        seat: ActorConfig(implementation="scripted", config={"actions": actions})
        for seat, actions in (("left", [1, 2, 3]), ("right", [4, 0, 1]))
    }
    setup = TrialSetup(environment=_spec(f"{MODULE}:Rounds"), actors=actors, seed=1)
    (trial,) = run_trials(setup, 1, directory=tmp_path, is_here=True)
    assert (trial.steps, trial.totals) == (3, {"left": 23.0, "right": 23.0})
    steps = list(rlds_kit.open(tmp_path).episodes[0].steps)[:-1]
    assert [step["action"] for step in steps] == [
        {"left": 1, "right": 4},
        {"left": 2, "right": 0},
        {"left": 3, "right": 1},
    ]
    assert [step["reward"]["left"] for step in steps] == [5.0, 7.0, 11.0]


@pytest.mark.parametrize("name", [f"{MODULE}:Turns", "classic/tictactoe-v3"])
def test_agents_that_act_in_turns_are_refused(name: str) -> None:
    """One that changes in the middle of a round would show some agents what others did."""
    with pytest.raises(ValueError, match=r"act at once, got .*, whose agents act in turns; a parallel_env"):
        make_parallel(_spec(name))


def test_the_catalogue_has_those_that_can_be_converted() -> None:
    found = parallel_catalogue([MODULE])
    assert f"{MODULE}:Rounds" in found
    assert f"{MODULE}:Turns" not in found
    assert "classic/tictactoe-v3" not in found


def test_a_game_of_atari_finds_its_rom() -> None:
    """Two players see the same picture of two scores, the rewards of one are the other's losses."""
    playable = ParallelPlayable(_spec("atari/pong-v3", max_cycles=300))
    try:
        playable.reset(5, None)
        totals = np.zeros(2)
        for number in range(300):
            outcome = playable.step({"first_0": 1, "second_0": number % 6})
            totals += [outcome.rewards[seat] or 0.0 for seat in playable.seats]
        assert totals[0] == -totals[1] != 0
        assert outcome.ending is not None
        assert np.asarray(playable.picture(0)).shape == (210, 160, 3)
    finally:
        playable.close()


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "multi_agent_ale_py", None)
    with pytest.raises(MissingExtraError, match=r"\[multi-agent-atari\]"):
        make_parallel(_spec("atari/pong-v3"))
