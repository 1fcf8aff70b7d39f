"""Samples, batches and episodes as PyTorch's datasets, and orders as its samplers.

The classes are created at first use, because PyTorch is imported only then; they are pickled as calls of the functions
of this module.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np

from rlds_kit.base.arguments import integer
from rlds_kit.base.extras import needs
from rlds_kit.loader.ordered import Ordered, require_version
from rlds_kit.loader.read_ahead import Batch

STATE_VERSION: Final = 1
MAX_WORKERS: Final = 256
"""Maximum workers of a DataLoader."""


class Gathered(Protocol):
    """A sequence that can read many samples at once: `Samples`."""

    def __len__(self) -> int:
        """The number of samples."""

    def gather(self, indices: Sequence[int] | np.ndarray) -> Batch:
        """The samples of these numbers as one batch."""


class Items(Protocol):
    """A sequence of items: `WholeEpisodes`."""

    def __len__(self) -> int:
        """The number of items."""

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Returns one item."""


class Divisible(Iterable[Batch], Protocol):
    """Batches that can be divided between workers: `Batches`."""

    @property
    def start(self) -> tuple[int, int]:
        """The epoch of the next loop, and how many of its samples were already returned."""

    def sharded(self, index: int, count: int, epoch: int) -> "Divisible":
        """Returns one of `count` parts, from the beginning of an epoch."""

    def state_dict(self) -> dict[str, Any]:
        """The position of the latest loop."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop go on where a state was saved."""


def samples_dataset(samples: Gathered) -> Any:
    """Samples as a map-style `torch.utils.data.Dataset`."""
    return _samples_class()(samples)


def episodes_dataset(items: Items) -> Any:
    """Whole episodes as a map-style `torch.utils.data.Dataset`."""
    return _episodes_class()(items)


def batches_dataset(batches: Divisible, loops: Any = None, state: dict[str, Any] | None = None) -> Any:
    """Batches as a `torch.utils.data.IterableDataset` that needs no collation.

    Args:
      batches: of all workers.
      loops: `[MAX_WORKERS + 1, MAX_WORKERS]` in shared memory: the number of loops that each worker has started, by the
        number of workers. None: none.
      state: of the next loop.
    """
    return _batches_class()(batches, loops, state)


def sampler(order: Ordered, state: dict[str, Any] | None = None) -> Any:
    """An order as a `torch.utils.data.Sampler` whose state can be saved.

    Args:
      order: of samples or episodes.
      state: to continue from.
    """
    made = _sampler_class()(order)
    if state is not None:
        made.load_state_dict(state)
    return made


@functools.cache
def _samples_class() -> type[Any]:
    with needs("torch"):
        import torch

    class TorchSamples(torch.utils.data.Dataset[Batch]):
        """Samples as tensors: `dataset[3]` is one, `dataset[[3, 5]]` a batch of two."""

        def __init__(self, samples: Gathered) -> None:
            self._samples = samples
            self._length = len(samples)  # computed now, so that workers need not compute it

        def __len__(self) -> int:
            return self._length

        def __getitem__(self, index: Any) -> Batch:
            if np.ndim(index):
                batch: Batch = _tensors(self._samples.gather(index))
                return batch
            return self.__getitems__([index])[0]

        def __getitems__(self, indices: Sequence[int]) -> list[Batch]:
            return _rows(self._samples.gather(indices), len(indices))

        def __repr__(self) -> str:
            return f"<PyTorch dataset of {self._samples!r}>"

        def __reduce__(self) -> tuple[Any, ...]:
            return samples_dataset, (self._samples,)

    return TorchSamples


@functools.cache
def _episodes_class() -> type[Any]:
    with needs("torch"):
        import torch

    class TorchEpisodes(torch.utils.data.Dataset[dict[str, Any]]):
        """Whole episodes as dicts of tensors `[steps, ...]`."""

        def __init__(self, items: Items) -> None:
            self._items = items

        def __len__(self) -> int:
            return len(self._items)

        def __getitem__(self, index: int) -> dict[str, Any]:
            number = integer("the number of an episode", index)
            if not -len(self) <= number < len(self):
                raise IndexError(f"there are {len(self)} episodes, there is no episode {number}")
            episode: dict[str, Any] = _tensors(self._items[number % len(self)])
            return episode

        def __repr__(self) -> str:
            return f"<PyTorch dataset of {self._items!r}>"

        def __reduce__(self) -> tuple[Any, ...]:
            return episodes_dataset, (self._items,)

    return TorchEpisodes


@functools.cache
def _batches_class() -> type[Any]:
    with needs("torch"):
        import torch

    class TorchBatches(torch.utils.data.IterableDataset[Batch]):
        """Batches of tensors. Each worker of a DataLoader has a part of the samples, and makes batches of them."""

        def __init__(self, batches: Divisible, loops: torch.Tensor | None, state: dict[str, Any] | None) -> None:
            self._batches = self._latest = batches
            # In shared memory, because a DataLoader starts new workers for every loop.
            if loops is None:
                loops = torch.zeros((MAX_WORKERS + 1, MAX_WORKERS), dtype=torch.int32)
                loops.share_memory_()  # type: ignore[no-untyped-call]
            self._loops = loops
            self._state = state

        def __iter__(self) -> Iterator[Batch]:
            worker = torch.utils.data.get_worker_info()
            if worker is not None:
                self._latest = self._part(worker.id, worker.num_workers)
            if self._state is not None:
                self._go_on(self._state, in_worker=worker is not None)
                self._state = None
            if worker is not None:
                self._loops[worker.num_workers, worker.id] = self._latest.start[0] + 1 - self._batches.start[0]
            return map(_tensors, self._latest)

        def _part(self, index: int, count: int) -> Divisible:
            epoch, done = self._batches.start
            if done:
                raise ValueError(
                    "these batches go on in the middle of an epoch, which cannot be divided between workers; use "
                    "num_workers=0, or the StatefulDataLoader of torchdata with a state of its own"
                )
            return self._batches.sharded(index, count, epoch + int(self._loops[count, index]))

        def _go_on(self, state: dict[str, Any], *, in_worker: bool) -> None:
            try:
                self._latest.load_state_dict(state)
            except ValueError as error:
                if not in_worker:
                    raise
                raise ValueError(
                    f"{error}. Each worker goes on with a state of its own: load a state that was saved without "
                    "workers with num_workers=0, and with workers leave saving and loading to the StatefulDataLoader "
                    "of torchdata, with as many workers as before"
                ) from error

        def state_dict(self) -> dict[str, Any]:
            """The position of the latest loop in this process."""
            return self._latest.state_dict()

        def load_state_dict(self, state: dict[str, Any]) -> None:
            """Makes the next loop in this process continue from a saved state."""
            self._state = state

        def __reduce__(self) -> tuple[Any, ...]:
            return batches_dataset, (self._batches, self._loops, self._state)

    return TorchBatches


@functools.cache
def _sampler_class() -> type[Any]:
    with needs("torch"):
        import torch

    class TorchSampler(torch.utils.data.Sampler[int]):
        """A sampler of the numbers of samples in an order. Each loop is one epoch, then comes the next epoch."""

        def __init__(self, order: Ordered) -> None:
            self._order = order
            self._epoch = self._begin = self._done = 0

        def __len__(self) -> int:
            return self._order.count

        def __iter__(self) -> Iterator[int]:
            if self._done > self._begin:  # the latest loop was interrupted
                self._epoch, self._done = self._epoch + 1, 0
            self._begin, epoch, done = self._done, self._epoch, self._done
            for piece in self._order.pieces(epoch, done):
                for number in piece.tolist():
                    done += 1
                    self._reach(epoch, done)
                    yield number

        def _reach(self, epoch: int, done: int) -> None:
            self._epoch, self._done = epoch, done
            if done == len(self):
                self._epoch, self._begin, self._done = epoch + 1, 0, 0

        def set_epoch(self, epoch: int) -> None:
            """Makes the next loop start at the beginning of an epoch.

            Raises:
              TypeError: the number is not an integer.
              ValueError: there is no such epoch.
            """
            epoch = integer("epoch", epoch)
            if epoch < 0:
                raise ValueError(f"expected an epoch from 0 on, got {epoch}")
            self._epoch, self._begin, self._done = epoch, 0, 0

        def state_dict(self) -> dict[str, Any]:
            """The state after the returned numbers; a DataLoader with workers requests them ahead of training."""
            return self.state_at(self._epoch, self._done)

        def state_at(self, epoch: int, samples: int) -> dict[str, Any]:
            """The state after this many samples of an epoch, independent of returned numbers, as a dict for JSON.

            Raises:
              ValueError: there is no such epoch, or it has fewer samples.
            """
            epoch, samples = integer("epoch", epoch), integer("samples", samples)
            if epoch < 0 or not 0 <= samples <= len(self):
                raise ValueError(f"expected 0 to {len(self)} samples of an epoch from 0 on, got {samples} of {epoch}")
            is_over = samples == len(self)
            reached = {"epoch": epoch + is_over, "samples_done": 0 if is_over else samples}
            return {"version": STATE_VERSION, **reached, **self._order.state()}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            """Makes the next loop go on where a state was saved.

            Raises:
              ValueError: the state belongs to other data or another order; the message describes what differs.
            """
            require_version(state, STATE_VERSION)
            if self._order.restored(state).samples is not self._order.samples:
                raise ValueError(
                    f"{self._order.samples.name} has other episodes than when the state was saved, so samples have "
                    "other numbers; make dataset and sampler of those that it had then, with `take` or `where`"
                )
            self._epoch, self._begin, self._done = state["epoch"], state["samples_done"], state["samples_done"]

    return TorchSampler


def _tensors(nest: Any) -> Any:
    """Converts arrays and NumPy scalars to tensors, and arrays of text and objects to lists."""
    match nest:
        case dict():
            return {key: _tensors(item) for key, item in nest.items()}
        case tuple() | list():
            return type(nest)(_tensors(item) for item in nest)
        case np.ndarray() | np.generic():
            return _tensor(np.asarray(nest))
    return nest


def _tensor(array: np.ndarray) -> Any:
    import torch

    if array.dtype.kind in "OSU":
        return _tensors(array.tolist())
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.writeable:
        array = array.copy()
    if array.dtype.name == "bfloat16":  # a dtype that PyTorch cannot convert from NumPy: passed as bits
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _rows(batch: Any, count: int) -> list[Any]:
    """Splits a nest of arrays `[count, ...]` into nests of tensors."""
    match batch:
        case dict():
            columns = [_rows(item, count) for item in batch.values()]
            return [dict(zip(batch, values, strict=True)) for values in _transposed(columns, count)]
        case tuple() | list():
            return [type(batch)(values) for values in _transposed([_rows(item, count) for item in batch], count)]
    column = _tensor(batch)
    return column if isinstance(column, list) else list(column.unbind(0))


def _transposed(columns: Sequence[list[Any]], count: int) -> Iterable[tuple[Any, ...]]:
    return zip(*columns, strict=True) if columns else [()] * count
