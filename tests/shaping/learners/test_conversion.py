"""The six rules that turn a Sarsa agent into a TAMER agent."""

import numpy as np
import pytest

from rlds_kit.shaping.feedback import Mark, MarkKind
from rlds_kit.shaping.learners import LinearModel, LinearSarsa, PerAction, SarsaConfig, Tamer, tamer_of
from tests.shaping.streams import MS, press

FEATURES = PerAction(lambda observation: np.eye(3)[observation], 3, n_actions=2, intercept=0.0)


def _trained_sarsa() -> LinearSarsa:
    """Action 1 brings 1 from each of three states, which follow each other."""
    sarsa = LinearSarsa(FEATURES, SarsaConfig(step_size=0.1, discount=0.9, epsilon=0.5, trace=0.9))
    for _ in range(100):
        sarsa.begin()
        for state in range(3):
            sarsa.learn(state, 1, 1.0, state + 1, 1) if state < 2 else sarsa.learn(state, 1, 1.0)
    return sarsa


def _judged(value: float) -> Tamer:
    """A converted agent after states 0, 1 and 2, where the press came in state 1."""
    tamer = tamer_of(_trained_sarsa())
    for state in range(3):
        tamer.take(Mark(MarkKind.STEP, state * 1000 * MS))
        tamer.show(state, 1)
        if state == 1:
            tamer.take(press(0, 1500, value))
    tamer.finish()
    return tamer


def test_sarsa_itself_learns_returns() -> None:
    """What is converted works: the discounted returns of the three states."""
    values = [float(_trained_sarsa().values(state)[1][1]) for state in range(3)]
    assert values == pytest.approx([2.71, 1.9, 1.0], abs=0.05)


def test_t1_rule_1_there_is_no_discounted_future() -> None:
    """The more often a step is judged, the nearer its prediction is to the feedback, whatever comes after."""
    tamer = tamer_of(_trained_sarsa())
    for number in range(1000):
        tamer.take(Mark(MarkKind.STEP, number * 1000 * MS))
        tamer.show(number % 3, 1)
        tamer.take(press(number, number * 1000 + 500))
    tamer.finish()
    assert [tamer.predict(state)[1] for state in range(3)] == pytest.approx([1.0] * 3, abs=0.05)


def test_t1_rule_2_actions_are_greedy() -> None:
    """Sarsa explores; the agent does the best action each time."""
    sarsa, tamer = _trained_sarsa(), _judged(1.0)
    assert {sarsa.act(1) for _ in range(50)} == {0, 1}
    assert {tamer.act(1) for _ in range(50)} == {1}
    assert _judged(-1.0).act(1) == 0


def test_t1_rule_3_feedback_takes_the_place_of_rewards() -> None:
    """What Sarsa learned from rewards is no prediction of feedback, and there is no way to pass a reward."""
    assert not tamer_of(_trained_sarsa()).model.weights.any()
    assert not hasattr(Tamer, "learn")
    assert _judged(2.0).predict(1)[1] == pytest.approx(0.02)


def test_t1_rule_4_a_feedback_of_0_updates_nothing() -> None:
    """Also where the prediction is not 0."""
    tamer = _judged(1.0)
    before = tamer.model.weights
    tamer.take(press(7, 2500, 0.0))
    tamer.finish()
    assert tamer.model.weights is before


def test_t1_rule_5_there_are_no_traces() -> None:
    """Only the features of the judged step change."""
    changed = _judged(1.0).model.weights != 0
    assert changed.tolist() == (FEATURES.of(1, 1) != 0).tolist()


def test_t1_rule_6_the_step_size_is_at_most_a_hundredth() -> None:
    """A smaller one of Sarsa stays."""
    for step_size, expected in ((0.1, 0.01), (0.004, 0.004)):
        model = tamer_of(LinearSarsa(FEATURES, SarsaConfig(step_size=step_size))).model
        assert isinstance(model, LinearModel)
        assert model.step_size == expected
