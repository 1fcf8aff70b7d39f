"""TAMER: an agent that chooses the action for which a model predicts the best feedback of a person."""

from typing import Any, Final, Protocol

import numpy as np

from rlds_kit.shaping.credit.assigner import Assigner
from rlds_kit.shaping.credit.labels import Label, Labelling, per_step_labels
from rlds_kit.shaping.credit.next_step import NextStep
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind
from rlds_kit.shaping.feedback.stream import FeedbackStream
from rlds_kit.shaping.learners.features import ActionFeatures
from rlds_kit.shaping.learners.replay import Replay

_SETTLING: Final = (MarkKind.STEP, MarkKind.END)


class Model(Protocol):
    """A model of feedback."""

    weights: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Predicted feedback, `[n]`, of features `[n, size]`."""

    def update(self, label: Label) -> None:
        """Learns a label."""


class Tamer:
    """Learns from events in order: marks of the clock, actions of steps, and feedback.

    Presses of one person during one step add up to one feedback, at the time of the first; a sum of 0 changes nothing.
    It is learned when the next step begins, or the episode ends. The weights depend only on this sequence, so a
    recording of it gives the same weights, bit for bit.

    Args:
      features: of the possible actions.
      model: of the feedback; its size is that of the features.
      assigner: of credit.
      labelling: makes labels from credit: `per_step_labels` or `aggregate_labels`.
      replay: earlier labels that are learned again after each feedback; None: none.

    Attributes:
      features: of the possible actions.
      model: of the feedback.
      stream: the feedback of the episode.
      n_feedbacks: number of learned feedbacks, of all episodes.
    """

    def __init__(
        self,
        features: ActionFeatures,
        model: Model,
        assigner: Assigner | None = None,
        *,
        labelling: Labelling = per_step_labels,
        replay: Replay | None = None,
    ) -> None:
        self.features, self.model = features, model
        self.assigner: Assigner = NextStep() if assigner is None else assigner
        self._labelling, self._replay = labelling, replay
        self.n_feedbacks = 0
        self.begin()

    def begin(self) -> None:
        """Begins an episode; first learns the remaining feedback of the previous one."""
        if hasattr(self, "stream"):
            self.finish()
        self.stream = FeedbackStream()
        self._shown: list[np.ndarray] = []
        self._pending: dict[str, list[FeedbackEvent]] = {}

    def act(self, observation: Any) -> Any:
        """The action with the best prediction; of equal ones the first."""
        actions, features = self.features.choices(observation)
        return actions[int(self.model.predict(features).argmax())]

    def predict(self, observation: Any) -> dict[Any, float]:
        """The predicted feedback for each action."""
        actions, features = self.features.choices(observation)
        return dict(zip(actions, self.model.predict(features).tolist(), strict=True))

    def show(self, observation: Any, action: Any) -> None:
        """Adds the next step with its action, before any feedback about it."""
        self._shown.append(self.features.of(observation, action))

    def take(self, item: Mark | FeedbackEvent) -> None:
        """Adds the next mark of the clock, or event; a copy of an earlier event is ignored."""
        if isinstance(item, Mark):
            if item.kind in _SETTLING:
                self.finish()
            self.stream.mark(item)
        elif (event := self.stream.add(item)) is not None:
            self._pending.setdefault(event.annotator, []).append(event)

    def finish(self) -> None:
        """Learns feedback that was received but not learned yet."""
        pending, self._pending = self._pending, {}
        for events in pending.values():
            self._learn(events)

    def _learn(self, events: list[FeedbackEvent]) -> None:
        value = sum(each.value for each in events)
        if not value:
            return
        credit = self.assigner.credit(events[0], self.stream.clock)
        known = self._shown[credit.first : credit.steps.stop]
        if not known:
            return
        labels = self._labelling(known, credit.weights[: len(known)], value)
        self.n_feedbacks += 1
        for each in labels:
            self.model.update(each)
        self._learn_again(labels)

    def _learn_again(self, labels: list[Label]) -> None:
        if self._replay is not None:
            self._replay.add(labels)
            for each in self._replay.drawn():
                self.model.update(each)

    def state(self) -> dict[str, Any]:
        """The exact learned state, to be restored later; to be called between episodes."""
        replay = None if self._replay is None else self._replay.state()
        return {"weights": self.model.weights, "n_feedbacks": self.n_feedbacks, "replay": replay}

    def load(self, state: dict[str, Any]) -> None:
        """Restores a result of `state`.

        Raises:
          ValueError: the state has another number of features, or is that of a learner with another replay, or its
            weights are not finite numbers; then nothing changes.
        """
        weights = np.asarray(state["weights"])
        if weights.shape != (self.features.size,) or (state["replay"] is None) != (self._replay is None):
            raise ValueError(
                f"expected the state of a learner with {self.features.size} features and "
                f"{'no ' if self._replay is None else ''}replay, got one of shape {weights.shape}"
            )
        if weights.dtype != np.float64 or not np.isfinite(weights).all():
            raise ValueError(f"expected finite weights, float64, got {weights.dtype}: {weights}")
        n_feedbacks = int(state["n_feedbacks"])
        remembered = np.shape(state["replay"]["features"]) if self._replay is not None else (0,)
        if remembered[0] and remembered[1:] != weights.shape:
            expected = (remembered[0], *weights.shape)
            raise ValueError(f"expected remembered features of shape {expected}, got {remembered}")
        if self._replay is not None:
            self._replay.load(state["replay"])
        self.model.weights, self.n_feedbacks = weights, n_feedbacks
