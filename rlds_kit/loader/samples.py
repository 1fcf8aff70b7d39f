"""Samples of a dataset: windows, chunks or transitions, accessible by number, one or many at a time."""

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, Self, overload

import numpy as np
from numpy.typing import DTypeLike

from rlds_kit.base.arguments import integer
from rlds_kit.base.step import DISCOUNT, FLAGS
from rlds_kit.loader.batches import Batches
from rlds_kit.loader.field_cache import FieldCache
from rlds_kit.loader.layout import layout, require_cast
from rlds_kit.loader.nests import map_arrays
from rlds_kit.loader.ordered import ordered
from rlds_kit.loader.place import Place
from rlds_kit.loader.plan import MEMORY, Options, Shuffle, Weights
from rlds_kit.loader.pool import Pool, Read, converted
from rlds_kit.loader.read_ahead import Batch, RandomAccess
from rlds_kit.loader.row_reader import RowReader, Session
from rlds_kit.loader.segments import Segments, segments
from rlds_kit.loader.source import Source
from rlds_kit.loader.stored_leaf import NotFoundError
from rlds_kit.storage.array_pool import ArrayPool

EPISODE: Final = "episode"
"""In a batch: the number of the episode, `[B]` int64: `dataset.episodes[number]`."""
STEP: Final = "step"
"""In a batch: the number in its episode of a sample's first step, or of the anchor of a chunk, `[B]` int64."""


class Kind(Protocol):
    """A kind of samples: `Windows`, `Chunks` or `Transitions`."""

    @property
    def own_names(self) -> frozenset[str]:
        """The entries of a batch besides fields."""

    @property
    def rows_per_sample(self) -> int:
        """Number of steps of a sample."""

    @property
    def rows_between(self) -> int:
        """Steps from one sample to the next."""

    def count(self, lengths: np.ndarray) -> np.ndarray:
        """Returns `[segments]`: the number of samples in segments of these lengths."""

    def anchors(self, nth: np.ndarray) -> np.ndarray:
        """The anchor, counted from its segment's first step, of the nth sample of a segment."""

    def needs(self, place: Place, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns, for every field, the numbers of the steps at which it is read."""

    def batch(self, place: Place, names: Sequence[str], read: Read) -> dict[str, Any]:
        """The samples."""


class Samples(Sequence[Batch]):
    """Samples in the order of the data. Made by `Dataset.windows`, `Dataset.chunks` and `Dataset.transitions`.

    `samples[3]` is one sample; `samples.gather([3, 5])` several in one batch; `samples.batches(256)` all of them.
    Thread-safe, and cheap to pickle.

    Attributes:
      source: the episodes and fields.
      kind: of the samples.
    """

    def __init__(
        self, source: Source, kind: Kind, dtypes: Mapping[str, DTypeLike] | None = None, cache_bytes: int = MEMORY
    ) -> None:
        self.source, self.kind, self._cache_bytes = source, kind, cache_bytes
        if not isinstance(dtypes, Mapping | None):
            raise TypeError(f'expected dtypes by field, such as {{"reward": np.float32}}, got {dtypes!r}')
        self._dtypes = {name: np.dtype(dtype) for name, dtype in (dtypes or {}).items()}
        self._layouts = {name: layout(source.spec, name, self._dtypes) for name in source.fields if name not in FLAGS}
        made = {DISCOUNT} & kind.own_names - self._layouts.keys()  # computed, so not converted while reading
        require_cast(self._layouts, {name: dtype for name, dtype in self._dtypes.items() if name not in made})
        self._made = {name: self._dtypes[name] for name in made & self._dtypes.keys()}
        for name in (kind.own_names - {DISCOUNT} | {EPISODE, STEP}) & {*source.fields}:
            raise ValueError(
                f"{source.name} has a field {name!r}, which is what {type(kind).__name__.lower()} call something of "
                "their own; leave the field out with `select`"
            )

    @functools.cached_property
    def _reader(self) -> RowReader:
        return RowReader(self.source, self._layouts, self._cache_bytes)

    def __repr__(self) -> str:
        return f"<{len(self)} samples of {self.source.name}: {self.kind}>"

    @functools.cached_property
    def _segments(self) -> Segments:
        return segments(self.source)

    @functools.cached_property
    def _ends(self) -> np.ndarray:
        """`[segments]`: how many samples there are up to the end of each segment."""
        return np.cumsum(self.kind.count(self._segments.lengths))

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, index: int) -> Batch: ...

    @overload
    def __getitem__(self, index: slice) -> list[Batch]: ...

    def __getitem__(self, index: int | slice) -> Batch | list[Batch]:
        """A sample, without the leading dimension of a batch; or a list of samples.

        Raises:
          IndexError: there is no such sample.
        """
        if isinstance(index, slice):
            return self.__getitems__(range(len(self))[index])
        index = integer("the number of a sample", index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} samples, there is no sample {index}")
        return self.__getitems__([index % len(self)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Batch]:
        """Many single samples: a method that PyTorch's and Grain's loaders call."""
        batch = self.gather(indices)
        return [map_arrays(lambda array, at=at: array[at], batch) for at in range(len(indices))]

    def __iter__(self) -> Iterator[Batch]:
        for first in range(0, len(self), _ITERATION_SAMPLES):
            yield from self[first : first + _ITERATION_SAMPLES]

    def gather(self, indices: Sequence[int] | np.ndarray) -> Batch:
        """The samples of these numbers as one batch.

        Raises:
          IndexError: there is no such sample.
          TypeError: the numbers are not integers.
        """
        numbers = np.asarray(indices).reshape(-1)
        if len(numbers) and numbers.dtype.kind not in "iu":
            raise TypeError(f"expected integers, the numbers of samples, got {numbers.dtype}")
        wrong = numbers[(numbers < -len(self)) | (numbers >= len(self))]
        if len(wrong):
            raise IndexError(f"there are {len(self)} samples, there is no sample {wrong[0]}")
        items = numbers.astype(np.int64)
        return self._gather(np.where(items < 0, items + len(self), items))

    def _gather(self, items: np.ndarray) -> Batch:
        """`gather` of numbers that exist, `[n]` int64."""
        if self._reader.is_able:
            with contextlib.suppress(NotFoundError):
                return self._batch(items, Session(self._reader, self._needs(items)).take)
        pool = self.pool(items)
        runs = pool.runs()
        pool.fetch(runs)
        for run in runs:
            pool.load(run)
        return self.batch(pool, items)

    def cached(self, memory: int) -> Self:
        """Returns these samples with a cache of another size for `gather`, `samples[i]` and datasets read by index.

        Decoded columns are cached, in memory that forked workers share. Rows that are stored as they are need no cache:
        they are read from the file.

        Args:
          memory: bytes; 0: nothing is cached. By default 128 MiB, of which only what is used is taken.

        Raises:
          ValueError: it is negative.

        >>> ds.windows(8).cached(1 << 30).as_torch_dataset()  # doctest: +SKIP
        """
        if integer("memory", memory) < 0:
            raise ValueError(f"memory: expected bytes, 0 or more, got {memory}")
        return type(self)(self.source, self.kind, self._dtypes, int(memory))

    def cache(self, limit: int) -> FieldCache:
        """Creates a cache of small fields with this many bytes; nothing is read yet."""
        return FieldCache(self.source, self._layouts, limit)

    def pool(self, items: np.ndarray, memory: ArrayPool | None = None, cache: FieldCache | None = None) -> Pool:
        """Creates a pool for the steps of samples, in reused memory if possible; nothing is loaded yet."""
        return Pool(self.source, self._layouts, self._needs(items), memory, cache)

    def _needs(self, items: np.ndarray) -> dict[str, np.ndarray]:
        return self.kind.needs(self._place(items), tuple(self._layouts))

    def random_access(self, memory: int) -> RandomAccess | None:
        """Returns how batches of any samples are read with a cache of this many bytes; None: pools are quicker."""
        if memory != self._cache_bytes:
            return self.cached(memory).random_access(memory)
        if self._reader.is_quick:
            return RandomAccess(self._gather, memory // 4, is_copied=True)
        samples = min(len(self), self.weights.rows(memory) // self.weights.rows_per_sample)
        if not self._reader.is_quicker_than_pools(samples):
            return None
        return RandomAccess(self._gather, memory // 2 if self._reader.uses_cache else memory, is_copied=False)

    def batch(self, pool: Pool, items: np.ndarray) -> Batch:
        """Gathers samples from a completely loaded pool."""
        return self._batch(items, pool.take)

    def _batch(self, items: np.ndarray, read: Read) -> Batch:
        place = self._place(items)
        where = {EPISODE: self.source.numbers[place.segment.episode], STEP: place.row}
        batch = self.kind.batch(place, self.source.fields, read)
        made = {name: converted(name, batch[name], dtype) for name, dtype in self._made.items()}
        return {**batch, **made, **where}

    def _place(self, items: np.ndarray) -> Place:
        segment = np.searchsorted(self._ends, items, "right")
        before = np.where(segment > 0, self._ends[segment - 1], 0) if len(self._ends) else segment
        found = self._segments[segment]
        return Place(found.begin + self.kind.anchors(items - before), found)

    @property
    def name(self) -> str:
        """The name of the dataset, for messages."""
        return self.source.name

    @functools.cached_property
    def weights(self) -> Weights:
        """The sizes of the samples."""
        row_bytes = sum(leaf.row_bytes for leaves in self._layouts.values() for leaf in leaves) or 1
        return Weights(len(self), row_bytes, self.kind.rows_per_sample, self.kind.rows_between)

    @property
    def identity(self) -> dict[str, Any]:
        """The description of the samples, apart from the data: equal for equal samples."""
        arrays = {leaf.path: f"{leaf.dtype} {leaf.shape}" for found in self._layouts.values() for leaf in found}
        return {"samples": repr(self.kind), "fields": list(self.source.fields), "arrays": arrays}

    @property
    def digest(self) -> str:
        """Identifies the episodes of the samples."""
        return self.source.digest

    @property
    def names(self) -> str:
        """The episodes in a short form, which `named` understands."""
        return self.source.names

    def named(self, names: str) -> Self:
        """Returns only the samples of these episodes, as far as they exist."""
        return type(self)(self.source.named(names), self.kind, self._dtypes, self._cache_bytes)

    def batches(
        self,
        batch_size: int,
        *,
        shuffle: Shuffle = None,
        seed: int = 0,
        drop_remainder: bool = False,
        shard: tuple[int, int] = (0, 1),
        threads: int | None = None,
        memory: int | None = None,
    ) -> Batches:
        """Returns all samples in batches, which can be iterated epoch after epoch.

        Args:
          batch_size: samples in a batch; the last of an epoch may have fewer.
          shuffle: "global" is an exact permutation without a buffer; "blocks" reads runs of neighbouring steps in
            random order and mixes many of them, which is several times faster; None is the order of the data.
          seed: of the shuffle; with the number of the epoch it decides the order.
          drop_remainder: leaves out what does not fill a batch; then all shards have equally many batches.
          shard: `(index, count)`: this worker's part, one of `count` that together have every sample once, if all
            workers opened the same episodes and gave the same arguments, `memory` included.
          threads: that decode; by default as many as there are cores, at most 4.
          memory: bytes of decoded steps, 128 MiB by default. Returned batches are not counted, nor is the cache of
            small fields: up to a quarter of it more. (A batch that is kept may keep up to three others in memory.) If
            the columns of a "global" shuffle do not all fit into the cache, up to as many bytes again are used, for
            batches that are read ahead or for cached columns. With "blocks" it also determines how many runs are
            mixed, and so the order.

        Raises:
          ValueError: an argument is out of its range.
        """
        return Batches(self, Options(batch_size, shuffle, seed, drop_remainder, shard, threads, memory))

    def arrays(self, *, threads: int | None = None) -> Batch:
        """Reads all samples as one batch, in the order of the data: for data that fit in memory.

        Args:
          threads: that decode; by default as many as there are cores, at most 4.

        Returns:
          The same as `gather(range(len(self)))`, but decoded by threads and with little memory besides the result.

        Raises:
          MemoryError: the arrays do not fit in memory.

        >>> all_of_them = ds.select("observation", "action", "reward").transitions().arrays()  # doctest: +SKIP
        >>> all_of_them["next_observation"].shape  # doctest: +SKIP
        (1000000, 17)
        """
        found = map_arrays(lambda array: np.empty((len(self), *array.shape[1:]), array.dtype), self.gather([]))
        first = 0
        for batch in self.batches(_ARRAYS_SAMPLES, threads=threads):
            last = min(first + _ARRAYS_SAMPLES, len(self))
            map_arrays(functools.partial(_put, slice(first, last)), found, batch)
            first = last
        return found  # type: ignore[no-any-return]  # a nest as a batch is one

    def as_torch_dataset(self) -> Any:  # torch.utils.data.Dataset
        """The samples as a map-style `torch.utils.data.Dataset` of tensors.

        `dataset[3]` is one sample, `dataset[[3, 5]]` a batch of two. Text and objects are not converted. A `DataLoader`
        reads a batch at once, in any number of workers, forked or spawned.

        Raises:
          MissingExtraError: PyTorch is not installed.
        """
        from rlds_kit.loader import torch

        return torch.samples_dataset(self)

    def torch_sampler(
        self,
        seed: int = 0,
        *,
        shard: tuple[int, int] = (0, 1),
        drop_remainder: bool = False,
        state: dict[str, Any] | None = None,
    ) -> Any:  # torch.utils.data.Sampler[int]
        """The order of `batches(..., shuffle="global", seed=seed)` for a `DataLoader`. Every loop is the next epoch.

        Its `state_dict` counts the samples that it returned. A DataLoader with workers requests samples ahead of
        training; then use `state_at(epoch, samples)`, the state after this many samples.

        Args:
          seed: of the shuffle; with the number of the epoch it decides the order.
          shard: `(index, count)`: this process's part, one of `count` that together have every sample once.
          drop_remainder: drops samples so that all shards have the same number.
          state: to continue from.

        Raises:
          MissingExtraError: PyTorch is not installed.
          ValueError: an argument is out of its range, or the state belongs to other samples.
        """
        from rlds_kit.loader import torch

        return torch.sampler(ordered(self, Options(1, "global", seed, drop_remainder, shard)), state)

    def as_grain_source(self, *, seed: int | None = None, epochs: int = 1) -> Any:  # a RandomAccessDataSource
        """The samples as a source for Grain.

        Args:
          seed: for the order of `batches(..., shuffle="global", seed=seed)`; None: the order of the data.
          epochs: number of epochs of the source, each in its own order.

        Raises:
          MissingExtraError: Grain is not installed.

        >>> source = ds.transitions().as_grain_source(seed=0, epochs=10)  # doctest: +SKIP
        >>> batches = grain.MapDataset.source(source).batch(256)  # doctest: +SKIP
        """
        from rlds_kit.loader import grain

        return grain.source(self, ordered(self, Options(1, None if seed is None else "global", seed or 0)), epochs)


def _put(where: slice, whole: np.ndarray, part: np.ndarray) -> None:
    whole[where] = part


_ITERATION_SAMPLES: Final = 64
"""Number of samples that iteration reads at a time."""
_ARRAYS_SAMPLES: Final = 1024
"""Number of samples of the batches that `arrays` concatenates."""
