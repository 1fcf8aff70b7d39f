"""Prepares episodes for formats that cannot store a step without observation or action."""

from dataclasses import replace

from rlds_kit.base.step import ACTION, OBSERVATION, EpisodeEnd
from rlds_kit.convert.protocol import ForeignEpisode, Loss


def with_final_observation(episode: ForeignEpisode, owner: str) -> tuple[ForeignEpisode | None, list[Loss]]:
    """The episode up to its last observation; if the final one is missing, the last action is removed.

    Args:
      episode: any episode.
      owner: name of the format, for the reasons.

    Returns:
      The episode, None if steps in its middle lack observation or action; and the losses.

    >>> rows = [{"observation": 0}], [{"action": 1}]
    >>> fitted, losses = with_final_observation(ForeignEpisode(*rows, EpisodeEnd.TERMINATED), "Minari")
    >>> fitted.acted, fitted.end.value, [loss.field for loss in losses]
    ([], 'interrupted', ['action', 'end'])
    """
    if any(ACTION not in row for row in episode.acted) or any(OBSERVATION not in row for row in episode.observed):
        reason = "has steps without observation or action in the middle"
        return None, [Loss("episode", reason, len(episode.observed))]
    if not episode.acted or len(episode.acted) < len(episode.observed):
        return episode, []
    reason = f"there is no observation after it, which every episode of {owner} ends with"
    losses = [Loss(name, reason) for name in (*sorted(episode.acted[-1]), "end")]
    cut = replace(episode, acted=episode.acted[:-1], end=EpisodeEnd.INTERRUPTED, terminated=False, truncated=False)
    return cut, losses
