"""Several datasets as one, each with its exact share of the samples."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from rlds_kit.base.arguments import integer, positive
from rlds_kit.base.arguments import offsets as checked
from rlds_kit.loader.field_cache import FieldCache
from rlds_kit.loader.nests import flattened, map_arrays
from rlds_kit.loader.ordered import Ordered, ordered, require_version
from rlds_kit.loader.plan import MEMORY, Options, Shuffle
from rlds_kit.loader.read_ahead import Batch, ReadAhead
from rlds_kit.loader.samples import Samples
from rlds_kit.loader.windows import Pad

STATE_VERSION: Final = 1
SEED_STRIDE: Final = 1_000_003
"""Difference between the seeds of consecutive datasets."""

Transform: TypeAlias = Callable[[Batch], Batch]
"""Converts a batch of one dataset to the fields of the others."""


Kind: TypeAlias = tuple[str, tuple[int, ...]]
"""The dtype of a field, and the shape of one sample of it."""


class Sampled(Protocol):
    """The interface of a dataset that can be mixed."""

    def windows(
        self, length: int, stride: int = 1, pad: Pad = "none", *, dtypes: Mapping[str, DTypeLike] | None = None
    ) -> Samples:
        """Returns windows of consecutive steps."""

    def chunks(
        self, offsets: Mapping[str, Iterable[int]], pad: Pad = "none", *, dtypes: Mapping[str, DTypeLike] | None = None
    ) -> Samples:
        """Returns chunks: for every step, the values of each field at its own offsets."""

    def transitions(self, n: int = 1, gamma: float = 1.0, *, dtypes: Mapping[str, DTypeLike] | None = None) -> Samples:
        """Transitions, one for every action."""


D = TypeVar("D", bound=Sampled)


def mix(weights: Mapping[D, float], transforms: Mapping[D, Transform] | None = None) -> "Mixture[D]":
    """Mixes several datasets.

    Args:
      weights: each dataset's share of the samples; they need not add up to 1.
      transforms: for some of the datasets, a function from batch to batch, so that fields of the same name have equal
        dtypes and shapes in all. It must support any number of samples.

    Raises:
      TypeError: weights or transforms are not dicts.
      ValueError: there is no dataset, a weight is not positive, or a transform is for a dataset without a weight.

    >>> mixed = rlds_kit.mix({human: 0.3, robot: 0.7}, {robot: to_gray})  # doctest: +SKIP
    >>> for batch in mixed.transitions().batches(256, shuffle="global"):  # doctest: +SKIP
    ...     train(batch)
    """
    for name, given in (("weights", weights), ("transforms", transforms or {})):
        if not isinstance(given, Mapping):
            raise TypeError(f"expected {name} by dataset, a dict such as {{human: ..., robot: ...}}, got {given!r}")
    if not weights:
        raise ValueError("expected at least one dataset to mix, got none")
    for dataset, weight in weights.items():
        is_number = isinstance(weight, int | float | np.number)
        if not is_number or not 0 < weight < float("inf"):
            raise ValueError(f"expected positive weights, got {weight!r} for {dataset!r}")
    for dataset in transforms or {}:
        if dataset not in weights:
            raise ValueError(f"there is a transform, but no weight, for {dataset!r}")
    exact = {dataset: float(weight) for dataset, weight in weights.items()}  # plain floats, for JSON
    return Mixture(exact, transforms or {})


class Mixture(Generic[D]):
    """Datasets with weights. Made by `rlds_kit.mix`; its methods are those of `Dataset`."""

    def __init__(self, weights: Mapping[D, float], transforms: Mapping[D, Transform]) -> None:
        self._weights, self._transforms = dict(weights), dict(transforms)

    def windows(
        self, length: int, stride: int = 1, pad: Pad = "none", *, dtypes: Mapping[str, DTypeLike] | None = None
    ) -> "MixedSamples":
        """Windows, as `Dataset.windows` makes them."""
        return self._mixed(lambda dataset: dataset.windows(length, stride, pad, dtypes=dtypes))

    def chunks(
        self, offsets: Mapping[str, Iterable[int]], pad: Pad = "none", *, dtypes: Mapping[str, DTypeLike] | None = None
    ) -> "MixedSamples":
        """Chunks, as `Dataset.chunks` makes them."""
        valid = checked(offsets)
        return self._mixed(lambda dataset: dataset.chunks(valid, pad, dtypes=dtypes))

    def transitions(
        self, n: int = 1, gamma: float = 1.0, *, dtypes: Mapping[str, DTypeLike] | None = None
    ) -> "MixedSamples":
        """Transitions, as `Dataset.transitions` makes them."""
        return self._mixed(lambda dataset: dataset.transitions(n, gamma, dtypes=dtypes))

    def _mixed(self, samples_of: Callable[[D], Samples]) -> "MixedSamples":
        return MixedSamples(
            [samples_of(dataset) for dataset in self._weights],
            list(self._weights.values()),
            [self._transforms.get(dataset) for dataset in self._weights],
        )


class MixedSamples:
    """Samples of several datasets, each with its share."""

    def __init__(
        self, samples: Sequence[Samples], weights: Sequence[float], transforms: Sequence[Transform | None]
    ) -> None:
        for each in samples:
            if not len(each):
                raise ValueError(f"{each.source.name} has no samples of {each.kind}; leave it out of the mixture")
        self._samples, self._weights, self._transforms = samples, weights, transforms

    def batches(
        self,
        batch_size: int,
        *,
        shuffle: Shuffle = None,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
        threads: int | None = None,
        memory: int | None = None,
    ) -> "MixedBatches":
        """Batches without end: each dataset starts its next epoch when it has finished one.

        The arguments are those of `Samples.batches`; memory is divided equally between the datasets.
        """
        seed = integer("seed", seed)
        share = max(1, positive("memory", MEMORY if memory is None else memory) // len(self._samples))
        options = Options(batch_size, shuffle, seed, shard=shard, threads=threads, memory=share)
        # Different seeds, so that datasets of equal size do not have the same order.
        seeds = (seed + SEED_STRIDE * number for number in itertools.count())
        parts = [
            ordered(samples, replace(options, seed=own)) for samples, own in zip(self._samples, seeds, strict=False)
        ]
        return MixedBatches(parts, self._weights, self._transforms, options)


class MixedBatches(Iterable[Batch]):
    """Batches of a mixture, without end.

    After any number of samples each dataset's share is exact, up to less than one sample for each other dataset. A new
    `for` loop continues where the latest one stopped. `state_dict` returns this position.
    """

    def __init__(
        self,
        parts: Sequence[Ordered],
        weights: Sequence[float],
        transforms: Sequence[Transform | None],
        options: Options,
    ) -> None:
        for part in parts:
            if not part.count:
                raise ValueError(f"a dataset has fewer samples than the {options.shard[1]} workers that share it")
        self._parts, self._weights, self._transforms = parts, [weight / sum(weights) for weight in weights], transforms
        self._options, self._latest = options, _Loop(0)
        self._cached: Sequence[FieldCache] | None = None
        self._alike: tuple[str, dict[str, Kind]] | None = None  # the fields of the first batch, and its dataset

    def __iter__(self) -> Iterator[Batch]:
        self._latest = _Loop(self._latest.done)
        return self._run(self._latest)

    def _run(self, loop: "_Loop") -> Iterator[Batch]:
        size = self._options.batch_size
        executor = ThreadPoolExecutor(self._options.workers, "rlds_kit-loader")
        try:
            _, taken = shares(np.array([loop.done]), self._weights)
            readers = [
                ReadAhead(part.samples, _endless(part, int(begin)), executor, cache)
                for part, begin, cache in zip(self._parts, taken[:, 0], self._caches(), strict=True)
            ]
            while True:
                chosen, _ = shares(np.arange(loop.done, loop.done + size), self._weights)
                batch = self._batch(readers, chosen)
                loop.done += size
                yield batch
        finally:
            executor.shutdown(cancel_futures=True)

    def _caches(self) -> Sequence[FieldCache]:
        """The cache of each dataset's samples, shared by all loops."""
        if self._cached is None:
            self._cached = [part.samples.cache(self._options.cache_bytes) for part in self._parts]
        return self._cached

    def _batch(self, readers: Sequence[ReadAhead], chosen: np.ndarray) -> Batch:
        parts = {}
        for number, (reader, transform) in enumerate(zip(readers, self._transforms, strict=True)):
            where = np.flatnonzero(chosen == number)
            if len(where):
                part = reader.take(len(where))
                parts[number] = (where, part if transform is None else transform(part))
                self._require_alike(self._parts[number].samples.name, parts[number][1], len(where))
        places = [where for where, _ in parts.values()]
        batch: Batch = map_arrays(
            lambda *arrays: _joined(places, arrays, len(chosen)), *(part for _, part in parts.values())
        )
        return batch

    def _require_alike(self, name: str, part: Batch, count: int) -> None:
        """Raises an error unless fields have the same dtype and shape in this batch and all others."""
        arrays = flattened(part)
        for path, array in arrays.items():
            if len(array) != count:
                raise ValueError(f"{name}: expected a transform to keep {count} samples, got {len(array)} in {path!r}")
        found = {path: (str(array.dtype), array.shape[1:]) for path, array in arrays.items()}
        self._alike = self._alike or (name, found)
        first, expected = self._alike
        for path in {**expected, **found}:
            if expected.get(path) != found.get(path):
                raise ValueError(
                    f"field {path!r} is {_described(expected.get(path))} in {first}, but {_described(found.get(path))} "
                    f"in {name}; give a transform that makes them alike, or leave the field out with `select`"
                )

    def state_dict(self) -> dict[str, Any]:
        """The position of the latest loop, as a dict for JSON."""
        states = [part.state() for part in self._parts]
        return {"version": STATE_VERSION, "samples_done": self._latest.done, "weights": self._weights, "parts": states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next loop continue from a saved state; episodes added to the datasets since are left out.

        Raises:
          ValueError: the state belongs to another mixture; the message describes what differs.
        """
        require_version(state, STATE_VERSION)
        if "weights" not in state:
            raise ValueError("the state is of one dataset's batches, not of a mixture's")
        if state["weights"] != self._weights:
            raise ValueError(f"the state is of another mixture: weights were {state['weights']}, now {self._weights}")
        self._parts = [part.restored(each) for part, each in zip(self._parts, state["parts"], strict=True)]
        self._cached = None
        self._latest = _Loop(state["samples_done"])

    def sharded(self, index: int, count: int, epoch: int) -> "MixedBatches":
        """Returns one of `count` parts of this mixture, for worker processes.

        Args:
          index: of the part.
          count: of all parts.
          epoch: a mixture has none, so each begins far enough from the previous one to have other orders.
        """
        mine, others = self._options.shard
        shard = (mine * count + index, others * count)
        parts = [replace(part, options=replace(part.options, shard=shard)) for part in self._parts]
        made = MixedBatches(parts, self._weights, self._transforms, replace(self._options, shard=shard))
        made._latest = _Loop(epoch << _EPOCH_BITS)
        return made

    @property
    def start(self) -> tuple[int, int]:
        """The epoch that was passed to `sharded`, and the position in it at which the next loop starts."""
        return divmod(self._latest.done, 1 << _EPOCH_BITS)

    def as_tf_dataset(self) -> Any:  # tf.data.Dataset
        """The batches as a `tf.data.Dataset` of tensors, in the same order and without end.

        Raises:
          MissingExtraError: TensorFlow is not installed.
        """
        from rlds_kit.loader import tf

        return tf.batches(self, self._example(), self._options.batch_size)

    def as_torch_dataset(self) -> Any:  # torch.utils.data.IterableDataset
        """The batches as a `torch.utils.data.IterableDataset` of tensors, for `DataLoader(dataset, batch_size=None)`.

        Without workers a DataLoader gives the same batches in the same order. With workers each mixes a part of the
        samples of every dataset.

        Raises:
          MissingExtraError: PyTorch is not installed.
        """
        from rlds_kit.loader import torch

        return torch.batches_dataset(self)

    def _example(self) -> Batch:
        """A batch without samples. Made from one sample, because not every transform supports an empty batch."""
        samples, transform, one = self._parts[0].samples, self._transforms[0], np.zeros(1, np.int64)
        pool = samples.pool(one)
        for run in pool.runs():
            pool.load(run)
        batch = samples.batch(pool, one)
        example: Batch = map_arrays(lambda array: array[:0], batch if transform is None else transform(batch))
        return example


_EPOCH_BITS: Final = 32
"""Number of samples between the beginnings of two epochs."""


@dataclass(slots=True)
class _Loop:
    """The position of one loop; each loop has its own, so that an older one can continue beside the latest."""

    done: int


def shares(positions: np.ndarray, weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The dataset of the sample at each position, and how many samples each dataset gives before it.

    The samples of the last dataset are spread evenly among all positions, those of the previous one evenly among the
    rest, and so on: nested lines of Bresenham. No state of earlier positions is needed.

    Args:
      positions: `[n]` int64.
      weights: that add up to 1.

    Returns:
      `[n]` int64 and `[datasets, n]` int64.

    >>> shares(np.arange(5), [0.4, 0.6])[0].tolist()
    [1, 1, 0, 1, 0]
    """
    chosen = np.zeros(len(positions), np.int64)
    before = np.zeros((len(weights), len(positions)), np.int64)
    totals = list(itertools.accumulate(weights))
    left, is_left = positions, np.ones(len(positions), np.bool_)
    for number in range(len(weights) - 1, 0, -1):
        share = totals[number - 1] / totals[number]
        earlier = np.floor(left * share).astype(np.int64)
        before[number] = left - earlier
        is_here = is_left & (np.floor((left + 1) * share).astype(np.int64) == earlier)
        chosen[is_here] = number
        left, is_left = earlier, is_left & ~is_here
    before[0] = left
    return chosen, before


def _endless(part: Ordered, done: int) -> Iterator[np.ndarray]:
    """The numbers of a dataset's samples, epoch after epoch, after the first `done`."""
    epoch, begin = divmod(done, part.count)
    for number in itertools.count(epoch):
        yield from part.pieces(number, begin if number == epoch else 0)


def _joined(places: Sequence[np.ndarray], arrays: Sequence[np.ndarray], size: int) -> np.ndarray:
    joined = np.empty((size, *arrays[0].shape[1:]), arrays[0].dtype)
    for where, array in zip(places, arrays, strict=True):
        joined[where] = array
    return joined


def _described(kind: Kind | None) -> str:
    return "missing" if kind is None else f"{kind[0]} of shape {kind[1]}"
