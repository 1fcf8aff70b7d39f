"""Feedback and rewards together."""

import gymnasium
import numpy as np
import pytest

from rlds_kit.shaping.credit import Label
from rlds_kit.shaping.environments import mountain_car_judge
from rlds_kit.shaping.learners import (
    ActionBiasing,
    Combination,
    ControlSharing,
    LinearSarsa,
    NormalisedLinearModel,
    PerAction,
    RadialBasis,
    RewardShaping,
    SarsaConfig,
    SarsaWithFeedback,
    Tamer,
)

RANDOM = np.random.default_rng(0)


def test_t14_reward_shaping_adds_predicted_feedback_to_rewards() -> None:
    assert RewardShaping(weight=2.0).reward(-1.0, 0.5, 0.5) == -0.5
    assert RewardShaping().choice(np.zeros(2), np.ones(2), 1.0, RANDOM) is None


def test_t14_action_biasing_adds_predicted_feedback_to_values() -> None:
    """Rewards stay; without a factor, Sarsa decides."""
    biasing = ActionBiasing(weight=2.0)
    assert biasing.choice(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.0, RANDOM) == 1
    assert biasing.choice(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.25, RANDOM) == 0
    assert biasing.choice(np.zeros(2), np.ones(2), 0.0, RANDOM) is None
    assert biasing.reward(-1.0, 5.0, 1.0) == -1.0


def test_t14_control_sharing_lets_feedback_decide_with_a_probability() -> None:
    sharing, random = ControlSharing(probability=0.5), np.random.default_rng(1)
    chosen = [sharing.choice(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5, random) for _ in range(1000)]
    assert 200 < chosen.count(1) < 300
    assert set(chosen) == {None, 1}
    assert sharing.reward(-1.0, 5.0, 1.0) == -1.0


def _mountain_car(combination: Combination | None, n_games: int) -> int:
    """Steps of the first games of Sarsa with feedback of a model that has learned good play."""
    env = gymnasium.make("MountainCar-v0", max_episode_steps=1000)
    basis = RadialBasis([-1.2, -0.07], [0.6, 0.07], per_dimension=8)
    features = PerAction(basis, basis.size, n_actions=3)
    tamer, random = Tamer(features, NormalisedLinearModel(features.size)), np.random.default_rng(0)
    for position, velocity in random.uniform([-1.2, -0.07], [0.6, 0.07], (500, 2)):
        for action in range(3):
            judged = mountain_car_judge([position, velocity], action)
            tamer.model.update(Label(features.of([position, velocity], action), judged, 1.0))
    sarsa = LinearSarsa(features, SarsaConfig(step_size=0.05, discount=1.0, epsilon=0.0))
    agent = sarsa if combination is None else SarsaWithFeedback(sarsa, tamer, combination)
    n_steps = 0
    for game in range(n_games):
        observation, _ = env.reset(seed=game)
        agent.begin()
        action, is_over = agent.act(observation), False
        while not is_over:
            after, reward, terminated, truncated, _ = env.step(action)
            is_over, following = terminated or truncated, agent.act(after)
            agent.learn(observation, action, float(reward), after, None if terminated else following)
            observation, action, n_steps = after, following, n_steps + 1
        if isinstance(agent, SarsaWithFeedback):
            agent.end()
    return n_steps


@pytest.mark.parametrize(
    "combination", [RewardShaping(weight=10.0), ActionBiasing(weight=100.0), ControlSharing()], ids=repr
)
def test_t14_feedback_helps_sarsa_to_reach_the_goal_sooner(combination: Combination) -> None:
    """The first three games of Mountain Car take fewer steps than with rewards alone."""
    assert _mountain_car(combination, 3) < _mountain_car(None, 3)


def test_the_factor_decreases_with_each_game() -> None:
    features = PerAction(lambda _: np.ones(1), 1, n_actions=2)
    tamer = Tamer(features, NormalisedLinearModel(features.size))
    agent = SarsaWithFeedback(LinearSarsa(features), tamer, ControlSharing(), decay=0.5)
    agent.end()
    agent.end()
    assert agent.factor == 0.25
