"""Ends with wrong flags."""

from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode
from rlds_kit.lint.time_limit import time_limit


@rule("RK206", Severity.ERROR)
class TerminatedAtTheLimit(Check):
    """An episode is marked as terminated where the time limit cut it off.

    The environment was recorded with a limit of n steps (`max_episode_steps`), the episode has n actions and is marked
    as terminated, and not as truncated. Gymnasium's time limit sets the flag for truncation at step n, whatever else
    happens. Episodes of more than n actions are another rule's (RK601).

    "Time Limits in Reinforcement Learning" (Pardo et al., 2018) shows what it costs to take a time limit for a terminal
    state: the value beyond it is learned to be zero, though the episode could have gone on. Gym's old `done` flag had
    both in one, and a conversion that knows only `done` marks every end as terminal.

    Mark these episodes as truncated, with a discount of 1 on the last action. If the environment really terminates at a
    fixed step, it needs no time limit: record its spec without one.
    """

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks its end."""
        limit = time_limit(episode.provenance)
        is_forged = episode.end is EpisodeEnd.TERMINATED and not episode.truncated
        if limit is not None and is_forged and episode.actions == limit:
            yield Hit(
                f"marked as terminated after {limit:,} actions, which is the environment's time limit",
                episode.number,
                episode.length - 1,
            )


@rule("RK207", Severity.ERROR)
class FalseEnd(ProbeCheck):
    """An episode did not end as its flags say.

    The environment is made again and plays the whole episode, every observation comes out as it was recorded, and at
    its end the environment says something else than the recording: that it did not end, or that it was truncated rather
    than terminated, or the other way round.

    A reset in the middle is no truncation, but Minari marks it as one, and conversions that know only a `done` flag
    turn truncations into terminations. Value learning bootstraps at a truncation and not at a termination, so each of
    these mistakes puts a false target on the last transition (Pardo et al., "Time Limits in Reinforcement Learning",
    2018).

    Mark the episode as the finding recommends. An end that the caller made is INTERRUPTED in rlds_kit.
    """

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Reports the end in the environment."""
        is_marked = episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)
        if not (is_marked and found.is_aligned and found.is_whole):
            return
        recorded = _word(terminated=episode.end is EpisodeEnd.TERMINATED, truncated=True)
        played = _word(terminated=found.played.terminated, truncated=found.played.truncated)
        if recorded != played:
            yield Hit(
                f"marked as {recorded}, but the environment says that it was {played}",
                episode.number,
                episode.length - 1,
            )


def _word(*, terminated: bool, truncated: bool) -> str:
    return "terminated" if terminated else "truncated" if truncated else "not over"


FEWEST_LENGTHS: Final = 4
LISTED: Final = 1000


@rule("RK208", Severity.WARNING)
class TruncatedBeforeTheLimit(Check):
    """An episode is marked as truncated before the time limit.

    The environment was recorded with a limit of n steps, and the episode is marked as truncated after fewer than n
    actions, as in three other episodes of the dataset at least, all of different lengths. Only data of foreign formats
    are checked: rlds_kit's loggers record the flags of the environment.

    Minari marks a reset in the middle of an episode as a truncation that the environment never made. Truncation means
    that the episode was cut off by a limit that the agent's state does not show; a caller's reset may depend on
    anything, such as that the agent got stuck, and then the data are biased.

    Mark these episodes as INTERRUPTED if the caller ended them. Some environments truncate by rules of their own; then
    the rule can be ignored.
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: list[tuple[int, int, int]] = []

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks its end."""
        if episode.digest or episode.end is not EpisodeEnd.TRUNCATED or len(self._found) >= LISTED:
            return ()
        limit = time_limit(episode.provenance)
        if limit is not None and 0 < episode.actions < limit:
            self._found.append((episode.number, episode.actions, limit))
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports the episodes that were truncated before the limit."""
        del subject
        if len({actions for _, actions, _ in self._found}) < FEWEST_LENGTHS:
            return
        for number, actions, limit in self._found:
            yield Hit(f"marked as truncated after {actions:,} actions; the time limit is {limit:,}", number, actions)


FEWEST: Final = 10
SHORTEST: Final = 20


@rule("RK209", Severity.WARNING)
class AllOfOneLength(Check):
    """All episodes are equally long, and all are marked as terminated.

    Ten episodes or more, each of the same number of actions, at least twenty, are all marked as terminated.

    So are data whose time limit was recorded as a terminal state, see RK206: here the limit is not known, so it is a
    hint only. Tasks that always take the same number of steps have the same pattern.

    If it was a limit, mark the episodes as truncated, with a discount of 1 on the last action.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lengths = set[int]()
        self._episodes, self._is_ruled_out = 0, False

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Stops at the first episode that ended differently."""
        if self._is_ruled_out:
            return ()
        self._lengths.add(episode.actions)
        self._episodes += 1
        is_limited = time_limit(episode.provenance) is not None
        self._is_ruled_out = len(self._lengths) > 1 or episode.end is not EpisodeEnd.TERMINATED or is_limited
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports their length."""
        del subject
        actions = max(self._lengths, default=0)
        if not self._is_ruled_out and self._episodes >= FEWEST and actions >= SHORTEST:
            yield Hit(
                f"all {self._episodes:,} episodes have {actions:,} actions and are marked as terminated",
                count=self._episodes,
            )
