"""Compares the annotations of the episodes of two datasets."""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.layers import Annotation
from rlds_kit.layers.message import record_of
from rlds_kit.tools.compare.report import LayerDifference

_NO_ID: Final = uuid.UUID(int=0)


def layer_differences(a: Dataset, b: Dataset, pairs: Sequence[tuple[int, int]]) -> tuple[LayerDifference, ...]:
    """The layers whose annotations of matching episodes differ.

    Args:
      a: one dataset.
      b: the other one.
      pairs: numbers of these episodes in both.

    Raises:
      DamagedError: a layer is damaged.
      FormatError: an episode has changed since it was annotated.
    """
    return tuple(_differences(a, b, pairs))


def _differences(a: Dataset, b: Dataset, pairs: Sequence[tuple[int, int]]) -> Iterator[LayerDifference]:
    for name in sorted({*a.layers, *b.layers}):
        only_a = only_b = 0
        for number_a, number_b in pairs:
            in_a, in_b = _annotations(a, a.episodes[number_a], name), _annotations(b, b.episodes[number_b], name)
            only_a += (in_a - in_b).total()
            only_b += (in_b - in_a).total()
        if only_a or only_b:
            yield LayerDifference(name, only_a, only_b)


def _annotations(dataset: Dataset, episode: Episode, name: str) -> Counter[bytes]:
    return Counter(_contents(episode.annotations(name))) if name in dataset.layers else Counter()


def _contents(annotations: Iterable[Annotation]) -> Iterator[bytes]:
    """Each annotation without its ids, and without values that are derived from the episode."""
    for each in annotations:
        yield record_of([replace(each, id=_NO_ID, episode=_NO_ID, digest=b"")])
