"""A replay buffer of labels."""

from typing import Any

import numpy as np

from rlds_kit.shaping.credit.labels import Label


class Replay:
    """Draws earlier labels after each new feedback. The choice is determined by the seed and the number of labels.

    Args:
      repeats: labels that are drawn after each feedback.
      capacity: maximum number of labels; beyond it the oldest are removed.
      seed: of the choice.

    >>> replay = Replay(repeats=2)
    >>> replay.add([Label(np.ones(1), 1.0, 1.0)])
    >>> len(replay.drawn())
    2
    """

    def __init__(self, *, repeats: int = 15, capacity: int = 10_000, seed: int = 0) -> None:
        self.repeats, self.capacity = repeats, capacity
        self._labels: list[Label] = []
        self._random = np.random.default_rng(seed)

    def add(self, labels: list[Label]) -> None:
        """Stores labels."""
        self._labels = (self._labels + labels)[-self.capacity :]

    def drawn(self) -> list[Label]:
        """Labels to learn again, drawn with replacement."""
        if not self._labels:
            return []
        return [self._labels[at] for at in self._random.integers(len(self._labels), size=self.repeats)]

    def state(self) -> dict[str, Any]:
        """The complete state, which determines the next labels."""
        features = np.array([each.features for each in self._labels])
        rest = np.array([(each.target, each.importance) for each in self._labels]).reshape(-1, 2)
        return {"features": features, "targets": rest, "random": self._random.bit_generator.state}

    def load(self, state: dict[str, Any]) -> None:
        """Restores a result of `state`.

        Raises:
          ValueError: the numbers of features and targets differ; then nothing changes.
        """
        n_labels = len(state["features"])
        if np.shape(state["targets"]) != (n_labels, 2):
            raise ValueError(f"expected targets of shape {(n_labels, 2)}, got {np.shape(state['targets'])}")
        pairs = zip(state["features"], state["targets"].tolist(), strict=True)
        self._labels = [Label(features, target, importance) for features, (target, importance) in pairs]
        self._random.bit_generator.state = state["random"]
