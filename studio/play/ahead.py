"""Pictures of possible next steps of a session: drawn one by one while nothing else is to do, and sent ahead.

Where each step waits for a key, its picture is then on the screen at once, however slow the link is. The worker draws
one with each request, so a key that is pressed meanwhile waits for one picture at most.
"""

import logging

from rlds_kit.studio.play.ahead_out import MOST_BYTES, Possible
from rlds_kit.studio.play.audience import Audience
from rlds_kit.studio.play.host import Scene
from rlds_kit.studio.play.live_environment import LiveEnvironment
from rlds_kit.studio.play.live_episode import LiveEpisode
from rlds_kit.trials import Driver, Phase, Turn
from rlds_kit.trials.engine.messages import StepEnvironment
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError

log = logging.getLogger(__name__)


class Ahead:
    """Has pictures of possible next steps drawn.

    Args:
      scene: what is played.
      environment: that draws them.
      audience: that they are sent to.
    """

    def __init__(self, scene: Scene, environment: LiveEnvironment, audience: Audience) -> None:
        self._is_wanted = scene.is_ahead and scene.turn is Turn.PRESS and not scene.drivers
        self._environment, self._audience = environment, audience
        self._left: list[int] = []
        self._bytes = 0
        self._of: tuple[LiveEpisode, int, object] | None = None
        self._turn: object | None = None

    @property
    def is_due(self) -> bool:
        """Whether there is something to draw."""
        return bool(self._left)

    def begin(self, episode: LiveEpisode, step: int, view: requests.View, last: object = None) -> None:
        """Draws for the step after this one, if one person acts in the only seat.

        Args:
          episode: that is played.
          step: how many were done.
          view: of everybody.
          last: the action before; its picture is drawn first, as people often do the same again.
        """
        self.end()
        opened = self._environment.opened
        self._of = episode, step, last
        self._turn, self._bytes = object(), 0
        is_seen = view.camera == 0 and view.quality is not None
        is_acted = len(opened.seats) == 1 and episode.trial.driver(opened.seats[0]) is Driver.HUMAN
        if self._is_wanted and is_seen and is_acted:
            self._left = sorted(opened.ahead, key=lambda action: action != last)

    def stepped(
        self, episode: LiveEpisode, doing: StepEnvironment | None, done: requests.Stepped, view: requests.View
    ) -> None:
        """Notes whether the picture ahead of a step came true, and draws for the next one."""
        last = None if doing is None else next(iter(doing.actions.values()), None)
        if done.came_true is not None and last is not None:
            self._audience.done(episode.number, done.step, int(last), is_equal=done.came_true)
        if episode.trial.phase in {Phase.RUNNING, Phase.PAUSED}:
            self.begin(episode, done.step, view, last)

    def again(self, view: requests.View) -> None:
        """Draws all again, because the view has changed."""
        if self._turn is not None and self._of is not None:
            episode, step, last = self._of
            self.begin(episode, step, view, last)

    def end(self) -> None:
        """Draws no more: a step is to be done, or the episode is over."""
        self._left, self._turn = [], None
        self._audience.forget_ahead()

    async def draw(self, view: requests.View) -> None:
        """Draws one of them."""
        turn, action = self._turn, self._left.pop(0)
        if view.quality is None:
            return
        try:
            picture = await self._environment.request(requests.Ahead(action, view.quality))
        except EnvironmentLostError:
            return  # the session was notified
        except RequestFailedError as error:
            log.warning("no pictures ahead any more: %s", error)
            self._is_wanted, self._left = False, []
            return
        if turn is not self._turn or self._of is None:
            return  # a key was pressed meanwhile
        episode, step, _ = self._of
        self._bytes += len(picture.data)
        if self._bytes > MOST_BYTES:
            self._left = []
        else:
            self._audience.show_ahead(Possible(episode.number, step + 1, action, picture))
