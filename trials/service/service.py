"""The state of a service: its host, seats, tokens, limits and metrics."""

import asyncio
import logging
from typing import Final

from rlds_kit.base.rate_limit import RateLimiter
from rlds_kit.trials.actors.actor_pool import ActorError
from rlds_kit.trials.directory.choice import SERVICE, choosing
from rlds_kit.trials.directory.service_directory import ServiceDirectory
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.hosts.finished_trial import TrialState
from rlds_kit.trials.hosts.trial_host import TrialHost
from rlds_kit.trials.hosts.trial_setup import ActorConfig, TrialSetup
from rlds_kit.trials.service.metrics import Metrics
from rlds_kit.trials.service.remote_seat import RemoteSeat
from rlds_kit.trials.service.remote_seats import RemoteSeats
from rlds_kit.trials.service.revocations import Revocations
from rlds_kit.trials.service.settings import REMOTE, ServiceSettings
from rlds_kit.trials.service.tokens import Signer, Token
from rlds_kit.trials.wire.messages import Join
from rlds_kit.trials.wire.requests import ActorRequest, StartTrial, TrialInfo
from rlds_kit.trials.wire.values import WireError, decode, encode

log = logging.getLogger(__name__)


class Service:
    """A service of trials.

    Args:
      settings: of it.

    Attributes:
      settings: of it.
      signer: of its tokens.
      revocations: of them.
      revoked: by name of who has a seat by a token, set when this token is revoked.
      limiter: of the requests of each token.
      seats: that wait for programs.
      metrics: of its trials.
      services: that registered, and act in its trials.
      host: of its trials.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings: Final = settings
        self.signer, self.limiter = Signer(settings.secret), RateLimiter(settings.limit)
        self.revocations = Revocations(settings.revoked)
        self.revoked: dict[str, asyncio.Event] = {}
        self.seats = RemoteSeats(settings.join_seconds)
        self.metrics = Metrics(self._phases, lambda: len(self.seats.waiting))
        self.services = ServiceDirectory(settings.services)
        self.host = TrialHost(
            settings.directory,
            parallel=settings.parallel,
            is_here=settings.is_here,
            hooks=(*settings.hooks, choosing(self.services)),
            sources={REMOTE: self.seats},
            observer=self.metrics,
        )
        self._lost: dict[tuple[str, str], RemoteSeat] = {}
        self._reopening: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def _phases(self) -> list[Phase]:
        return [state.phase for state in self.host.states()]

    def token(self, text: str) -> Token:
        """Who a token is for.

        Raises:
          BadTokenError: it is not one of this service, has expired or was revoked.
        """
        token = self.signer.read(text)
        self.revocations.check(token)
        return token

    def revoke(self, name: str) -> None:
        """Refuses the tokens of a name that were made until now; its programs lose their seats.

        Raises:
          OSError: that cannot be stored; nothing changed.
        """
        self.revocations.revoke(name)
        self.revoked.pop(name, asyncio.Event()).set()

    def setup(self, start: StartTrial) -> TrialSetup:
        """The setup of a trial.

        Raises:
          WireError: it names what the service does not know.
        """
        known = self.settings.environments
        if start.environment not in known:
            raise WireError(f"environment: expected one of {', '.join(sorted(known))}, got {start.environment!r}")
        return TrialSetup(
            environment=known[start.environment],
            actors={seat: self._actor(f"actors.{seat}", each) for seat, each in start.actors.items()},
            trial_id=start.id,
            user=start.user,
            seed=start.seed,
            max_steps=start.max_steps,
            max_seconds=start.max_seconds,
            answer_seconds=start.answer_seconds,
            properties=start.properties,
        )

    def _actor(self, where: str, request: ActorRequest) -> ActorConfig:
        known = {"service": SERVICE, **self.settings.actors, REMOTE: REMOTE}
        if request.implementation not in known:
            raise WireError(
                f"{where}.implementation: expected one of {', '.join(sorted(known))}, got {request.implementation!r}"
            )
        seconds = request.config.get("join_seconds", 0.0)
        if request.implementation == REMOTE and not (type(seconds) in (int, float) and 0 <= seconds <= 86_400):
            raise WireError(f"{where}.config.join_seconds: expected 0 to 86400 seconds, got {seconds!r}")
        return ActorConfig(
            implementation=known[request.implementation],
            config=decode(request.config),
            is_required=request.is_required,
            default_action=decode(request.default_action),
        )

    def info(self, state: TrialState, *, observations: bool = False) -> TrialInfo:
        """What a state is for others; values that JSON cannot hold become text."""
        finished = self.host.finished(state.id)
        return TrialInfo(
            id=state.id,
            number=state.number,
            phase=state.phase.value,
            step=state.step,
            seconds=state.seconds,
            totals={seat: float(total) for seat, total in state.totals.items()},
            properties={key: encode(each) for key, each in state.properties.items()},
            status=None if finished is None or finished.status is None else finished.status.value,
            reason="" if finished is None else finished.reason,
            episode_id="" if finished is None else finished.episode_id,
            observations={seat: encode(each) for seat, each in state.observations.items()} if observations else {},
        )

    def end(self, trial: str, reason: str, *, is_hard: bool) -> bool:
        """Ends a trial, also one that waits for programs; returns whether it could be ended.

        Raises:
          KeyError: there is no such trial.
        """
        return self.host.end(trial, reason, is_hard=is_hard) or self.seats.cancel(trial, reason)

    def lose(self, seat: RemoteSeat, reason: str) -> None:
        """A program is gone; another one may take its seat while the trial goes on."""
        self._lost = {key: each for key, each in self._lost.items() if not each.over.is_set()}
        self._lost[seat.info.trial, seat.info.seat] = seat
        seat.lose(reason)

    def reopen(self, join: Join) -> None:
        """Lets a program take a seat again that another one left."""
        seat = self._lost.pop((join.trial or "", join.seat or ""), None)
        if seat is not None and not seat.over.is_set():
            task = asyncio.create_task(self._reopen(seat))
            self._reopening.add(task)
            task.add_done_callback(self._reopening.discard)

    async def _reopen(self, seat: RemoteSeat) -> None:
        actor = ActorConfig(implementation=REMOTE, config=seat.info.config)
        try:
            await self.host.swap(seat.info.trial, seat.info.seat, actor)
        except (ActorError, KeyError, ValueError) as error:
            log.info("seat %s of trial %s: %s", seat.info.seat, seat.info.trial, error)

    async def close(self) -> None:
        """Ends everything; once more does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        for info in self.seats.waiting:
            self.seats.cancel(info.trial, "the service is closed")
        await self.host.close()
