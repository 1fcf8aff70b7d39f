"""Linear models of feedback. Sums are NumPy's own, without BLAS: the same bits on every machine."""

import math

import numpy as np

from rlds_kit.shaping.credit.labels import Label


class LinearModel:
    """Learns by steps along the gradient of the squared error.

    Args:
      size: number of features.
      step_size: of the steps; 0.01 or less for features in ranges of about 1, as in the TAMER paper.

    Attributes:
      weights: `[size]` float64; each update makes a new array, so that another thread may use the latest one.

    Raises:
      ValueError: the step size is not positive.

    >>> model = LinearModel(2, step_size=0.5)
    >>> model.update(Label(np.array([1.0, 0.0]), 1.0, 1.0))
    >>> model.weights.tolist()
    [0.5, 0.0]
    """

    def __init__(self, size: int, *, step_size: float = 0.01) -> None:
        if not 0 < step_size < math.inf:
            raise ValueError(f"step_size: expected a positive number, got {step_size!r}")
        self.weights = np.zeros(size)
        self.step_size = step_size

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Predicted feedback, `[n]` float64, of features `[n, size]`."""
        found: np.ndarray = (features * self.weights).sum(axis=1)
        return found

    def update(self, label: Label) -> None:
        """Makes a step towards a label.

        Raises:
          ValueError: the label has another number of features; nothing is learned.
        """
        if label.features.shape != self.weights.shape:
            raise ValueError(
                f"update: expected features of shape {self.weights.shape}, one for each weight, got "
                f"{label.features.shape}; use the features that the model was made for"
            )
        error = label.target - float((label.features * self.weights).sum())
        self.weights = self.weights + self.rate(label) * error * label.features

    def rate(self, label: Label) -> float:
        """The factor of the step for a label, for error 1 and features 1."""
        return self.step_size * label.importance


class NormalisedLinearModel(LinearModel):
    """As `LinearModel`, with each step divided by the squared length of the features: normalised least mean squares.

    A step size of 1 removes the error of a label of importance 1 completely; 0.2 suits feedback of people.

    >>> model = NormalisedLinearModel(2, step_size=1.0)
    >>> model.update(Label(np.array([4.0, 0.0]), 1.0, 1.0))
    >>> model.weights.tolist()
    [0.25, 0.0]
    """

    def __init__(self, size: int, *, step_size: float = 0.2) -> None:
        super().__init__(size, step_size=step_size)

    def rate(self, label: Label) -> float:
        """See `LinearModel`."""
        squared = float((label.features * label.features).sum())
        return super().rate(label) / squared if squared else 0.0
