"""Deep TAMER against what is computed by hand."""

import numpy as np
import pytest
import torch

from rlds_kit.shaping import deep


def tamer(**options: float | bool | tuple[float, float]) -> deep.DeepTamer:
    """A linear network of three inputs and two actions, trained by plain gradient descent."""
    network = deep.perceptron(3, 2, seed=0)
    return deep.DeepTamer(network, window=(0.2, 0.6), is_sgd=True, learning_rate=0.1, **options)  # type: ignore[arg-type]  # a test's options


def weights(learner: deep.DeepTamer) -> np.ndarray:
    return np.concatenate([each.detach().numpy().reshape(2, -1) for each in learner.network.parameters()], axis=1)


@pytest.mark.parametrize(
    ("start", "end", "weight"),
    [(0.9, 0.7, 0), (0.7, 0.5, 0.25), (0.5, 0.3, 0.5), (0.3, 0.1, 0.25), (0.2, 0.0, 0), (1, 0, 1), (0.1, -0.1, 0)],
)
def test_weight_of_a_uniform_delay_in_closed_form(start: float, end: float, weight: float) -> None:
    assert deep.uniform_weight(start, end, (0.2, 0.6)) == pytest.approx(weight)


def test_weights_of_all_steps_add_up_to_one() -> None:
    """The steps of 0.15 seconds before the feedback cover the window."""
    learner = tamer()
    for step in range(10):
        learner.stepped(np.zeros(3), 0, 0.15 * step, 0.15 * (step + 1))
    given = learner.feedback(1.0, 1.5)
    assert sum(each.weight for each in given) == pytest.approx(1)
    assert len(given) == 3


def test_one_step_is_the_gradient_by_hand() -> None:
    """The loss w (H - f)^2 of one sample moves the weights of its action by -2 * 0.1 * w * (H - f) * state."""
    learner, state = tamer(), np.array([1.0, -2.0, 0.5])
    with torch.no_grad():
        next(learner.network.parameters()).fill_(0.5)
    before = weights(learner)
    predicted = learner.predict(state[None])[0, 1]
    assert predicted == pytest.approx(0.5 * state.sum())
    learner.stepped(state, 1, 0.0, 0.2)
    (sample,) = learner.feedback(-1.0, 0.5)  # delays of 0.3 to 0.5 seconds
    assert sample.weight == pytest.approx(0.5)
    wanted = -2 * 0.1 * 0.5 * (predicted + 1) * np.array([*state, 1.0])
    assert (weights(learner) - before)[1] == pytest.approx(wanted, abs=1e-6)
    assert (weights(learner) - before)[0].tolist() == [0, 0, 0, 0]


def test_feedback_of_zero_teaches_nothing() -> None:
    learner = tamer()
    learner.stepped(np.ones(3), 0, 0.0, 0.5)
    assert learner.feedback(0.0, 0.6) == []
    assert not weights(learner).any()
    learner.replay()
    assert not weights(learner).any()


def test_replay_converges_to_the_feedback() -> None:
    """Two states with opposite feedback: predictions are the feedback, and the agent acts by them."""
    learner = tamer()
    for time, (action, value) in enumerate([(0, 1.0), (1, -1.0)]):
        learner.stepped(np.eye(3)[action], action, float(time), time + 0.5)
        learner.feedback(value, time + 0.6)
    for _ in range(200):
        learner.replay()
    found = learner.predict(np.eye(3)[:2])
    assert found[0, 0] == pytest.approx(1, abs=0.05)
    assert found[1, 1] == pytest.approx(-1, abs=0.05)
    assert (learner.act(np.eye(3)[0]), learner.act(np.eye(3)[1])) == (0, 0)


def test_the_same_feedback_gives_the_same_weights() -> None:
    """Bit for bit, whatever the state of PyTorch's random numbers."""
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        learner = deep.DeepTamer(deep.perceptron(3, 8, 2, seed=5), seed=3)
        for step in range(20):
            learner.stepped(np.full(3, step / 20), step % 2, 0.1 * step, 0.1 * step + 0.1)
            learner.feedback((-1.0) ** step, 0.1 * step + 0.35)
            learner.replay()
        found.append([each.detach().numpy().tobytes() for each in learner.network.parameters()])
    assert found[0] == found[1]


def test_invalid_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="a longer one"):
        deep.DeepTamer(deep.perceptron(1, 1, seed=0), window=(0.6, 0.2))
    with pytest.raises(ValueError, match="input and output"):
        deep.perceptron(3, seed=0)
