"""Collectors of recorded episodes, in parallel, written beside them as a layer."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rlds_kit import layers
from rlds_kit.base.executor import Run
from rlds_kit.base.executor.run import notify
from rlds_kit.base.step import OBSERVATION, REWARD
from rlds_kit.crowd.collectors.collector import Collector, Count
from rlds_kit.crowd.collectors.moment import moment
from rlds_kit.dataset import Dataset, open_dataset
from rlds_kit.episode.episode import Episode

Values = npt.NDArray[np.float64]
SOURCE: Final = "rlds_kit.crowd.collectors"
_LEAST, _PARTS = 8, 64


@dataclass(frozen=True, slots=True)
class _Part:
    path: Path
    episodes: tuple[uuid.UUID, ...]
    collectors: tuple[Collector, ...]
    fps: float | None

    def __str__(self) -> str:
        return f"{self.path}: {len(self.episodes)} episodes from {self.episodes[0]} on"


def collect(
    episode: Episode, collectors: Sequence[Collector], *, fps: float | None = None
) -> dict[str | None, dict[str, Values]]:
    """What collectors count in a recorded episode.

    Args:
      episode: with n actions.
      collectors: what to count.
      fps: steps in a second; None: as for `moments`.

    Returns:
      For each agent, None where there is only one, and each collector's name: float64 `[n]`, the values after each
      action. Where an agent did nothing, the value before goes on.
    """
    counts: dict[str | None, dict[str, Count]] = {}
    values: dict[str | None, dict[str, Values]] = {}
    length = max(episode.length - 1, 0)
    previous: Mapping[str, Any] | None = None
    for index, step in enumerate(episode.steps, -1):
        for agent in [] if previous is None else _agents(previous):
            if agent not in counts:
                counts[agent] = {each.name: each.begin() for each in collectors}
                values[agent] = {each.name: np.zeros(length) for each in collectors}
            found = moment(index, previous or {}, step, agent, fps=fps)
            for name, count in counts[agent].items() if found is not None else ():
                values[agent][name][index:] = count(found)  # type: ignore[arg-type]  # it is not None here
        previous = step
    return values


def annotate_with(
    dataset: Dataset,
    layer: str,
    collectors: Sequence[Collector],
    run: Run,
    *,
    fps: float | None = None,
    episodes: Sequence[Episode] | None = None,
) -> int:
    """Counts in recorded episodes, and writes the values as a layer: a field `collector_<name>` with one value a step.

    With several agents the field is a nest by agent.

    Args:
      dataset: of a directory.
      layer: that is written.
      collectors: what to count; they can be pickled.
      run: the executor, such as `serially()` of `rlds_kit.base.executor`.
      fps: steps in a second; None: as for `moments`.
      episodes: of the dataset; None: all.

    Returns:
      The number of episodes with values.
    """
    every = tuple(each.id for each in (dataset.episodes if episodes is None else episodes))
    size = max(_LEAST, -(-len(every) // _PARTS))
    parts = [
        _Part(Path(str(dataset.path)), every[first : first + size], tuple(collectors), fps)
        for first in range(0, len(every), size)
    ]
    done = 0
    with dataset.annotator(layer, source=SOURCE) as writer:
        for counted in run(_count, parts):
            for episode, values in counted:
                writer.add_all(list(_drafts(episode, values)))
                done += bool(values)
    return done


def _count(part: _Part) -> list[tuple[uuid.UUID, dict[str | None, dict[str, Values]]]]:
    dataset = open_dataset(part.path, include_open=True)
    fields = _fields(dataset, part.collectors)
    chosen = dataset if fields is None else dataset.select(*fields)
    wanted, counted = set(part.episodes), []
    for episode in chosen.episodes:
        if episode.id not in wanted:
            continue
        counted.append((episode.id, collect(episode, part.collectors, fps=part.fps)))
        notify(1)
    return counted


def _fields(dataset: Dataset, collectors: Sequence[Collector]) -> list[str] | None:
    """The fields that must be read; None: all."""
    wanted: set[str] = set()
    for each in collectors:
        if each.reads is None:
            return None
        wanted |= set(each.reads)
    known = dataset.spec.fields
    if getattr(known.get(OBSERVATION), "shape", None) == (128,) or REWARD not in known:
        wanted.add(OBSERVATION)
    return sorted(wanted & known.keys())


def _agents(step: Mapping[str, Any]) -> list[str | None]:
    reward = step.get(REWARD)
    return list(reward) if isinstance(reward, Mapping) else [None]


def _drafts(episode: uuid.UUID, values: Mapping[str | None, Mapping[str, Values]]) -> Iterator[layers.Draft]:
    for agent, by_name in values.items():
        for name, stacked in by_name.items():
            if len(stacked):
                field = f"collector_{name}" if agent is None else f"collector_{name}/{agent}"
                yield layers.amendments(episode, field, stacked)
