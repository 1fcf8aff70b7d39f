"""A copy of a dataset, step by step, in which something may be changed."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.reset_chain import chain_of
from rlds_kit.base.step import ACTION, DECLARED_FIELDS, DISCOUNT, FLAGS, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.logger import EpisodeWriter

Change = Callable[[int, int, dict[str, Any]], None]
"""Given the number of an episode, that of a step and the step, which it may change in place."""


def nothing(episode: int, step: int, row: dict[str, Any]) -> None:
    """Changes nothing."""


def rewrite(
    source: Path,
    target: Path,
    change: Change = nothing,
    *,
    metadata: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
) -> rlds_kit.Dataset:
    """Records the episodes of a dataset again, with other ids, and with another environment if one is given."""
    dataset = rlds_kit.open(source)
    declared = specs.Dict({name: dataset.spec.fields[name] for name in DECLARED_FIELDS})
    with EpisodeWriter(target, declared, environment=environment or dataset.environment, record_time=False) as writer:
        for number, episode in enumerate(dataset.episodes):
            steps = list(episode.steps)
            for index, row in enumerate(steps):
                change(number, index, row)
            _write(writer, episode, steps, metadata or {})
    return rlds_kit.open(target)


def _write(
    writer: EpisodeWriter, episode: rlds_kit.Episode, steps: list[dict[str, Any]], metadata: dict[str, Any]
) -> None:
    known = {**episode.metadata, **metadata}
    chain = chain_of(episode.provenance)
    origin = None if chain is None else chain.provenance()
    with writer.episode(metadata=known, seed=episode.seed, options=episode.options, provenance=origin) as copy:
        copy.start(steps[0][OBSERVATION], **_others(steps[0]))
        for row, following in itertools.pairwise(steps):
            copy.step(row[ACTION], row[REWARD], following[OBSERVATION], discount=row[DISCOUNT], **_others(following))
        end = episode.end
        if end not in (None, EpisodeEnd.INCOMPLETE):
            copy.end(end, terminated=episode.terminated, truncated=episode.truncated)


def _others(row: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in row.items() if name not in (*DECLARED_FIELDS, *FLAGS)}
