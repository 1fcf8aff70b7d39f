"""Finds objects by linear regression from the memory, for games without OCAtari (section 4.3 of the paper)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlds_kit.shaping.objects.box import RAM_BYTES, Box


@dataclass(frozen=True)
class LinearProbe:
    """Finds one object of each category; fails, as in the paper, if several objects have the same category.

    Attributes:
      weights: by category `[129, 4]` float64, from memory and 1 to x, y, width and height.
    """

    weights: dict[str, NDArray[np.float64]]

    def reset(self) -> None:
        """Does nothing: each frame is independent of the others."""

    def objects(self, ram: NDArray[np.uint8]) -> list[Box]:
        """The objects of a frame; the slot is the number of the category.

        Args:
          ram: `[128]` uint8.
        """
        features = np.append(ram.astype(np.float64), 1.0)
        found = ((name, np.rint(features @ weights)) for name, weights in self.weights.items())
        return [Box(slot, name, *map(int, xywh)) for slot, (name, xywh) in enumerate(found)]


def fit_linear_probe(rams: ArrayLike, boxes: dict[str, ArrayLike], *, ridge: float = 1e-3) -> LinearProbe:
    """Fits a probe to labelled frames.

    Args:
      rams: `[n, 128]` uint8, of the labelled frames; the paper has about 15.
      boxes: by category `[n, 4]`: x, y, width and height in each frame.
      ridge: the regularisation weight, needed for fewer frames than bytes.

    Raises:
      ValueError: shapes do not fit, there is no frame, or a number is not finite.

    >>> rams = np.random.default_rng(0).integers(0, 256, (300, 128), np.uint8)
    >>> xywh = np.stack([rams[:, 7] * 0.5, rams[:, 9] - 3.0, np.full(300, 2), np.full(300, 4)], axis=1)
    >>> probe = fit_linear_probe(rams, {"Ball": xywh})
    >>> bool(np.abs(np.subtract(probe.objects(rams[0])[0][2:], xywh[0])).max() <= 1)
    True
    """
    memory = np.asarray(rams)
    if memory.ndim != 2 or memory.shape[1] != RAM_BYTES or not len(memory):
        raise ValueError(f"expected rams [n, {RAM_BYTES}], n above 0, got {memory.shape}")
    features = np.column_stack([memory.astype(np.float64), np.ones(len(memory))])
    gram = features.T @ features + ridge * np.eye(RAM_BYTES + 1)
    weights: dict[str, NDArray[np.float64]] = {}
    for name, labelled in boxes.items():
        targets = np.asarray(labelled, np.float64)
        if targets.shape != (len(memory), 4):
            raise ValueError(f"expected boxes of {name} [{len(memory)}, 4], got {targets.shape}")
        if not np.isfinite(targets).all():
            raise ValueError(f"expected finite boxes of {name}, got others; leave out frames without the object")
        weights[name] = np.asarray(np.linalg.solve(gram, features.T @ targets), np.float64)
    return LinearProbe(weights)
