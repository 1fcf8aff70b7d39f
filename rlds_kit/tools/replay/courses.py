"""Which episodes are played in one environment, one after the other: those since its last seed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rlds_kit.base.errors import DamagedError
from rlds_kit.base.reset_chain import ResetChain, chain_of
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode


@dataclass(frozen=True, slots=True)
class Member:
    """An episode of a course.

    Attributes:
      number: of the episode in the dataset.
      chain: where it stands; None: it is played alone.
    """

    number: int
    chain: ResetChain | None = None


Course: TypeAlias = tuple[Member, ...]
"""Episodes in the order in which they are played."""


def courses_of(dataset: Dataset, numbers: Sequence[int]) -> list[Course]:
    """The courses to play so that every chosen episode is played, each with what led to it and once if possible.

    Args:
      dataset: all episodes that may lead to others.
      numbers: of the chosen ones.
    """
    chains = {number: _chain(dataset.episodes[number]) for number in numbers}
    if any(chain is not None and chain.resets for chain in chains.values()):
        chains |= {number: _chain(dataset.episodes[number]) for number in range(len(dataset.episodes))}
    first: dict[tuple[str, int], dict[int, Member]] = {}
    for number, chain in sorted(chains.items()):
        if chain is not None:
            first.setdefault(chain.key, {}).setdefault(chain.resets, Member(number, chain))
    return list(_courses(numbers, chains, first))


def _courses(
    numbers: Iterable[int],
    chains: Mapping[int, ResetChain | None],
    first: Mapping[tuple[str, int], Mapping[int, Member]],
) -> Iterable[Course]:
    last: dict[tuple[str, int], int] = {}
    for number in dict.fromkeys(numbers):
        chain = chains[number]
        if chain is None:
            yield (Member(number),)
        elif first[chain.key][chain.resets].number == number:
            last[chain.key] = max(chain.resets, last.get(chain.key, 0))
        else:  # a copy of an episode: it comes in place of the other
            yield (*_before(first[chain.key], chain.resets), Member(number, chain))
    for key, resets in last.items():
        yield _before(first[key], resets + 1)


def _before(members: Mapping[int, Member], resets: int) -> Course:
    return tuple(members[at] for at in sorted(members) if at < resets)


def _chain(episode: Episode) -> ResetChain | None:
    try:
        return chain_of(episode.provenance)
    except DamagedError:
        return None  # the replay reports it
