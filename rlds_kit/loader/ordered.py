"""Samples in an order, the part of one worker, and their saved state."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self

import numpy as np

from rlds_kit.loader.order import BlockOrder, Order
from rlds_kit.loader.plan import Options, Weights, order, piece_limit
from rlds_kit.loader.read_ahead import Readable

_TOGETHER: Final = 1 << 13
"""Positions of an order that are computed together: a call costs as much as some hundred of them."""


class Table(Readable, Protocol):
    """Samples of a snapshot of a dataset."""

    @property
    def name(self) -> str:
        """The name of the dataset, for messages."""

    @property
    def weights(self) -> Weights:
        """The number and sizes of the samples."""

    @property
    def identity(self) -> dict[str, Any]:
        """What kind of samples these are, as a dict for JSON that is equal for equal samples."""

    @property
    def digest(self) -> str:
        """A digest of the episodes of the samples."""

    @property
    def names(self) -> str:
        """The episodes in a short form, which `named` understands."""

    def named(self, names: str) -> Self:
        """Returns only the samples of these episodes, as far as they exist."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """One worker's samples, epoch after epoch.

    Attributes:
      samples: of all workers.
      options: from the caller.
      order: of the samples of all workers.
    """

    samples: Table
    options: Options
    order: Order

    @property
    def count(self) -> int:
        """The number of this worker's samples in an epoch."""
        begin, end = self.options.span(self.samples.weights.samples)
        return end - begin

    def pieces(self, epoch: int, done: int) -> Iterator[np.ndarray]:
        """The numbers of this worker's samples of an epoch after the first `done`, in pieces that are read together."""
        begin, end = self.options.span(self.samples.weights.samples)
        limit = piece_limit(self.options, self.samples.weights)
        for first, last in self.order.pieces(epoch, begin + done, end, limit):
            yield self.order.items(epoch, first, last)

    def batches(self, epoch: int, done: int) -> Iterator[np.ndarray]:
        """The numbers of the samples of each batch of an epoch after the first `done`."""
        begin, end = self.options.span(self.samples.weights.samples)
        size = self.options.batch_size
        stretch = size * max(1, _TOGETHER // size)
        for first in range(begin + done, end, stretch):
            items = self.order.items(epoch, first, min(first + stretch, end))
            yield from (items[at : at + size] for at in range(0, len(items), size))

    def state(self) -> dict[str, Any]:
        """The properties that must not differ when a state is restored, as a dict for JSON."""
        # The order of "blocks" depends on memory, whose default may differ next time.
        made = {"run": self.order.run, "mix": self.order.mix} if isinstance(self.order, BlockOrder) else {}
        return {
            "episodes": self.samples.names,
            "digest": self.samples.digest,
            "order": made,
            **_settings(self.samples, self.options),
        }

    def restored(self, state: dict[str, Any]) -> Self:
        """Restores the samples and the order of a saved state; episodes added since are left out.

        Raises:
          ValueError: the state belongs to other data or another loader; the message describes what differs.
        """
        if "digest" not in state:
            raise ValueError("the state is of a mixture, not of one dataset's batches")
        mine = _settings(self.samples, self.options)
        differing = [
            f"{name} was {state.get(name)!r}, now {mine[name]!r}" for name in mine if state.get(name) != mine[name]
        ]
        if differing:
            raise ValueError(f"the state is of another loader: {'; '.join(differing)}")
        samples = self.samples if self.samples.digest == state["digest"] else self.samples.named(state["episodes"])
        if samples.digest != state["digest"]:
            raise ValueError(
                f"the state is of other data: {self.samples.name} does not have all the episodes, with the lengths "
                "that they had, that it was saved with; open what it was saved with, with the same `where`"
            )
        made = order(self.options, samples.weights)
        return replace(
            self,
            samples=samples,
            order=replace(made, **state["order"]) if isinstance(made, BlockOrder) else made,
        )


def ordered(samples: Table, options: Options) -> Ordered:
    """Samples with the options of a caller."""
    return Ordered(samples, options, order(options, samples.weights))


def require_version(state: dict[str, Any], version: int) -> None:
    """Raises an error for a state of another version.

    Raises:
      TypeError: it is not a state.
      ValueError: it is of another version.
    """
    if not isinstance(state, dict):
        raise TypeError(f"expected a loader's state, the dict that `state_dict` gives, got {state!r}")
    if state.get("version") != version:
        raise ValueError(f"expected a loader's state of version {version}, got {state.get('version')!r}")


def _settings(samples: Table, options: Options) -> dict[str, Any]:
    return {
        **samples.identity,
        "batch_size": options.batch_size,
        "shuffle": options.shuffle,
        "seed": options.seed,
        "drop_remainder": options.drop_remainder,
        "shard": list(options.shard),
    }
