"""TAMER: learning from marks, actions and feedback."""

import numpy as np
import pytest

from rlds_kit.shaping.credit import NextStep, UniformWindow, aggregate_labels
from rlds_kit.shaping.feedback import Mark, MarkKind
from rlds_kit.shaping.learners import LinearModel, NormalisedLinearModel, PerAction, Replay, Tamer
from tests.shaping.streams import MS, press

FEATURES = PerAction(lambda observation: np.array([float(observation)]), 1, n_actions=2, intercept=1.0)


def _tamer(**options: object) -> Tamer:
    return Tamer(FEATURES, LinearModel(FEATURES.size, step_size=0.5), **options)  # type: ignore[arg-type]  # of tests


def _steps(tamer: Tamer, *actions: int, first_ms: int = 0) -> None:
    """Steps of 100 ms with observation 0."""
    for number, action in enumerate(actions):
        tamer.take(Mark(MarkKind.STEP, (first_ms + number * 100) * MS))
        tamer.show(0, action)


def _intercepts(tamer: Tamer) -> list[float]:
    """The predictions for observation 0: the weights of the intercepts of both actions."""
    return list(tamer.predict(0).values())


def test_t4_presses_add_up_for_the_previous_placement() -> None:
    """p, p and n during a piece are +1 for the piece before it."""
    tamer = _tamer(assigner=NextStep(lag=1))
    _steps(tamer, 1, 0)
    for number, value in enumerate((1.0, 1.0, -1.0)):
        tamer.take(press(number, 110 + number, value))
    _steps(tamer, 0, first_ms=200)
    assert _intercepts(tamer) == [0.0, 0.5]
    assert tamer.n_feedbacks == 1


def test_presses_that_cancel_out_change_nothing() -> None:
    tamer = _tamer()
    _steps(tamer, 1)
    tamer.take(press(0, 10, 1.0))
    tamer.take(press(1, 20, -1.0))
    tamer.finish()
    assert (_intercepts(tamer), tamer.n_feedbacks) == ([0.0, 0.0], 0)


def test_a_copy_of_a_press_is_learned_once() -> None:
    tamer = _tamer()
    _steps(tamer, 1)
    tamer.take(press(0, 10))
    tamer.take(press(0, 20))
    tamer.finish()
    assert _intercepts(tamer) == [0.0, 0.5]


def test_two_people_are_two_feedbacks() -> None:
    """Theirs are learned one after the other and not added."""
    tamer = _tamer()
    _steps(tamer, 1)
    tamer.take(press(0, 10, annotator="anna"))
    tamer.take(press(0, 20, annotator="ben"))
    tamer.finish()
    assert (_intercepts(tamer), tamer.n_feedbacks) == ([0.0, 0.75], 2)


def test_feedback_after_the_end_is_learned() -> None:
    """When the next game begins, at the latest; credit is for steps of its own game."""
    tamer = _tamer(assigner=UniformWindow(0.0, 0.1))
    _steps(tamer, 0, 1)
    tamer.take(Mark(MarkKind.END, 200 * MS))
    tamer.take(press(0, 200))
    tamer.begin()
    assert _intercepts(tamer) == [0.0, 0.5]
    tamer.take(press(1, 250))
    tamer.finish()
    assert _intercepts(tamer) == [0.0, 0.5]


def test_credit_is_the_importance_of_each_step() -> None:
    tamer = _tamer(assigner=UniformWindow(0.0, 0.2))
    _steps(tamer, 0, 1)
    tamer.take(press(0, 150))
    tamer.finish()
    assert _intercepts(tamer) == pytest.approx([0.25, 0.125])


def test_the_aggregate_is_one_update() -> None:
    tamer = _tamer(assigner=UniformWindow(0.0, 0.2), labelling=aggregate_labels)
    _steps(tamer, 0, 1)
    tamer.take(press(0, 150))
    tamer.finish()
    assert _intercepts(tamer) == pytest.approx([0.25, 0.125])


def test_equal_predictions_choose_the_first_action() -> None:
    tamer = _tamer()
    assert tamer.act(0) == 0
    _steps(tamer, 1)
    tamer.take(press(0, 10))
    tamer.finish()
    assert tamer.act(0) == 1


def test_it_goes_on_from_its_state_with_the_same_bits() -> None:
    """A training that is interrupted and restored from its state equals one without a break, including replay."""

    def made() -> Tamer:
        model = NormalisedLinearModel(FEATURES.size)
        return Tamer(FEATURES, model, UniformWindow(0.0, 0.25), replay=Replay(repeats=3, seed=4))

    def game(tamer: Tamer, seed: int) -> None:
        random = np.random.default_rng(seed)
        tamer.begin()
        for step in range(20):
            tamer.take(Mark(MarkKind.STEP, step * 100 * MS))
            tamer.show(random.random(), int(random.integers(2)))
            tamer.take(press(step, step * 100 + 99 * random.random(), random.choice((1.0, -1.0))))
        tamer.finish()

    whole, first, second = made(), made(), made()
    game(whole, 1)
    game(whole, 2)
    game(first, 1)
    second.load(first.state())
    game(second, 2)
    assert whole.n_feedbacks == second.n_feedbacks == 40
    assert whole.model.weights.tobytes() == second.model.weights.tobytes()


def test_a_state_of_other_features_is_an_error() -> None:
    state = _tamer().state()
    with pytest.raises(ValueError, match="expected the state of a learner with 4 features and replay"):
        _tamer(replay=Replay()).load(state)
    with pytest.raises(ValueError, match=r"got one of shape \(7,\)"):
        _tamer().load(state | {"weights": np.zeros(7)})
