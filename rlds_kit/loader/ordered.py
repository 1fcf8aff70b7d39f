"""Samples in an order, the part of it that is one worker's, and what a saved state says of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from rlds_kit.loader.order import BlockOrder, Order
from rlds_kit.loader.plan import Options, Weights, order, piece_limit
from rlds_kit.loader.read_ahead import Readable


class Table(Readable, Protocol):
    """Samples of a snapshot of a dataset."""

    @property
    def name(self) -> str:
        """Of the dataset, for messages."""

    @property
    def weights(self) -> Weights:
        """What they weigh."""

    @property
    def identity(self) -> dict[str, Any]:
        """What they are, apart from the data: equal for equal samples."""

    @property
    def digest(self) -> str:
        """Identifies the episodes they are of."""

    @property
    def names(self) -> str:
        """The episodes in short."""

    def named(self, names: str) -> Self:
        """The samples of these episodes only, as far as they are here."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """One worker's samples, epoch after epoch.

    Attributes:
      samples: of all workers.
      options: what the caller asked for.
      order: of the samples of all workers.
    """

    samples: Table
    options: Options
    order: Order

    @property
    def count(self) -> int:
        """This worker's samples of an epoch."""
        begin, end = self.options.span(self.samples.weights.samples)
        return end - begin

    def pieces(self, epoch: int, done: int) -> Iterator[np.ndarray]:
        """The numbers of this worker's samples of an epoch after the first `done`, cut into what is read together."""
        begin, end = self.options.span(self.samples.weights.samples)
        limit = piece_limit(self.options, self.samples.weights)
        for first, last in self.order.pieces(epoch, begin + done, end, limit):
            yield self.order.items(epoch, first, last)

    def state(self) -> dict[str, Any]:
        """What must be the same where a state is restored, in what JSON can hold."""
        # How blocks are mixed depends on memory, of which there may be another amount next time.
        made = {"run": self.order.run, "mix": self.order.mix} if isinstance(self.order, BlockOrder) else {}
        return {
            "episodes": self.samples.names,
            "digest": self.samples.digest,
            "order": made,
            **_settings(self.samples, self.options),
        }

    def restored(self, state: dict[str, Any]) -> Self:
        """The same samples in the same order as when the state was saved; episodes added since are left out.

        Raises:
          ValueError: the state is of other data or of another loader; the message says what differs.
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
    """Samples as a caller asked for them."""
    return Ordered(samples, options, order(options, samples.weights))


def require_version(state: dict[str, Any], version: int) -> None:
    """Refuses a state that another version saved.

    Raises:
      TypeError: it is no state.
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
