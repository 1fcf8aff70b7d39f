"""Where all episodes of a dataset come from, summed up."""

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rlds_kit.dataset.dataset import Dataset

_SHOWN: Final = ("id", "interface", "class", "kwargs", "wrappers", "rom", "num_envs")


@dataclass(slots=True)
class Origins:
    """What the episodes say of themselves.

    Attributes:
      environments: the description of each environment, and its number of episodes.
      versions: of Python and packages, by name.
      seeded: episodes that know the seed of their reset.
      seeds: how many different ones.
      first: when the first recording began; None without episodes.
      last: when the last one did.
      metadata: keys of the episodes' metadata, and how many have them.
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
      DamagedError: the record that holds it is damaged.
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
    """Ids of environments that have one, each once.

    >>> environment_ids(Origins(environments={(("id", "ALE/Pong-v5"),): 3}))
    ['ALE/Pong-v5']
    """
    return list(dict.fromkeys(text for shown in found.environments for key, text in shown if key == "id"))


def _shown(provenance: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What is worth telling, as text; empty entries are not."""
    return tuple((key, _text(provenance[key])) for key in _SHOWN if provenance.get(key))


def _text(value: Any) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{key}={item!r}" for key, item in value.items())
        case list() | tuple():
            return ", ".join(_text(item.get("name") if isinstance(item, Mapping) else item) for item in value)
        case _:
            return str(value)
