"""Samples, batches and episodes for Grain, which manages the state of a pipeline itself."""

import functools
from collections.abc import Iterator
from typing import Any, Protocol

from rlds_kit.base.arguments import integer, positive
from rlds_kit.base.extras import needs
from rlds_kit.loader.ordered import Ordered
from rlds_kit.loader.read_ahead import Batch


class Items(Protocol):
    """A sequence of items: `Samples` or `WholeEpisodes`."""

    def __getitem__(self, number: int, /) -> dict[str, Any]:
        """Returns one item."""


class Resumable(Protocol):
    """A resumable iterable of batches: `Batches`."""

    @property
    def epoch(self) -> int:
        """Number of the epoch of the next batch."""

    def __len__(self) -> int:
        """The number of batches in an epoch."""

    def __iter__(self) -> Iterator[Batch]:
        """The batches of an epoch."""

    def sharded(self, index: int, count: int, epoch: int) -> "Resumable":
        """Returns one of `count` parts, from the beginning of an epoch."""

    def state_dict(self) -> dict[str, Any]:
        """The position of the latest loop."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop continue from a saved state."""


class GrainSource:
    """Items in an order, epoch after epoch: a `grain.sources.RandomAccessDataSource`.

    Picklable and thread-safe. Grain stores its `repr` in checkpoints and compares it, so it describes the data.

    Args:
      items: of the source.
      order: of the items.
      epochs: number of epochs.
    """

    def __init__(self, items: Items, order: Ordered, epochs: int) -> None:
        self._items, self._order, self._epochs = items, order, positive("epochs", epochs)
        samples = order.samples
        self._repr = (
            f"<{type(self).__name__} of {samples.name}: {order.count} {samples.identity['samples']}, {order.order}, "
            f"{epochs} epochs, digest {samples.digest}>"
        )

    def __len__(self) -> int:
        return self._order.count * self._epochs

    def __repr__(self) -> str:
        return self._repr

    def __getitem__(self, index: int) -> dict[str, Any]:
        """The item at a position.

        Raises:
          IndexError: there is no such position.
        """
        place = integer("the index", index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} items, there is no item {place}")
        epoch, position = divmod(place % len(self), self._order.count)
        return self._items[int(self._order.order.items(epoch, position, position + 1)[0])]


def source(items: Items, order: Ordered, epochs: int) -> GrainSource:
    """A random-access source for Grain, with `items` in the order of `order`, for `epochs` epochs."""
    with needs("grain"):
        import grain  # noqa: F401  fails early if Grain is not installed
    return GrainSource(items, order, epochs)


def dataset(batches: Resumable, epochs: int | None) -> Any:
    """Batches as a `grain.IterDataset`.

    Args:
      batches: copied for every iterator, from the first epoch.
      epochs: number of epochs; None: without end.
    """
    return _dataset_class()(batches, None if epochs is None else positive("epochs", epochs))


@functools.cache
def _dataset_class() -> type[Any]:
    with needs("grain"):
        import grain

    class GrainBatches(grain.IterDataset):  # type: ignore[misc]  # Grain has no types
        """Batches of NumPy arrays, epoch after epoch."""

        def __init__(self, batches: Resumable, epochs: int | None) -> None:
            super().__init__()
            self._batches, self._epochs = batches, epochs

        def __iter__(self) -> Any:
            return GrainIterator(self._batches.sharded(0, 1, 0), self._epochs)

        def __reduce__(self) -> tuple[Any, ...]:
            return dataset, (self._batches, self._epochs)

    class GrainIterator(grain.DatasetIterator):  # type: ignore[misc]
        """Goes through the epochs; its state is that of the batches."""

        def __init__(self, batches: Resumable, epochs: int | None) -> None:
            super().__init__()
            self._batches, self._epochs = batches, epochs
            self._loop: Iterator[Batch] = iter(())

        def __next__(self) -> Batch:
            for batch in self._loop:
                return batch
            is_over = self._epochs is not None and self._batches.epoch >= self._epochs
            if is_over or not len(self._batches):
                raise StopIteration
            self._loop = iter(self._batches)
            return next(self._loop)

        def get_state(self) -> dict[str, Any]:
            return self._batches.state_dict()

        def set_state(self, state: dict[str, Any]) -> None:
            self._batches.load_state_dict(state)
            self._loop = iter(())

    return GrainBatches
