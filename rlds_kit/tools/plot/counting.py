"""Counts the values that are drawn."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, TypeVar

import numpy as np

from rlds_kit.base.progress import Meter, Progress
from rlds_kit.base.step import REWARD
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.tools.plot.bins import bins_of_tallies, bins_of_values
from rlds_kit.tools.plot.gather import Gathered, Place, gather, size_of
from rlds_kit.tools.plot.histogram import Counts, Histogram, Histograms, Size, TextHistogram
from rlds_kit.tools.plot.tally import CELLS, HUGE
from rlds_kit.tools.upkeep.statistics import summary

BINS: Final = 40
"""The default maximum of bins of a histogram."""
MIN_BINS: Final = 2
"""Zero is always the edge of a bin of actions that are no whole numbers."""
MAX_BINS: Final = CELLS // 4
TEXTS: Final = 10
"""Number of texts that are named if actions are text: the most frequent ones."""

Key = TypeVar("Key", bound=Hashable)


def count(datasets: Mapping[str, Dataset], *, bins: int = BINS, progress: Progress | None = None) -> Histograms:
    """Counts returns, lengths and actions of datasets, in common bins.

    Returns and lengths are stored until bins are chosen; actions are counted as they are read. Actions that are arrays
    have a histogram for each of their first 16 elements.

    Args:
      datasets: by their names in the result; may be views.
      bins: maximum number in each histogram.
      progress: a callback with the bytes done and the total.

    Raises:
      ValueError: `bins` is not between 2 and 256.
      DamagedError: a reward or an action is damaged.
    """
    if not MIN_BINS <= bins <= MAX_BINS:
        raise ValueError(f"bins: expected {MIN_BINS} to {MAX_BINS}, got {bins}")
    meter = Meter(progress, sum(size_of(dataset) for dataset in datasets.values()))
    found = {name: gather(dataset, meter) for name, dataset in datasets.items()}
    lengths = {name: np.array(each.lengths, np.float64) for name, each in found.items()}
    return Histograms(
        datasets={name: Size(len(each.lengths), sum(each.lengths)) for name, each in found.items()},
        returns=tuple(_returns(found, path, bins) for path in _keys(each.returns for each in found.values())),
        lengths=_of_values("length", lengths, bins),
        actions=(
            *(_numbers(found, place, bins) for place in _keys(each.numbers for each in found.values())),
            *(_texts(found, path) for path in _keys(each.texts for each in found.values())),
        ),
        not_drawn=tuple(dict.fromkeys(reason for each in found.values() for reason in each.not_drawn.values())),
    )


def _keys(found: Iterable[Mapping[Key, object]]) -> list[Key]:
    """The keys of all, each once, in the order of their first occurrence."""
    return list(dict.fromkeys(chain.from_iterable(found)))


def _returns(found: Mapping[str, Gathered], path: str, most: int) -> Histogram:
    samples = {name: np.array(each.returns[path]) for name, each in found.items() if path in each.returns}
    return _of_values("return" + path.removeprefix(REWARD), samples, most)


def _of_values(name: str, samples: Mapping[str, np.ndarray], most: int) -> Histogram:
    finite = {dataset: sample[np.abs(sample) < HUGE] for dataset, sample in samples.items()}
    edges, is_discrete = bins_of_values(list(finite.values()), most)
    datasets = {
        dataset: replace(
            _in_bins(edges, sample, np.ones(len(sample), np.int64), len(samples[dataset]) - len(sample)),
            summary=summary(sample) if len(sample) else None,
        )
        for dataset, sample in finite.items()
    }
    return Histogram(name, tuple(edges.tolist()), is_discrete, datasets)


def _numbers(found: Mapping[str, Gathered], place: Place, most: int) -> Histogram:
    tallies = {name: each.numbers[place] for name, each in found.items() if place in each.numbers}
    edges, is_discrete = bins_of_tallies(list(tallies.values()), most)
    datasets = {name: _in_bins(edges, *tally.cells(), tally.outliers) for name, tally in tallies.items()}
    return Histogram(str(place), tuple(edges.tolist()), is_discrete, datasets)


def _in_bins(edges: np.ndarray, values: np.ndarray, weights: np.ndarray, outliers: int) -> Counts:
    if not len(edges):
        return Counts((), outliers=outliers)
    bins = np.histogram(values, edges, weights=weights)[0]
    below, above = int(weights[values < edges[0]].sum()), int(weights[values > edges[-1]].sum())
    return Counts(tuple(bins.tolist()), below, above, outliers)


def _texts(found: Mapping[str, Gathered], path: str) -> TextHistogram:
    tallies = {name: each.texts[path] for name, each in found.items() if path in each.texts}
    shares: Counter[str] = Counter()
    for tally in tallies.values():  # by share: small and large datasets have the same weight
        total = tally.counts.total() + tally.others
        shares.update({text: times / total for text, times in tally.counts.items()})
    texts = tuple(text for text, _ in shares.most_common(TEXTS))
    datasets = {}
    for name, tally in tallies.items():
        named = tuple(tally.counts[text] for text in texts)
        datasets[name] = (*named, tally.counts.total() + tally.others - sum(named))
    return TextHistogram(path, texts, datasets)
