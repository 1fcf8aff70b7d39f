"""Batches of samples, epoch by epoch, whose state can be saved and restored."""

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from rlds_kit.base.arguments import integer
from rlds_kit.loader.field_cache import FieldCache
from rlds_kit.loader.ordered import Ordered, Table, ordered, require_version
from rlds_kit.loader.plan import Options
from rlds_kit.loader.read_ahead import Batch, GatherAhead, RandomAccess, ReadAhead, groups_ahead
from rlds_kit.storage.filter_choice import LIGHT_ROW

STATE_VERSION: Final = 1
LIGHT_WORKERS: Final = 2
"""Threads for light rows that are read in random order, unless the caller sets their number."""
HEAVY_BATCH: Final = 1 << 24
"""Bytes of a batch from which on half of the cores copy as fast as all."""
HEAVY_ROW: Final = 1 << 16
"""Bytes of rows, such as frames of games, of which smaller batches are as heavy: they are copied, not decoded."""


class Batches(Iterable[Batch]):
    """Batches of all samples, decoded by threads in bounded memory.

    Each `for` loop is one epoch, and the next loop is the next epoch, in another order if they are shuffled. The same
    seed gives the same batches on every machine. `state_dict` returns the position of the latest loop; after
    `load_state_dict` the next loop continues from there.

    >>> for batch in ds.transitions().batches(256, shuffle="global", seed=0):  # doctest: +SKIP
    ...     train(batch["observation"], batch["action"], batch["reward"])
    """

    def __init__(self, samples: Table, options: Options) -> None:
        self._options, self._samples = options, ordered(samples, options)
        self._caches = _Caches(samples, options)
        self._latest = _Loop(0, 0, 0)

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return (self._samples.count + self._options.batch_size - 1) // self._options.batch_size

    @property
    def epoch(self) -> int:
        """Number of the epoch of the next batch."""
        return self._latest.epoch

    @property
    def start(self) -> tuple[int, int]:
        """The epoch of the next loop, and how many of its samples were already returned."""
        latest = self._latest
        is_broken_off = latest.done > latest.begin
        return (latest.epoch + 1, 0) if is_broken_off else (latest.epoch, latest.done)

    def __iter__(self) -> Iterator[Batch]:
        epoch, done = self.start
        self._latest = _Loop(epoch, done, done)
        return self._run(self._latest, self._samples, self._caches)

    def _run(self, loop: "_Loop", samples: Ordered, caches: "_Caches") -> Iterator[Batch]:
        options = self._options
        size = options.batch_size
        executor = ThreadPoolExecutor(self._workers(caches.access), "rlds_kit-loader")
        try:
            take = self._reader(loop, samples, executor, caches)
            for first in range(loop.done, samples.count, size):
                last = min(first + size, samples.count)
                batch = take(last - first)
                loop.handed_out(last, samples.count)
                yield batch
                del batch  # its memory is free for the next one, if the caller has dropped it too
        finally:
            executor.shutdown(cancel_futures=True)

    def _workers(self, access: RandomAccess | None) -> int:
        """Threads that decode; fewer where more of them would only wait for each other.

        Light rows need little decoding, so that threads wait for the interpreter's lock. Batches of many MiB that are
        copied out of a cache are as fast as the memory is, which two cores share.
        """
        options, weights = self._options, self._samples.samples.weights
        if options.threads or options.shuffle != "global":
            return options.workers
        if weights.row_bytes <= LIGHT_ROW:
            return min(options.workers, LIGHT_WORKERS)
        return max(1, options.workers // 2) if self._are_copies_heavy(access) else options.workers

    def _are_copies_heavy(self, access: RandomAccess | None) -> bool:
        """Whether batches are copied, and so large that memory is the limit."""
        if access is None or not access.is_copied:
            return False
        weights = self._samples.samples.weights
        nbytes = self._options.batch_size * weights.sample_bytes
        return nbytes >= (HEAVY_BATCH if weights.row_bytes < HEAVY_ROW else HEAVY_BATCH // 4)

    def _reader(
        self, loop: "_Loop", samples: Ordered, executor: ThreadPoolExecutor, caches: "_Caches"
    ) -> Callable[[int], Batch]:
        """Returns the next so many samples, at every call."""
        access, size = caches.access, self._options.batch_size
        if access is None:
            pieces = samples.pieces(loop.epoch, loop.done)
            return ReadAhead(samples.samples, pieces, executor, caches.fields).take
        workers = self._workers(access)
        group, ahead = groups_ahead(size, samples.samples.weights.sample_bytes, access, workers)
        # New memory costs as much as reading into it, so of heavy batches only one is read ahead.
        ahead = min(ahead, 1 if self._are_copies_heavy(access) else 2 * workers)
        batches = samples.batches(loop.epoch, loop.done)
        reader = GatherAhead(access.gather, batches, executor, group, ahead)
        return lambda _: reader.take()

    def state_dict(self) -> dict[str, Any]:
        """The position of the latest loop: returned batches count, prefetched ones do not.

        Returns:
          A dict for JSON.
        """
        return self._state(self._latest.epoch, self._latest.done)

    def state_at(self, epoch: int, batches: int) -> dict[str, Any]:
        """The state after this many batches of an epoch, for consumers that prefetch: `tf.data`, other processes.

        Raises:
          ValueError: an epoch has fewer batches.

        >>> state = batches.state_at(*divmod(steps_trained, len(batches)))  # doctest: +SKIP
        """
        epoch, batches = integer("epoch", epoch), integer("batches", batches)
        if epoch < 0 or not 0 <= batches <= len(self):
            raise ValueError(f"expected 0 to {len(self)} batches of an epoch from 0 on, got {batches} of {epoch}")
        done = batches * self._options.batch_size
        is_over = done >= self._samples.count
        return self._state(epoch + is_over, 0 if is_over else done)

    def _state(self, epoch: int, done: int) -> dict[str, Any]:
        return {"version": STATE_VERSION, "epoch": epoch, "samples_done": done, **self._samples.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop continue from a saved state; episodes added to the dataset since are left out.

        Raises:
          ValueError: the state belongs to other data or another loader; the message describes what differs.
        """
        require_version(state, STATE_VERSION)
        self._samples = self._samples.restored(state)
        self._caches = _Caches(self._samples.samples, self._options)
        self._latest = _Loop(state["epoch"], state["samples_done"], state["samples_done"])

    def sharded(self, index: int, count: int, epoch: int) -> "Batches":
        """Returns one of `count` parts of these batches, which together have every sample once.

        Args:
          index: of the part.
          count: of all parts.
          epoch: the first one.
        """
        mine, others = self._options.shard
        options = replace(self._options, shard=(mine * count + index, others * count))
        part = Batches(self._samples.samples, options)
        part._samples = replace(self._samples, options=options)
        part._latest = _Loop(epoch, 0, 0)
        return part

    def as_tf_dataset(self) -> Any:  # tf.data.Dataset
        """The batches as a `tf.data.Dataset` of tensors, in the same order. Every iteration of it is one epoch.

        TensorFlow prefetches a few batches, and `state_dict` counts them; use `state_at` instead.

        Raises:
          MissingExtraError: TensorFlow is not installed.
        """
        from rlds_kit.loader import tf

        samples, nothing = self._samples.samples, np.empty(0, np.int64)
        size = self._options.batch_size if self._options.drop_remainder else None
        return tf.batches(self, samples.batch(samples.pool(nothing), nothing), size)

    def as_torch_dataset(self) -> Any:  # torch.utils.data.IterableDataset
        """The batches as a `torch.utils.data.IterableDataset` of tensors, for `DataLoader(dataset, batch_size=None)`.

        Without workers a DataLoader gives the same batches in the same order. With workers each makes batches of a part
        of the samples; together they give every sample of an epoch once.

        Raises:
          MissingExtraError: PyTorch is not installed.
        """
        from rlds_kit.loader import torch

        return torch.batches_dataset(self)

    def as_grain_dataset(self, *, epochs: int | None = None) -> Any:  # grain.IterDataset
        """The batches as a `grain.IterDataset` of NumPy arrays, in the same order, whose state Grain can save.

        Args:
          epochs: number of epochs, from the first; None: without end.

        Raises:
          MissingExtraError: Grain is not installed.
          ValueError: `epochs` is less than one.
        """
        from rlds_kit.loader import grain

        return grain.dataset(self, epochs)


class _Caches:
    """What all loops over the same samples share, from epoch to epoch; made when it is first needed."""

    def __init__(self, samples: Table, options: Options) -> None:
        self._samples, self._options = samples, options

    @functools.cached_property
    def fields(self) -> FieldCache:
        """The cache of small fields."""
        return self._samples.cache(self._options.cache_bytes)

    @functools.cached_property
    def access(self) -> RandomAccess | None:
        """How batches are read without pools; None: pools are quicker, or needed for the order."""
        return self._samples.random_access(self._options.step_bytes) if self._options.shuffle == "global" else None


@dataclass(slots=True)
class _Loop:
    """The position of one loop; each loop has its own, so that an older one can continue beside the latest.

    Attributes:
      epoch: of the next batch.
      begin: samples of the epoch that were returned before this loop.
      done: samples of the epoch that were returned.
    """

    epoch: int
    begin: int
    done: int

    def handed_out(self, done: int, count: int) -> None:
        """Counts a returned batch; after the last one the next epoch begins."""
        if done == count:
            self.epoch, self.begin, done = self.epoch + 1, 0, 0
        self.done = done
