"""Windows and chunks: several steps as one sample."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rlds_kit.base.arguments import integer, positive
from rlds_kit.base.step import ACTED_FIELDS, FLAGS
from rlds_kit.loader.nests import map_arrays
from rlds_kit.loader.place import Place
from rlds_kit.loader.pool import Read
from rlds_kit.storage.leaf import nest

Pad: TypeAlias = Literal["none", "zero", "repeat"]
"""Padding of samples that extend beyond the steps: such samples are left out, or have zeros, or the nearest step.

Flags (`is_first`, `is_last`, `is_terminal`) are False there with every padding.
"""


@dataclass(frozen=True, slots=True)
class Windows:
    """`length` steps, the first of them every `stride` steps."""

    length: int
    stride: int = 1
    pad: Pad = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", positive("length", self.length))
        object.__setattr__(self, "stride", positive("stride", self.stride))
        require_pad(self.pad)

    @property
    def own_names(self) -> frozenset[str]:
        """The entries of a batch besides fields."""
        return frozenset(("mask", "valid"))

    @property
    def rows_per_sample(self) -> int:
        """Number of steps of a sample."""
        return self.length

    @property
    def rows_between(self) -> int:
        """Steps from one sample to the next."""
        return self.stride

    def count(self, lengths: np.ndarray) -> np.ndarray:
        """Returns `[segments]`: the number of samples in segments of these lengths."""
        if self.pad == "none":
            return ((lengths - self.length) // self.stride + 1).clip(0)
        return -(-lengths // self.stride)

    def anchors(self, nth: np.ndarray) -> np.ndarray:
        """The anchor, counted from its segment's first step, of the nth sample of a segment."""
        return nth * self.stride

    def needs(self, place: Place, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns, for every field, the numbers of the steps at which it is read."""
        rows, _ = place.reach(np.arange(self.length))
        return dict.fromkeys((name for name in names if name not in FLAGS), place.steps(rows))

    def batch(self, place: Place, names: Sequence[str], read: Read) -> dict[str, Any]:
        """The samples: fields `[B, length, ...]`, `mask` and `valid`."""
        rows, inside = place.reach(np.arange(self.length))
        steps = place.steps(rows)
        batch: dict[str, Any] = {}
        valid: dict[str, Any] = {}
        for name in names:
            if name in FLAGS:
                batch[name] = place.flag(name, rows) & inside  # a repeated is_first or is_last would reset an RNN again
            else:
                values, defined = read(name, steps)
                batch[name] = map_arrays(lambda array: padded(array, inside, self.pad), values)
                valid[name] = map_arrays(lambda array: array & inside, defined)
        return {**batch, "mask": inside, "valid": valid}


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a dataset: for every step, the values of each field at steps around it.

    Attributes:
      offsets: by field, the steps relative to the anchor: -1 is the previous one.
      pad: the padding for missing steps.
    """

    offsets: Mapping[str, tuple[int, ...]]
    pad: Pad = "none"

    def __post_init__(self) -> None:
        require_pad(self.pad)
        if not self.offsets:
            raise ValueError(
                'expected offsets of at least one field, got none; {"observation": [0]} is the step itself'
            )
        for name, offsets in self.offsets.items():
            if not offsets:
                raise ValueError(f"expected offsets of the field {name!r}, got none; range(-3, 1) is a history of four")
        for whole, part in itertools.permutations(self.offsets, 2):
            if part.startswith(f"{whole}/"):
                raise ValueError(f"expected offsets of a field or of parts of it, got some of {whole!r} and {part!r}")
        exact = {name: tuple(integer(name, offset) for offset in found) for name, found in self.offsets.items()}
        object.__setattr__(self, "offsets", exact)

    @property
    def own_names(self) -> frozenset[str]:
        """The entries of a batch besides fields."""
        return frozenset(("valid",))

    @property
    def rows_per_sample(self) -> int:
        """Number of steps of a sample."""
        return max(len(offsets) for offsets in self.offsets.values())

    @property
    def rows_between(self) -> int:
        """Steps from one sample to the next."""
        return 1

    @property
    def _reach(self) -> tuple[int, int]:
        """The largest offsets back and ahead of any field; the last step has no action."""
        back = max(-min(offsets) for offsets in self.offsets.values())
        ahead = max(max(offsets) + _spare(name) for name, offsets in self.offsets.items())
        return max(0, back), max(0, ahead)

    def count(self, lengths: np.ndarray) -> np.ndarray:
        """Returns `[segments]`: the number of samples in segments of these lengths."""
        if self.pad != "none":
            return lengths
        return (lengths - sum(self._reach)).clip(0)

    def anchors(self, nth: np.ndarray) -> np.ndarray:
        """The anchor, counted from its segment's first step, of the nth sample of a segment."""
        return nth + (self._reach[0] if self.pad == "none" else 0)

    def needs(self, place: Place, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns, for every field, the numbers of the steps at which it is read."""
        return {name: place.steps(self._rows(place, name)[0]) for name in names if name not in FLAGS}

    def batch(self, place: Place, names: Sequence[str], read: Read) -> dict[str, Any]:
        """The samples: each field `[B, offsets, ...]`, and `valid`."""
        batch: dict[str, Any] = {}
        valid: dict[str, Any] = {}
        for name in names:
            rows, inside = self._rows(place, name)
            if name in FLAGS:
                batch[name], valid[name] = place.flag(name, rows) & inside, inside
            else:
                values, defined = read(name, place.steps(rows))
                batch[name] = map_arrays(lambda array, inside=inside: padded(array, inside, self.pad), values)
                valid[name] = map_arrays(lambda array, inside=inside: array & inside, defined)
        return {**nest(batch), "valid": nest(valid)}

    def _rows(self, place: Place, name: str) -> tuple[np.ndarray, np.ndarray]:
        return place.reach(np.array(self.offsets[name]), spare=_spare(name))


def _spare(name: str) -> int:
    """How many of the last steps have no value of a field: the last one has no action, reward and discount."""
    return int(name.partition("/")[0] in ACTED_FIELDS)


def padded(values: np.ndarray, inside: np.ndarray, pad: Pad) -> np.ndarray:
    """`values`, with zeros for missing steps if `pad` requires it."""
    if pad == "zero" and not inside.all():
        values[~inside] = None if values.dtype == object else np.zeros((), values.dtype)  # for text, the empty text
    return values


def require_pad(pad: str) -> None:
    """Validates the padding.

    Raises:
      ValueError: it is unknown.
    """
    if pad not in ("none", "zero", "repeat"):
        raise ValueError(f'expected pad to be "none", "zero" or "repeat", got {pad!r}')
