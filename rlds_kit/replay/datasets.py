"""Plays the episodes of a dataset again."""

from collections.abc import Iterable

from rlds_kit.dataset import Dataset
from rlds_kit.environment import NotRebuiltError
from rlds_kit.episode import Episode
from rlds_kit.errors import DamagedError
from rlds_kit.replay.episodes import gap, play
from rlds_kit.replay.rebuilt import VECTOR, doubts, rebuilt
from rlds_kit.replay.report import Outcome, Report
from rlds_kit.upkeep.report import Progress


def replay(
    dataset: Dataset,
    *,
    episodes: Iterable[int] | None = None,
    with_info: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Makes the recorded environment again, takes the recorded actions, and compares what comes back.

    Each episode gets an environment of its own, is reset with its seed and options, and is played until something
    differs: an observation, a reward, or a flag. Observations and rewards are compared bit for bit, but a number that
    comes back in another type is still the same number. INTERRUPTED and INCOMPLETE episodes are played as far as they
    go; damaged ones, and those whose environment cannot be made again, are in the report with the reason. Only
    environments are made that are registered with Gymnasium: import the package that registers them first.

    Args:
      dataset: recorded with a Gymnasium environment.
      episodes: numbers of those to play; None: all.
      with_info: whether to compare infos, too. Some environments measure time in theirs.
      progress: told of bytes, as if every step took as many.

    Raises:
      IndexError: there is no such episode.

    >>> replay(rlds_kit.open("data/cartpole")).ok  # doctest: +SKIP
    True
    """
    lengths = dataset.lengths()
    numbers = [range(len(lengths))[number] for number in (range(len(lengths)) if episodes is None else episodes)]
    steps, done = max(1, sum(lengths[number] for number in numbers)), 0
    size = sum(path.stat().st_size for path in set(dataset.shards()))
    outcomes, notes = [], dict[str, None]()
    for number in numbers:
        episode = dataset.episodes[number]
        outcome = _outcome(number, episode, with_info=with_info)
        if outcome.replayed or outcome.diverged:
            notes.update(dict.fromkeys(doubts(episode.provenance)))
        outcomes.append(outcome)
        done += lengths[number]
        if progress is not None:
            progress(size * done // steps, size)
    return Report(str(dataset.path), tuple(outcomes), tuple(notes))


def _outcome(number: int, episode: Episode, *, with_info: bool) -> Outcome:
    actions = max(0, episode.length - 1)
    try:
        if reason := _unseeded(episode) or gap(episode):
            return Outcome(number, episode.id, actions, 0, reason=reason)
        env = rebuilt(episode.provenance)
    except (NotRebuiltError, DamagedError) as error:
        return Outcome(number, episode.id, actions, 0, reason=str(error))
    try:
        taken, divergences, reason = play(env, episode, with_info=with_info)
    except DamagedError as error:
        return Outcome(number, episode.id, actions, 0, reason=str(error))
    finally:
        env.close()
    return Outcome(number, episode.id, actions, taken, divergences, reason)


def _unseeded(episode: Episode) -> str:
    """Why nobody knows the random numbers of an episode; empty if its seed is there."""
    if episode.seed is not None or not episode.provenance.get("id"):
        return ""  # without an id there is more to say than that
    if episode.provenance.get("interface") == VECTOR and episode.provenance.get("autoreset"):
        return "an autoreset of the vector environment began it, with random numbers that are not known (no seed)"
    return "no seed was recorded; record with `draw_seeds=True`, the default of the loggers, or pass seeds to reset"
