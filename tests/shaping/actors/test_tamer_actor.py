"""A TAMER agent in trials: it learns while it plays."""

import threading
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.shaping.actors import TamerActor, TrainerActor, learn_from_trial
from rlds_kit.shaping.credit import Label
from rlds_kit.shaping.feedback import Mark, MarkKind, to_text
from rlds_kit.shaping.learners import LinearModel, PerAction, Tamer, load_state, mountain_car_tamer
from rlds_kit.trials import (
    ActorClass,
    ActorConfig,
    ActorInfo,
    EnvironmentSpec,
    Experience,
    Text,
    TrialSetup,
    run_trials,
)
from tests.shaping.learners.trainings import DRIVING
from tests.shaping.streams import MS, press

SPACES = gymnasium.spaces.Box(-2, 2, (2,)), gymnasium.spaces.Discrete(3)


def trainer() -> object:
    """A trainer for Mountain Car."""
    return DRIVING


def _setup(state: Path, *, waits: bool = False, max_steps: int = 60) -> TrialSetup:
    config = {"learner": mountain_car_tamer, "state": str(state), "announce_to": "teacher", "waits": waits}
    return TrialSetup(
        environment=EnvironmentSpec("MountainCar-v0", has_teacher=True),
        actors={
            "player": ActorConfig(implementation=TamerActor, config=config),
            "teacher": ActorConfig(implementation=TrainerActor, config={"trainer": trainer}),
        },
        seed=3,
        max_steps=max_steps,
    )


def _relearned(directory: Path) -> Tamer:
    """What is learned from the recording of all episodes, in order."""
    tamer = mountain_car_tamer()
    for episode in rlds_kit.open(directory).episodes:
        learn_from_trial(tamer, episode)
    return tamer


def _saved(state: Path) -> Tamer:
    tamer = mountain_car_tamer()
    load_state(tamer, state)
    return tamer


def test_a_recorded_trial_gives_the_same_weights(tmp_path: Path) -> None:
    """Bit for bit, over two episodes, the second of which continues with the weights of the first."""
    setup = _setup(tmp_path / "state.npz")
    assert [each.steps for each in run_trials(setup, 2, directory=tmp_path / "data", is_here=True, parallel=1)] == [
        60,
        60,
    ]
    saved, relearned = _saved(tmp_path / "state.npz"), _relearned(tmp_path / "data")
    assert saved.n_feedbacks == relearned.n_feedbacks > 10
    assert saved.model.weights.any()
    assert saved.model.weights.tobytes() == relearned.model.weights.tobytes()


@pytest.mark.thorough
def test_on_the_pool_the_recording_gives_the_same_weights(tmp_path: Path) -> None:
    """And an agent that waits plays there as it does in this process."""
    weights = []
    for name in ("here", "pool"):
        setup = _setup(tmp_path / f"{name}.npz", waits=True)
        (trial,) = run_trials(setup, 1, directory=tmp_path / name, parallel=1, is_here=name == "here")
        assert trial.steps == 60
        saved, relearned = _saved(tmp_path / f"{name}.npz"), _relearned(tmp_path / name)
        assert saved.model.weights.tobytes() == relearned.model.weights.tobytes()
        weights.append(saved.model.weights.tobytes())
    assert weights[0] == weights[1]


class _SlowModel(LinearModel):
    """Learns when it is allowed to."""

    allowed = threading.Event()

    def update(self, label: Label) -> None:
        assert self.allowed.wait(60)
        super().update(label)


def _slow() -> Tamer:
    features = PerAction(np.asarray, 2, n_actions=3)
    return Tamer(features, _SlowModel(features.size, step_size=0.5))


def _info(**config: object) -> ActorInfo:
    return ActorInfo(trial="1", seat="player", actor_class=ActorClass("player", *SPACES), seed=0, config=config)


def _step(time_ms: int) -> Text:
    return Text("teacher", to_text([Mark(MarkKind.STEP, time_ms * MS)]))


def _experience(*, is_last: bool = False) -> Experience:
    seen = np.array([0.5, 0.0], np.float32)
    return Experience(seen, 2, -1.0, seen, terminated=is_last, truncated=False, is_default=False)


def test_an_action_never_waits_for_learning() -> None:
    """The model learns only when the third action has been given; then all of it."""
    _SlowModel.allowed.clear()
    actor, seen = TamerActor(), np.array([0.5, 0.0], np.float32)
    actor.reset(_info(learner=_slow))
    assert actor.act(seen, None, ()).action == 0
    actor.learn(_experience())
    assert actor.act(seen, -1.0, (_step(0), Text("teacher", to_text([press(0, 50)])), _step(100))).action == 0
    actor.learn(_experience())
    assert actor.act(seen, -1.0, (Text("teacher", to_text([press(1, 150)])), _step(200))).action == 0
    _SlowModel.allowed.set()
    actor.learn(_experience(is_last=True))
    assert actor._tamer.n_feedbacks == 2
    assert actor._tamer.act(seen) == 2


def test_texts_of_people_are_no_feedback() -> None:
    actor = TamerActor()
    actor.reset(_info(learner=mountain_car_tamer, announce_to="teacher"))
    reply = actor.act(np.zeros(2, np.float32), None, (Text("teacher", "Well done!"),))
    assert reply.messages == (("teacher", '{"intent": 0}'),)
    actor.learn(_experience(is_last=True))


def test_a_malformed_text_does_not_end_the_trial(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; what follows it is learned."""
    actor = TamerActor()
    actor.reset(_info(learner=mountain_car_tamer))
    malformed = Text("teacher", '{"feedback": [{"value": "high"}]}')
    reply = actor.act(np.zeros(2, np.float32), None, (malformed, _step(0)))
    assert reply.action == 0
    assert "malformed feedback is ignored" in caplog.text
    actor.learn(_experience(is_last=True))


def test_what_learning_raises_is_raised_in_the_game() -> None:
    """Two steps with one time before the other: the actor fails, as one that raises an error itself."""
    actor = TamerActor()
    actor.reset(_info(learner=mountain_car_tamer, waits=True))
    with pytest.raises(RuntimeError, match="learning failed: ValueError: mark 1: expected a time"):
        actor.act(np.zeros(2, np.float32), None, (_step(5), _step(4)))


def test_an_actor_without_a_learner_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected .* as the configuration of 'player'"):
        TamerActor().reset(_info())


def test_a_thread_ends_with_an_actor_whose_trial_was_abandoned() -> None:
    actor = TamerActor()
    actor.reset(_info(learner=mountain_car_tamer))
    thread = actor._thread._thread
    del actor
    thread.join(60)
    assert not thread.is_alive()
