"""Rewards of a model in a dataset, an environment, a trial, and for the choice of queries."""

import dataclasses
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import rlds_kit
from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping import rewards as rw
from rlds_kit.trials import ActorConfig, EnvironmentSpec, TrialSetup, run_trials
from tests.shaping.preferences.recorded import record
from tests.shaping.rewards.models import linear


def test_a_layer_has_a_reward_for_every_action(tmp_path: Path) -> None:
    """The source names the model; the dataset is unchanged, its amended view has the rewards."""
    dataset, model = record(tmp_path / "data"), linear(10.0, 1.0)
    assert rw.annotate_rewards(dataset, model, "model") == 12 + 9 + 10
    amended = dataset.as_amended("model")
    for number, episode in enumerate(amended.episodes):
        acted = episode.length - 1
        assert episode["reward"][:-1].tolist() == [10 * number + step for step in range(acted)]
    assert dataset.layer("model").sources == [f"reward_model:{rw.digest(model)}"]
    assert set(dataset.episodes[1]["reward"]) == {0.0}


def test_a_model_that_reads_what_is_missing_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    dataset = record(tmp_path / "data")
    with pytest.raises((rlds_kit.SpecError, KeyError)):
        rw.annotate_rewards(dataset, linear(1.0, fields=("speed",)), "model")
    with pytest.raises(rlds_kit.SpecError, match="vectors of 3 numbers"):
        rw.annotate_rewards(dataset, linear(1.0, 2.0, 3.0), "model")
    assert dataset.layers == ()


def test_an_environment_has_the_rewards_of_a_model() -> None:
    """For the observation before the action, and the action; its own reward is in the info."""
    model = linear(1.0, 2.0, 3.0, 4.0, 100.0, fields=("observation", "action"))
    env = rw.ModelReward(gym.make("CartPole-v1"), model)
    before, _ = env.reset(seed=0)
    for action in (0, 1, 1):
        after, reward, _, _, info = env.step(action)
        assert reward == pytest.approx(float(before @ np.array([1, 2, 3, 4])) + 100 * action, abs=1e-5)
        assert info["environment_reward"] == 1.0
        before = after
    with pytest.raises(rlds_kit.SpecError, match="reads observation or action"):
        rw.ModelReward(gym.make("CartPole-v1"), linear(1.0, fields=("speed",)))


def test_an_actor_judges_a_trial_as_the_layer_would(tmp_path: Path) -> None:
    """Every step but the last one, which an observer does not see the end of."""
    model = linear(0.0, 1.0, 0.5, 0.0)
    sha256 = rw.save(model, tmp_path / "model")
    config = {"model": str(tmp_path / "model"), "sha256": sha256}
    setup = TrialSetup(
        environment=EnvironmentSpec("CartPole-v1", has_teacher=True),
        actors={"player": "random", "teacher": ActorConfig(implementation=rw.RewardJudge, config=config)},
        seed=3,
        max_steps=12,
    )
    (trial,) = run_trials(setup, 1, directory=tmp_path / "data", is_here=True)
    dataset = rlds_kit.open(tmp_path / "data")
    (episode,) = dataset.episodes
    wanted = model.of_steps({"observation": episode["observation"]})[: trial.steps]
    found, given = dataset.layer("judgements").rewards(episode)
    assert given.tolist() == [*[True] * (trial.steps - 1), False, False]
    assert found[: trial.steps - 1] == pytest.approx(wanted[:-1])


def test_scores_choose_what_members_disagree_about(tmp_path: Path) -> None:
    """Of each member, the sum over the steps of a segment."""
    dataset = record(tmp_path / "data")
    segments = pf.cut(dataset.episodes, 4)
    found = rw.scores(dataset, linear(10.0, 1.0))(segments)
    numbers = {episode.id: number for number, episode in enumerate(dataset.episodes)}
    wanted = [sum(10 * numbers[each.episode] + step for step in each.steps or ()) for each in segments]
    assert found.tolist() == [wanted, wanted]
    chosen = pf.queries(segments, pf.Disagreement(rw.scores(dataset, linear(1.0, 1.0)), "linear", 0), 2)
    assert len(chosen) == 2


def test_scores_of_segments_of_different_lengths_are_those_of_training(tmp_path: Path) -> None:
    """The zero of a reward, which is chosen after training, favours neither long nor short ones."""
    dataset = record(tmp_path / "data")
    whole = [pf.Segment.of(each) for each in dataset.episodes]
    model = linear(10.0, 1.0)
    scaled = dataclasses.replace(model, zero=100.0, unit=4.0)
    assert np.allclose(rw.scores(dataset, scaled)(whole), rw.scores(dataset, model)(whole))
