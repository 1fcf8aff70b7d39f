"""Batches of samples, epoch by epoch, whose state can be saved and restored."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
        self._latest = _Loop(0, 0, 0)

    def __len__(self) -> int:
        """Batches of an epoch."""
        return (self._samples.count + self._options.batch_size - 1) // self._options.batch_size

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch is of."""
        return self._latest.epoch

    def __iter__(self) -> Iterator[Batch]:
        epoch, done = self._latest.epoch, self._latest.done
        if done > self._latest.begin:  # it was broken off
            epoch, done = epoch + 1, 0
        self._latest = _Loop(epoch, done, done)
        return self._run(self._latest)

    def _run(self, loop: "_Loop") -> Iterator[Batch]:
        samples, size = self._samples, self._options.batch_size
        executor = ThreadPoolExecutor(self._options.workers, "rlds_kit-loader")
        try:
            reader = ReadAhead(samples.samples, samples.pieces(loop.epoch, loop.done), executor)
            for first in range(loop.done, samples.count, size):
                last = min(first + size, samples.count)
                batch = reader.take(last - first)
                loop.handed_out(last, samples.count)
                yield batch
        finally:
            executor.shutdown(cancel_futures=True)

    def state_dict(self) -> dict[str, Any]:
        """How far the latest loop has come: what was handed out counts, what was only read ahead does not.

        Returns:
          What JSON can hold.
        """
        reached = {"epoch": self._latest.epoch, "samples_done": self._latest.done}
        return {"version": STATE_VERSION, **reached, **self._samples.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop go on where a state was saved; episodes added to the dataset since are left out.

        Raises:
          ValueError: the state is of other data or of another loader; the message says what differs.
        """
        require_version(state, STATE_VERSION)
        self._samples = self._samples.restored(state)
        self._latest = _Loop(state["epoch"], state["samples_done"], state["samples_done"])


@dataclass(slots=True)
class _Loop:
    """How far one loop has come: an older one that goes on beside the latest has its own.

    Attributes:
      epoch: that the next batch is of.
      begin: samples of the epoch that were handed out before this loop.
      done: samples of it that were handed out.
    """

    epoch: int
    begin: int
    done: int

    def handed_out(self, done: int, count: int) -> None:
        """Takes note of a batch; after the last one the next epoch begins."""
        if done == count:
            self.epoch, self.begin, done = self.epoch + 1, 0, 0
        self.done = done
