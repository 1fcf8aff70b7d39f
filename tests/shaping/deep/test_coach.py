"""COACH against what is computed by hand."""

import numpy as np
import pytest

from rlds_kit.shaping import deep

FIRST, SECOND = np.array([1.0, -2.0]), np.array([0.5, 1.0])


def gradient(coach: deep.Coach, state: np.ndarray, action: int) -> np.ndarray:
    """Of the logarithm of the probability: (1 for the action - its probability) times the state, and 1 for the bias."""
    certain = np.eye(3)[action] - coach.probabilities(state)
    return np.outer(certain, [*state, 1.0])


def weights(coach: deep.Coach) -> np.ndarray:
    return np.concatenate([each.detach().numpy().reshape(3, -1) for each in coach.network.parameters()], axis=1)


def learner(**options: float) -> deep.Coach:
    """A linear softmax policy of two inputs and three actions."""
    return deep.Coach(deep.perceptron(2, 3, seed=0), learning_rate=0.1, **options)  # type: ignore[arg-type]  # a test's


def test_one_step_by_hand() -> None:
    coach = learner()
    coach.stepped(FIRST, 2)
    wanted = 0.1 * -0.7 * gradient(coach, FIRST, 2)
    coach.feedback(-0.7)
    assert weights(coach) == pytest.approx(wanted, abs=1e-7)


def test_the_trace_decays() -> None:
    """After two steps: 0.9 times the gradient of the first, and that of the second."""
    coach = learner(decay=0.9)
    coach.stepped(FIRST, 0)
    wanted = 0.9 * gradient(coach, FIRST, 0)
    coach.stepped(SECOND, 1)
    wanted += gradient(coach, SECOND, 1)
    coach.feedback(1.0)
    assert weights(coach) == pytest.approx(0.1 * wanted, abs=1e-7)


def test_delayed_feedback_is_for_an_earlier_action() -> None:
    """With a delay of one step, the first of two is in the trace; an end of the episode empties it."""
    coach = learner(delay=1, decay=0.5)
    coach.stepped(FIRST, 0)
    coach.feedback(5.0)
    assert not weights(coach).any()
    wanted = 0.1 * gradient(coach, FIRST, 0)
    coach.stepped(SECOND, 1)
    coach.feedback(1.0)
    assert weights(coach) == pytest.approx(wanted, abs=1e-7)
    coach.end()
    before = weights(coach)
    coach.feedback(1.0)
    assert np.array_equal(weights(coach), before)


def test_entropy_makes_the_policy_less_certain() -> None:
    """By hand: the gradient of the entropy by the logits is -p (log p + entropy); feedback is weak here."""
    coach = learner(entropy=2.0)
    coach.stepped(FIRST, 0)
    coach.feedback(3.0)
    before, p = weights(coach), coach.probabilities(FIRST)
    entropy = -(p * np.log(p)).sum()
    coach.end()
    coach.stepped(FIRST, 0)
    trace = gradient(coach, FIRST, 0)
    coach.feedback(1e-9)
    change = weights(coach) - before - 0.1 * 1e-9 * trace
    assert change == pytest.approx(0.1 * 2.0 * np.outer(-p * (np.log(p) + entropy), [*FIRST, 1.0]), abs=1e-6)


def test_a_policy_learns_what_is_good() -> None:
    """Feedback of 1 for one action and -1 for others."""
    coach = deep.Coach(deep.perceptron(2, 3, seed=0), learning_rate=0.2, decay=0.0, seed=1)
    for _ in range(100):
        action = coach.act(FIRST)
        coach.stepped(FIRST, action)
        coach.feedback(1.0 if action == 1 else -1.0)
    assert coach.probabilities(FIRST)[1] > 0.95


def test_invalid_options_are_refused() -> None:
    with pytest.raises(ValueError, match="a decay in"):
        learner(decay=1.0)
    with pytest.raises(ValueError, match="from 0 steps on"):
        learner(delay=-1)
