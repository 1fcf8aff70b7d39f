"""A summary of the provenance of all episodes of a dataset."""

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rlds_kit.dataset.dataset import Dataset

_SHOWN: Final = ("id", "interface", "class", "kwargs", "wrappers", "rom", "num_envs")


@dataclass(slots=True)
class Origins:
    """A summary of the provenance and metadata of episodes.

    Attributes:
      environments: the description of each environment, and its number of episodes.
      versions: of Python and packages, by name.
      seeded: number of episodes with a recorded seed.
      seeds: number of different seeds.
      first: time at which the first recording began; None without episodes.
      last: time at which the last recording began.
      metadata: keys of the episodes' metadata, and the number of episodes with each.
    """

    environments: dict[tuple[tuple[str, str], ...], int] = field(default_factory=dict)
    versions: dict[str, set[str]] = field(default_factory=dict)
    seeded: int = 0
    seeds: int = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    metadata: Counter[str] = field(default_factory=Counter)


def origins(dataset: Dataset) -> Origins:
    """Reads the provenance of every episode.

    Raises:
      DamagedError: a record that contains it is damaged.
    """
    found, seeds = Origins(), set()
    for episode in dataset.episodes:
        provenance, seed = episode.provenance, episode.seed
        shown = _shown(provenance)
        found.environments[shown] = found.environments.get(shown, 0) + 1
        for name, version in (provenance.get("versions") or {}).items():
            found.versions.setdefault(str(name), set()).add(str(version))
        found.seeded += seed is not None
        seeds.add(repr(seed))
        started = episode.started
        found.first = min(found.first or started, started)
        found.last = max(found.last or started, started)
        found.metadata.update(map(str, episode.metadata))
    found.seeds = len(seeds - {repr(None)})
    return found


def environment_ids(found: Origins) -> list[str]:
    """The ids of environments, each once.

    >>> environment_ids(Origins(environments={(("id", "ALE/Pong-v5"),): 3}))
    ['ALE/Pong-v5']
    """
    return list(dict.fromkeys(text for shown in found.environments for key, text in shown if key == "id"))


def _shown(provenance: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The displayed entries that are not empty, as text."""
    return tuple((key, _text(provenance[key])) for key in _SHOWN if provenance.get(key))


def _text(value: Any) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{key}={item!r}" for key, item in value.items())
        case list() | tuple():
            return ", ".join(_text(item.get("name") if isinstance(item, Mapping) else item) for item in value)
        case _:
            return str(value)
