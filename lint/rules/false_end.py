"""An episode did not end as its flags say.

The environment is made again and plays the whole episode, every observation comes out as it was recorded, and at its
end the environment says something else than the recording: that it did not end, or that it was truncated rather than
terminated, or the other way round.

A reset in the middle is no truncation, but Minari marks it as one, and conversions that know only a `done` flag turn
truncations into terminations. Value learning bootstraps at a truncation and not at a termination, so each of these
mistakes puts a false target on the last transition (Pardo et al., "Time Limits in Reinforcement Learning", 2018).

Mark the episode as the finding recommends. An end that the caller made is INTERRUPTED in rlds_kit.
"""

from collections.abc import Iterable

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Hit, Severity, rule
from rlds_kit.lint.subject import SubjectEpisode


@rule("RK207", Severity.ERROR)
class FalseEnd(ProbeCheck):
    """Compares the flags of the end."""

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Says what the environment says."""
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
