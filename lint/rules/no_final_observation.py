"""Episodes without a last observation."""

from collections.abc import Iterable
from typing import Final

from rlds_kit.base.step import OBSERVATION, EpisodeEnd
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode


@rule("RK204", Severity.WARNING)
class MissingFinalObservation(Check):
    """The observation after the last action is missing.

    The environment ended the episode, and its last action has no observation after it. Episodes that were interrupted
    or cut off do not count.

    An episode of n actions has n + 1 observations. Without the last one the final transition cannot be learned from,
    and where the episode was truncated there is no state to bootstrap its value from. D4RL's files without
    `next_observations` and CrowdPlay's are like that.

    If the environment and the seed are known, `rlds-kit replay` shows whether playing the actions again gives the rest;
    otherwise use the data as they are: masks leave the last transition out. Record with `rlds_kit.logger`, which keeps
    it.
    """

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the last row."""
        is_ended = episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)
        if is_ended and episode.actions > 0 and not episode.last and episode.before_last:
            yield Hit("no observation follows on the last action", episode.number, episode.length - 1, OBSERVATION)


FEWEST: Final = 3


@rule("RK205", Severity.WARNING)
class ZeroFinalObservation(Check):
    """All episodes end with an observation of zeros.

    At least three episodes, all that the environment ended, close with an observation in which everything is zero, and
    none opens with one.

    Writers that lack the final observation fill its place with zeros: TFDS does so with D4RL's files. A state of zeros
    is as good as any other to a network, so the last transition teaches it something false. Some environments really
    show nothing at their end; then the rule can be ignored.

    Leave the final observation out rather than making one up. rlds_kit's readers keep it undefined where the source has
    none, and its exports say so in `observation_valid`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._zeros, self._is_ruled_out = 0, False

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Stops at the first episode that ends differently."""
        is_ended = episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED) and episode.actions > 0
        if self._is_ruled_out or not is_ended or not episode.last:
            return ()
        self._is_ruled_out = any(map(any, episode.last.values())) or not any(map(any, episode.first.values()))
        self._zeros += 1
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports their number."""
        del subject
        if not self._is_ruled_out and self._zeros >= FEWEST:
            yield Hit(
                f"the last observation of all {self._zeros:,} episodes is zeros", field=OBSERVATION, count=self._zeros
            )
