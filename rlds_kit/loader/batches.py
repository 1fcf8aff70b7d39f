"""Batches of samples, epoch by epoch, whose state can be saved and restored."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, Protocol, Self

import numpy as np

from rlds_kit.loader.order import BlockOrder, Order
from rlds_kit.loader.plan import Options, Weights, order, piece_limit
from rlds_kit.loader.read_ahead import Batch, Readable, ReadAhead

STATE_VERSION: Final = 1


class Table(Readable, Protocol):
    """Samples of a snapshot of a dataset."""

    @property
    def weights(self) -> Weights:
        """What they weigh."""

    @property
    def episodes(self) -> int:
        """How many episodes they are of."""

    @property
    def identity(self) -> dict[str, Any]:
        """What they are, apart from the data: equal for equal samples."""

    def digest(self, episodes: int) -> str:
        """Identifies the first episodes."""

    def first(self, episodes: int) -> Self:
        """The samples of the first episodes only."""


class Batches(Iterable[Batch]):
    """All samples, batch by batch, decoded by threads in bounded memory.

    Each `for` loop goes through one epoch, and the next loop through the next, in another order if they are shuffled.
    The same seed gives the same batches on every machine. `state_dict` says how far the loop has come; after
    `load_state_dict` the next loop goes on from there.

    >>> for batch in ds.transitions().batches(256, shuffle="global", seed=0):  # doctest: +SKIP
    ...     train(batch["observation"], batch["action"], batch["reward"])
    """

    def __init__(self, samples: Table, options: Options) -> None:
        self._samples, self._options = samples, options
        self._order = order(options, samples.weights)
        self._reached = (0, 0)
        self._start: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Batches of an epoch."""
        begin, end = self._span
        return (end - begin + self._options.batch_size - 1) // self._options.batch_size

    @property
    def _span(self) -> tuple[int, int]:
        return self._options.span(self._samples.weights.samples)

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch is of."""
        return self._reached[0]

    def __iter__(self) -> Iterator[Batch]:
        epoch, done = self._reached if self._start is None else self._start
        if self._start is None and done:  # the last loop was broken off
            epoch, done = epoch + 1, 0
        self._start, self._reached = None, (epoch, done)
        return self._run(epoch, done)

    def _run(self, epoch: int, done: int) -> Iterator[Batch]:
        begin, end = self._span
        executor = ThreadPoolExecutor(self._options.workers, "rlds_kit-loader")
        try:
            reader = ReadAhead(self._samples, self._pieces(epoch, begin + done, end), executor)
            for position in range(begin + done, end, self._options.batch_size):
                size = min(self._options.batch_size, end - position)
                batch = reader.take(size)
                is_over = position + size == end
                self._reached = (epoch + 1, 0) if is_over else (epoch, position + size - begin)
                yield batch
        finally:
            executor.shutdown(cancel_futures=True)

    def _pieces(self, epoch: int, begin: int, end: int) -> Iterator[np.ndarray]:
        limit = piece_limit(self._options, self._samples.weights)
        for first, last in self._order.pieces(epoch, begin, end, limit):
            yield self._order.items(epoch, first, last)

    def state_dict(self) -> dict[str, Any]:
        """How far the latest loop has come: what has been handed out counts, what was only read ahead does not.

        Returns:
          What JSON can hold.
        """
        episodes = self._samples.episodes
        return {
            "version": STATE_VERSION,
            "epoch": self._reached[0],
            "samples_done": self._reached[1],
            "episodes": episodes,
            "digest": self._samples.digest(episodes),
            **_settings(self._samples, self._options),
            "order": _order_state(self._order),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop go on where a saved state was taken.

        Episodes that were added to the dataset since are left out.

        Raises:
          ValueError: the state is of other data or of another loader; the message says what differs.
        """
        if state.get("version") != STATE_VERSION:
            raise ValueError(f"expected a loader's state of version {STATE_VERSION}, got {state.get('version')!r}")
        mine = _settings(self._samples, self._options)
        differing = [
            f"{name} was {state.get(name)!r}, now {mine[name]!r}" for name in mine if state.get(name) != mine[name]
        ]
        if differing:
            raise ValueError(f"the state is of another loader: {'; '.join(differing)}")
        episodes = state["episodes"]
        if episodes > self._samples.episodes or self._samples.digest(episodes) != state["digest"]:
            raise ValueError(
                f"the state is of other data: of {episodes} episodes that are not the first ones here; open the "
                "dataset, with the same `where`, that the state was saved with"
            )
        self._samples = self._samples.first(episodes)
        made = order(self._options, self._samples.weights)
        self._order = _order_from(made, state["order"])
        self._start = self._reached = (state["epoch"], state["samples_done"])


def _settings(samples: Table, options: Options) -> dict[str, Any]:
    return {
        **samples.identity,
        "batch_size": options.batch_size,
        "shuffle": options.shuffle,
        "seed": options.seed,
        "drop_remainder": options.drop_remainder,
        "shard": list(options.shard),
    }


def _order_state(made: Order) -> dict[str, int]:
    """What memory decided, so that a state can be restored with another amount of it."""
    return {"run": made.run, "mix": made.mix} if isinstance(made, BlockOrder) else {}


def _order_from(made: Order, state: dict[str, int]) -> Order:
    return replace(made, **state) if isinstance(made, BlockOrder) else made
