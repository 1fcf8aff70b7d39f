"""A learned policy that is small enough for the repository: one score per action, linear in the bytes of memory."""

import io
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from rlds_kit.tfds_builders.atari_agents.policy import Act, Ram

Floats = npt.NDArray[np.float32]

_CHECKPOINTS = resources.files("rlds_kit.tfds_builders.atari_agents") / "checkpoints"


@dataclass(frozen=True)
class Features:
    """Bytes of memory that change in a game, each normalised by its mean and standard deviation.

    Attributes:
      places: `[F]` int64, which of the 128 bytes.
      mean: `[F]` float32.
      scale: `[F]` float32, their standard deviation.
    """

    places: npt.NDArray[np.int64]
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, memories: npt.NDArray[np.uint8]) -> Self:
        """Selects and normalises the bytes from memory states of a game, `[T, 128]`.

        >>> Features.of(np.array([[1, 7], [3, 7]], np.uint8)).places
        array([0])
        """
        deviation = memories.std(0)
        places = np.flatnonzero(deviation)
        mean = memories.mean(0)[places].astype(np.float32)
        return cls(places, mean, deviation[places].astype(np.float32))

    def __len__(self) -> int:
        return len(self.places) + 1

    def __call__(self, ram: Ram) -> Floats:
        """`[F + 1]`, the last of which is 1."""
        values: Floats = np.append((ram[self.places] - self.mean) / self.scale, np.float32(1))
        return values


@dataclass(frozen=True)
class LinearPolicy:
    """Plays the action with the highest score.

    Attributes:
      features: of the memory.
      weights: `[actions, F + 1]` float32.
    """

    features: Features
    weights: Floats

    def __call__(self, actions: int, rng: np.random.Generator) -> Act:
        """Returns the function that chooses actions, as every `Policy` does; it uses no random numbers."""
        del rng
        if actions != len(self.weights):
            raise ValueError(f"the policy was trained with {len(self.weights)} actions, the game has {actions}")
        return lambda ram: int(np.argmax(self.weights @ self.features(ram)))

    def save(self, path: Path) -> None:
        """Writes a checkpoint, an npz file."""
        features = self.features
        np.savez_compressed(
            path, places=features.places, mean=features.mean, scale=features.scale, weights=self.weights
        )


def checkpoint(game: str) -> LinearPolicy | None:
    """The learned policy of a game; None if there is none.

    >>> checkpoint("freeway").weights.shape[0]
    3
    >>> checkpoint("adventure") is None
    True
    """
    file = _CHECKPOINTS / f"{game}.npz"
    if not file.is_file():
        return None
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored:
        return LinearPolicy(Features(stored["places"], stored["mean"], stored["scale"]), stored["weights"])
