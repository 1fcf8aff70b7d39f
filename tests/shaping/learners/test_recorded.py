"""Training from stored feedback, and states as files."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from rlds_kit.shaping.credit import GammaDelay, NextStep, UniformWindow, aggregate_labels
from rlds_kit.shaping.environments import PlacementTetris
from rlds_kit.shaping.feedback import FeedbackStream, StepClock, read_feedback, write_feedback
from rlds_kit.shaping.learners import (
    Tamer,
    learn_again,
    load_state,
    mountain_car_tamer,
    save_state,
    tetris_tamer,
    train,
)
from tests.shaping.learners.trainings import DRIVING, PLACING
from tests.shaping.streams import press, recorded, regular_clock


def _played(tamer: Tamer, n_games: int) -> list[tuple[list[tuple[object, object]], FeedbackStream]]:
    """Games of Mountain Car of at most 80 steps."""
    env = gymnasium.make("MountainCar-v0", max_episode_steps=80)
    return [(list(game.steps), game.feedback) for game in train(env, tamer, DRIVING, n_games=n_games, seed=5)]


@pytest.mark.parametrize("assigner", [NextStep(), UniformWindow(0.2, 0.6), GammaDelay()], ids=repr)
@pytest.mark.parametrize("form", ["per_step", "aggregate"])
def test_stored_feedback_gives_the_same_weights(tmp_path: Path, assigner: object, form: str) -> None:
    """Bit for bit, also with what came after the end of each game."""
    options = {} if form == "per_step" else {"labelling": aggregate_labels}
    online, offline = mountain_car_tamer(assigner, **options), mountain_car_tamer(assigner, **options)  # type: ignore[arg-type]  # of the test
    games = _played(online, 2)
    dataset = recorded(tmp_path, *[len(steps) for steps, _ in games])
    for episode, (_, feedback) in zip(dataset.episodes, games, strict=True):
        write_feedback(dataset, episode.id, feedback, "host")
    for episode, (steps, _) in zip(dataset.episodes, games, strict=True):
        learn_again(offline, steps, read_feedback(dataset.refresh(), episode))
    assert online.n_feedbacks == offline.n_feedbacks > 10
    assert online.model.weights.tobytes() == offline.model.weights.tobytes()


def test_replay_is_learned_again_with_the_same_bits() -> None:
    """A game of Tetris of at most 30 pieces."""
    online, offline = tetris_tamer(seed=1), tetris_tamer(seed=1)
    (game,) = train(PlacementTetris(max_pieces=30), online, PLACING, n_games=1, seed=1)
    learn_again(offline, game.steps, game.feedback)
    assert online.model.weights.any()
    assert online.model.weights.tobytes() == offline.model.weights.tobytes()


@pytest.mark.parametrize("replayed", [True, False])
def test_a_state_is_read_as_it_was_saved(tmp_path: Path, replayed: bool) -> None:
    """And what is learned afterwards is the same."""
    first, second = (tetris_tamer(seed=1) if replayed else mountain_car_tamer() for _ in range(2))
    observation = {"board": np.zeros((20, 10)), "piece": 0} if replayed else np.zeros(2)
    steps = [(observation, 0)] * 3
    learn_again(first, steps, FeedbackStream([press(0, 250, marks=3)], regular_clock(3)))
    save_state(first, tmp_path / "state.npz")
    load_state(second, tmp_path / "state.npz")
    for each in (first, second):
        learn_again(each, steps, FeedbackStream([press(0, 260, -1.0, marks=3)], regular_clock(3)))
    assert first.model.weights.tobytes() == second.model.weights.tobytes()
    assert first.n_feedbacks == second.n_feedbacks


def test_a_file_that_is_no_state_is_an_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(ValueError, match="expected a file that save_state wrote"):
        load_state(mountain_car_tamer(), tmp_path / "other.npz")


@pytest.mark.parametrize("damage", ["empty", "array", "list", "text", "nan", "half"])
def test_damaged_states_are_errors_of_one_kind(tmp_path: Path, damage: str) -> None:
    """The agent stays as it was."""
    agent, path = mountain_car_tamer(), tmp_path / "state.npz"
    save_state(agent, str(path))
    weights, about = agent.model.weights.copy(), '{"n_feedbacks": 9, "random": null}'
    if damage == "array":
        with path.open("wb") as file:
            np.save(file, weights)
    elif damage in {"empty", "half"}:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 if damage == "half" else 0])
    else:
        changed = {"text": weights.astype("U3"), "nan": weights * np.nan}.get(damage, weights)
        np.savez(path, about=np.array("[1]" if damage == "list" else about), weights=changed)
    with pytest.raises(ValueError, match=r"expected (a file that save_state wrote|finite weights)"):
        load_state(agent, str(path))
    assert (agent.model.weights.tobytes(), agent.n_feedbacks) == (weights.tobytes(), 0)


def test_feedback_of_a_longer_episode_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected feedback about at most 2 steps, which the episode has"):
        learn_again(mountain_car_tamer(), [(np.zeros(2), 0)] * 2, FeedbackStream([], StepClock(regular_clock(3).marks)))
