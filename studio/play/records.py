"""What is stored of a session: rewards that people give, and notes for the host on its episodes."""

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from rlds_kit.studio.play.attendance import Presence
from rlds_kit.studio.play.audience import Audience
from rlds_kit.studio.play.host import Host, PlayedEpisode, Scene
from rlds_kit.studio.play.ledger import Ledger
from rlds_kit.studio.play.live_episode import LiveEpisode
from rlds_kit.studio.play.to_browser import Error, Notice, Saved
from rlds_kit.trials.engine.events import RewardGiven
from rlds_kit.trials.engine.messages import Amended, Finish
from rlds_kit.trials.hosts.judgements import Judgements, LayerFile
from rlds_kit.trials.hosts.reward_fields import reward_fields
from rlds_kit.trials.workers.requests import Begun, Opened

HOST_SECONDS: Final = 2.0
"""That a game waits for its host, which may be slow to store an episode."""


class Records:
    """Stores what happens in a session, and notifies its audience when it is stored.

    Args:
      session: its id.
      scene: what is played.
      host: where outcomes are stored.
      audience: of the session.

    Attributes:
      judgements: writes rewards.
      ledger: sends notes to the host.
    """

    def __init__(self, session: str, scene: Scene, host: Host, audience: Audience) -> None:
        self._session, self._scene, self._host, self._audience = session, scene, host, audience
        directory = scene.open.directory
        layer = None if directory is None else LayerFile(directory)
        self.judgements = Judgements(layer, audience.notify, self._not_judged)
        self.ledger = Ledger(lambda reason: self._warn("database", f"recorded, but not in the list yet: {reason}"))

    async def begun(self, number: int, begun: Begun, opened: Opened, sync: Callable[[], Awaitable[object]]) -> None:
        """Notes that an episode has begun; `sync` puts what is recorded of it on the disk."""
        if begun.episode_id:
            self.judgements.begin(uuid.UUID(begun.episode_id), sync, reward_fields(opened))
        await self._note(lambda: self._host.begun(self._session, number, begun.episode_id, begun.seed))

    async def finished(self, episode: PlayedEpisode) -> None:
        """Notes that an episode is over, and on the disk."""
        if not episode.is_whole:
            reason = self._scene.public(episode.reason)
            self._warn("interrupted", f"episode {episode.number} was interrupted: {reason}")
        await self._note(lambda: self._host.finished(episode), lambda: self._stored(episode))

    def present(self, presence: Presence) -> None:
        """Notes that a person came to a seat, or left it; nothing waits for that."""
        self.ledger.note(lambda: self._host.present(self._session, presence))

    async def ended(self, reason: str) -> None:
        """Notes that the session is over."""
        await self._note(lambda: self._host.ended(self._session, reason))

    async def _note(self, notify: Callable[[], Awaitable[None]], then: Callable[[], None] = lambda: None) -> None:
        self.ledger.note(notify, then)
        await self.ledger.settle(HOST_SECONDS)

    def _stored(self, episode: PlayedEpisode) -> None:
        if episode.is_whole:
            self._audience.saved(Saved(episode=episode.number, id=episode.episode_id, **_outcome(episode)))

    def _not_judged(self, message: Amended, reason: str) -> None:
        """Notifies the person whose reward was not recorded."""
        for each in self._audience.windows.values():
            if isinstance(message.judgement, RewardGiven) and each.admission.holder == message.judgement.source:
                each.send(Error("reward", reason, "reward"))

    def _warn(self, code: str, reason: str) -> None:
        self._audience.broadcast(Notice(code, reason))


def played_episode(
    session: str, episode: LiveEpisode, begun: Begun, finish: Finish, facts: Mapping[str, Any]
) -> PlayedEpisode:
    """An episode that ends now, for the host."""
    return PlayedEpisode(
        session=session,
        number=episode.number,
        episode_id=begun.episode_id,
        seed=begun.seed,
        started_ns=episode.started_ns,
        ended_ns=time.time_ns(),
        is_whole=True,
        facts=facts,
        **_outcome(finish),
    )


def final_metadata(played: PlayedEpisode) -> dict[str, Any]:
    """The metadata of an episode that are known only at its end."""
    known = {name: getattr(played, name) for name in ("reason", "totals", "started_ns", "ended_ns")}
    return {"status": played.status.value, **known, **played.facts}


def _outcome(of: Finish | PlayedEpisode) -> dict[str, Any]:
    return {name: getattr(of, name) for name in ("status", "reason", "steps", "totals", "is_kept")}
