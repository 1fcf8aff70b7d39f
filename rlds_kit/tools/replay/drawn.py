"""Renders the steps of an episode again: makes the recorded environment and takes the recorded actions."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from rlds_kit.base.environment import NotRebuiltError
from rlds_kit.base.errors import RldsKitError
from rlds_kit.episode.episode import Episode
from rlds_kit.tools.replay.playback import FLAG_NAMES, Played, gap, played
from rlds_kit.tools.replay.rebuilt import rebuilt

MODE: Final = "rgb_array"


class NotDrawnError(RldsKitError, ValueError):
    """The frame of a step cannot be rendered; the message gives the reason."""


def why_not_drawn(episode: Episode) -> str:
    """The reason why an episode cannot be rendered, if that is known without trying; else empty."""
    if not episode.provenance.get("id"):
        return "no environment id was recorded, so the environment cannot be made again"
    if episode.seed is None:
        return "no seed was recorded for this episode; pass seeds to reset, or record with `draw_seeds=True`"
    return gap(episode)


def drawn(episode: Episode) -> Iterator[np.ndarray]:
    """Renders each step of an episode: yields the frames of the environment, `[height, width, 3]` uint8.

    Observations and rewards are compared with the recorded ones, bit for bit, so every picture shows the recorded step.
    Only environments that are registered with Gymnasium are made.

    Raises:
      NotDrawnError: no seed or no environment was recorded, it cannot be made here, it draws nothing, or its results
        differ from the recorded ones; pictures of earlier steps have been yielded by then.
      DamagedError: a step is damaged.
    """
    if reason := why_not_drawn(episode):
        raise NotDrawnError(reason)
    try:
        env = rebuilt(episode.provenance, render_mode=MODE)
    except NotRebuiltError as error:
        raise NotDrawnError(str(error)) from error
    try:
        steps = played(env, episode, with_info=False)
        while True:
            try:
                row = next(steps)
            except StopIteration as end:
                done: Played = end.value
                break
            yield _picture(env.render(), row)
    finally:
        env.close()
    last = episode.length - 1  # the last step may be due to the limit of a study, or to a person
    reason = done.reason
    different = [each for each in done.divergences if each.field not in FLAG_NAMES or each.step != last]
    if different:
        first = different[0]
        reason = (
            f"from step {first.step} on the environment does something else than when it was recorded: {first.field} "
            f"was {first.recorded} and is {first.replayed}"
        )
    if reason:
        raise NotDrawnError(reason)


def _picture(rendered: object, row: int) -> np.ndarray:
    picture = np.asarray(rendered)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise NotDrawnError(f"the environment draws no picture at step {row}: {type(rendered).__name__}")
    return np.array(picture)  # the environment may draw the next one into the same memory
