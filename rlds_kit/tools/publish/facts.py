"""The statistics of a published dataset, for card, Croissant and pictures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from rlds_kit.base.field_statistics import FieldStatistics
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.base.step import DECLARED_FIELDS
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.storage import leaf as leaves
from rlds_kit.tools import plot
from rlds_kit.tools.plot.gather import gather
from rlds_kit.tools.publish.about import About
from rlds_kit.tools.publish.fields import Field, fields_of
from rlds_kit.tools.publish.provenance import Origins, origins
from rlds_kit.tools.upkeep.statistics import Statistics, statistics

QUANTILES: Final = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
FEWEST_BINS: Final = 8


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of a number that each episode has, such as its return.

    Attributes:
      mean: of the episodes.
      std: standard deviation, of the episodes themselves.
      quantiles: at QUANTILES.
    """

    mean: float
    std: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a dataset.

    Attributes:
      about: its description by its authors.
      fields: of its steps.
      lacking: paths of fields without a value in some step; action, reward and discount only if they may be None.
      statistics: counts and sizes.
      distributions: of "length", and of each "return".
      histograms: for the pictures.
      origins: of the episodes.
      content_digest: of the dataset, in hexadecimal.
    """

    about: About
    fields: tuple[Field, ...]
    lacking: frozenset[str]
    statistics: Statistics
    distributions: Mapping[str, Distribution]
    histograms: plot.Histograms
    origins: Origins
    content_digest: str


def facts(dataset: Dataset, about: About, progress: Progress | None = None) -> Facts:
    """Reads rewards, actions and metadata of a dataset; of other fields only the headers of blocks.

    Raises:
      DamagedError: some of these are damaged.
    """
    gathered = gather(dataset, Meter(None, 0))
    samples: dict[str, Sequence[float]] = {"length": gathered.lengths}
    samples |= {f"return{path.removeprefix('reward')}": values for path, values in gathered.returns.items()}
    fields, counted = fields_of(dataset.spec), statistics(dataset.path)
    return Facts(
        about=about,
        fields=fields,
        lacking=frozenset(_lacking(fields, counted)),
        statistics=counted,
        distributions={name: _distribution(values) for name, values in samples.items() if len(values)},
        histograms=_histograms(dataset, about.name, progress),
        origins=origins(dataset),
        content_digest=dataset.content_digest.hex(),
    )


def _lacking(fields: Sequence[Field], counted: Statistics) -> Iterator[str]:
    """Fields that may be None, and dynamic ones whose columns do not cover all steps."""
    spanned = {each.path: each.values for each in counted.fields}
    for field in fields:
        is_declared = leaves.elements(field.path)[0] in DECLARED_FIELDS
        if field.may_lack or (not is_declared and spanned.get(field.path, 0) < counted.steps):
            yield field.path


def _histograms(dataset: Dataset, name: str, progress: Progress | None) -> plot.Histograms:
    """Counts values; returns and lengths of few episodes get fewer bins, of which most would otherwise be empty."""
    found = plot.count({name: dataset}, progress=progress)
    bins = max(FEWEST_BINS, 2 * math.isqrt(len(dataset.episodes)))
    if bins >= plot.BINS:
        return found
    coarse = plot.count({name: dataset}, bins=bins)
    return replace(found, returns=coarse.returns, lengths=coarse.lengths)


def _distribution(values: Sequence[float]) -> Distribution:
    found = FieldStatistics.of(np.asarray(values, np.float64))
    return Distribution(found.mean.item(), found.std.item(), tuple(found.quantile(QUANTILES).tolist()))
