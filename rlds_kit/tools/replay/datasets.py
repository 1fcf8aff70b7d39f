"""Replays the episodes of a dataset."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import gymnasium

from rlds_kit.base.environment import NotRebuiltError
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.progress import Progress
from rlds_kit.base.reset_chain import ResetChain, chain_of
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.tools.replay.playback import Played, gap, play
from rlds_kit.tools.replay.rebuilt import doubts, rebuilt
from rlds_kit.tools.replay.report import Outcome, Report


@dataclass(frozen=True, slots=True)
class Member:
    """An episode of a course.

    Attributes:
      number: of the episode in the dataset.
      chain: its position after a seed; None: it is played alone.
    """

    number: int
    chain: ResetChain | None = None


Course: TypeAlias = tuple[Member, ...]
"""Episodes in the order in which they are played."""


def courses_of(dataset: Dataset, numbers: Sequence[int]) -> list[Course]:
    """The courses that replay every chosen episode, each after the episodes that led to it, and once if possible.

    Args:
      dataset: with all episodes that may lead to chosen ones.
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
        else:  # a copy of an episode replaces the original
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


ADVICE: Final = "record with `draw_seeds=True` to play any episode alone"
"""How to get a dataset whose episodes need no others."""


def replay(
    dataset: Dataset,
    *,
    episodes: Iterable[int] | None = None,
    with_info: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Makes the recorded environment again, takes the recorded actions, and compares the results.

    An episode that began with a seed gets an environment of its own, and is reset with its seed and options. One that
    began without is played in the environment of the episodes since the last seed, after these, in their order; they
    are played for it even if they were not chosen. Each is played until something differs: an observation, a reward,
    or a flag. Observations and rewards are compared bit for bit, but equal numbers of different types count as
    equal. INTERRUPTED and INCOMPLETE episodes are played to their last step. Not played, but reported with the reason,
    are damaged episodes, those that follow episodes or steps that were not recorded, and those whose environment cannot
    be made again. Only environments that are registered with Gymnasium are made: first import the package that
    registers them.

    Args:
      dataset: recorded with a Gymnasium environment.
      episodes: numbers of those to play; None: all.
      with_info: whether to compare infos, too. Some environments measure time in theirs.
      progress: gets the bytes done, estimated as equal for all steps.

    Raises:
      IndexError: there is no such episode.

    >>> replay(rlds_kit.open("data/cartpole")).ok  # doctest: +SKIP
    True
    """
    lengths = dataset.lengths()
    numbers = [range(len(lengths))[number] for number in (range(len(lengths)) if episodes is None else episodes)]
    courses = courses_of(dataset, numbers)
    steps, done = max(1, sum(int(lengths[member.number]) for course in courses for member in course)), 0
    size = sum(path.stat().st_size for path in set(dataset.shards()))
    outcomes, notes = dict[int, Outcome](), dict[str, None]()
    for course in courses:
        for outcome in _play(dataset, course, with_info=with_info):
            if outcome.replayed or outcome.diverged:
                notes.update(dict.fromkeys(doubts(dataset.episodes[outcome.episode].provenance)))
            outcomes[outcome.episode] = outcome
            done += int(lengths[outcome.episode])
            if progress is not None:
                progress(size * done // steps, size)
    return Report(str(dataset.path), tuple(outcomes[number] for number in numbers), tuple(notes))


def _play(dataset: Dataset, course: Course, *, with_info: bool) -> Iterator[Outcome]:
    """Plays the episodes of a course in one environment."""
    env: gymnasium.Env[Any, Any] | None = None
    resets = steps = 0
    broken = ""
    try:
        for member in course:
            episode, is_last = dataset.episodes[member.number], member is course[-1]
            actions = max(0, episode.length - 1)
            broken = broken or _lack(member.chain, resets, steps)
            if broken:
                yield Outcome(member.number, episode.id, actions, 0, reason=broken)
                continue
            try:
                if reason := _unseeded(episode, member.chain) or gap(episode):
                    played = Played(0, 0, reason=reason)
                else:
                    env = rebuilt(episode.provenance) if env is None else env
                    played = play(env, episode, with_info=with_info, to_the_end=not is_last)
            except (NotRebuiltError, DamagedError) as error:
                played = Played(0, 0, reason=str(error))
            resets, steps = resets + 1, steps + played.taken
            if played.reason:
                broken = f"episode {member.number}, which leads to it, was not played to its end: {played.reason}"
            reason = "" if played.divergences else played.reason
            yield Outcome(member.number, episode.id, actions, played.compared, played.divergences, reason)
    finally:
        if env is not None:
            env.close()


def _lack(chain: ResetChain | None, resets: int, steps: int) -> str:
    """The reason why an episode cannot be reached after this many resets and steps; empty if it can."""
    if chain is None or (chain.resets, chain.steps) == (resets, steps):
        return ""
    if chain.resets != resets:
        began = f"reset {resets} after" if resets else "the reset with"
        what = f"the episode that {began} the seed {chain.seed} began is not in this dataset"
    else:
        what = f"{chain.steps - steps} of the {chain.steps} steps since the seed {chain.seed} were not recorded"
    return f"{what}, and its random numbers follow from there; {ADVICE}"


def _unseeded(episode: Episode, chain: ResetChain | None) -> str:
    """The reason why the random state of an episode is unknown; empty if a seed determines it."""
    if chain is not None or episode.seed is not None or not episode.provenance.get("id"):
        return ""  # without an id there is a better reason
    return f"no seed was recorded, and none before it; pass one to the first reset, or {ADVICE}"
