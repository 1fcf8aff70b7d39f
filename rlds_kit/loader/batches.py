"""Batches of samples, epoch by epoch, whose state can be saved and restored."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from rlds_kit.loader.ordered import Table, ordered, require_version
from rlds_kit.loader.plan import Options
from rlds_kit.loader.read_ahead import Batch, ReadAhead

STATE_VERSION: Final = 1


class Batches(Iterable[Batch]):
    """All samples, batch by batch, decoded by threads in bounded memory.

    Each `for` loop goes through one epoch, and the next loop through the next, in another order if they are shuffled.
    The same seed gives the same batches on every machine. `state_dict` says how far the latest loop has come; after
    `load_state_dict` the next loop goes on from there.

    >>> for batch in ds.transitions().batches(256, shuffle="global", seed=0):  # doctest: +SKIP
    ...     train(batch["observation"], batch["action"], batch["reward"])
    """

    def __init__(self, samples: Table, options: Options) -> None:
        self._options, self._samples = options, ordered(samples, options)
        self._reached = (0, 0)  # epoch, and samples of it that were handed out
        self._is_restored = False

    def __len__(self) -> int:
        """Batches of an epoch."""
        return (self._samples.count + self._options.batch_size - 1) // self._options.batch_size

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch is of."""
        return self._reached[0]

    def __iter__(self) -> Iterator[Batch]:
        epoch, done = self._reached
        if done and not self._is_restored:  # the last loop was broken off
            epoch, done = epoch + 1, 0
        self._is_restored, self._reached = False, (epoch, done)
        return self._epoch(epoch, done)

    def _epoch(self, epoch: int, done: int) -> Iterator[Batch]:
        count, size = self._samples.count, self._options.batch_size
        executor = ThreadPoolExecutor(self._options.workers, "rlds_kit-loader")
        try:
            reader = ReadAhead(self._samples.samples, self._samples.pieces(epoch, done), executor)
            for first in range(done, count, size):
                last = min(first + size, count)
                batch = reader.take(last - first)
                self._reached = (epoch, last) if last < count else (epoch + 1, 0)
                yield batch
        finally:
            executor.shutdown(cancel_futures=True)

    def state_dict(self) -> dict[str, Any]:
        """How far the latest loop has come: what was handed out counts, what was only read ahead does not.

        Returns:
          What JSON can hold.
        """
        epoch, done = self._reached
        return {"version": STATE_VERSION, "epoch": epoch, "samples_done": done, **self._samples.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop go on where a state was saved; episodes added to the dataset since are left out.

        Raises:
          ValueError: the state is of other data or of another loader; the message says what differs.
        """
        require_version(state, STATE_VERSION)
        self._samples = self._samples.restored(state)
        self._reached, self._is_restored = (state["epoch"], state["samples_done"]), True
