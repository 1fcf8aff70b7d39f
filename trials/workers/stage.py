"""One environment with its recording, inside a worker."""

import secrets
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.base.step import TRIAL_CLOCK, EpisodeEnd
from rlds_kit.logger.recording import Recording
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.trials.environments.controls import Controls
from rlds_kit.trials.environments.gymnasium_playable import GymnasiumPlayable
from rlds_kit.trials.environments.playable import SEAT, EnvironmentSpec, Outcome, Playable
from rlds_kit.trials.environments.taught_playable import TaughtPlayable
from rlds_kit.trials.frames.picture import Encoded, Encoder, Picture, Quality
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pictures_ahead import PicturesAhead

PLAY: Final = "play"
"""The field of a step that names who acted, and how."""
PICTURE: Final = "picture"
"""The field of a step with what there was to see, where pictures are recorded."""
_SEED_BITS: Final = 31
_DURABLE_SECONDS: Final = 1.0
"""So much of an open episode may be lost when the machine fails."""


def _playable(environment: EnvironmentSpec) -> Playable:
    playable = _of_interface(environment)
    if not environment.has_teacher:
        return playable
    try:
        return TaughtPlayable(playable)
    except BaseException:
        playable.close()
        raise


def _of_interface(environment: EnvironmentSpec) -> Playable:
    match environment.interface:
        case "gymnasium":
            return GymnasiumPlayable(environment)
        case "pettingzoo":
            from rlds_kit.trials.environments.parallel_playable import ParallelPlayable

            return ParallelPlayable(environment)
        case "dm_env":
            from rlds_kit.trials.environments.dm_env_playable import DmEnvPlayable

            return DmEnvPlayable(environment)
    raise ValueError(f"expected the interface gymnasium, pettingzoo or dm_env, got {environment.interface!r}")


class Stage:
    """An environment that is played and recorded.

    Args:
      request: which, and where to record it.

    Raises:
      Whatever making the environment raises.
    """

    def __init__(self, request: requests.Open) -> None:
        self._policies = request.environment.policies
        self._playable = _playable(request.environment)
        self._table, self._tables = request.environment.controls, request.environment.seat_controls
        self._encoder = Encoder()
        self._own_encoders: dict[str, Encoder] = defaultdict(Encoder)
        look_ahead = self._playable.look_ahead
        self._ahead = None if look_ahead is None else PicturesAhead(look_ahead)
        self._recording: Recording | None = None
        self._episode: EpisodeRecorder | None = None
        self._outcome: Outcome | None = None
        self._is_limited = False
        self._steps = 0
        self._are_pictures_recorded = request.are_pictures_recorded
        self._are_observations_returned = request.are_observations_returned
        self._counter = request.counter
        self._drawn: dict[int, Picture] = {}
        try:
            self._controls = {seat: self._edited(seat, each) for seat, each in self._playable.controls.items()}
            if request.directory is not None:
                self._recording = self._record(request.directory, request.about)
        except BaseException:
            self._playable.close()
            raise

    def _record(self, directory: str, about: Mapping[str, str]) -> Recording:
        return Recording(
            self,
            directory,
            self._playable.declared,
            metadata=None,
            environment=self._playable.provenance,
            about=about,
            policy=FlushPolicy.seconds(_DURABLE_SECONDS),
        )

    def _edited(self, seat: str, controls: Controls) -> Controls:
        table = self._tables.get(seat, self._table)
        return controls if table is None else controls.edited(table)

    def opened(self) -> requests.Opened:
        """What there is to know of the environment."""
        playable = self._playable
        return requests.Opened(
            playable.seats,
            self._controls,
            playable.cameras,
            playable.rate,
            playable.declared,
            playable.classes,
            self._actions_ahead(),
        )

    def _actions_ahead(self) -> tuple[int, ...]:
        """Those that keys stand for, if their pictures can be drawn ahead."""
        keyed = () if self._ahead is None or SEAT not in self._controls else self._controls[SEAT].actions
        return tuple(sorted({action for _, action, _ in keyed}))

    def answer(self, request: requests.Request) -> requests.Answer:
        """Does a request that is for an environment.

        Raises:
          Whatever the environment raises.
        """
        match request:
            case requests.Reset():
                return self.reset(request)
            case requests.Step():
                return self.step(request)
            case requests.Show(view):
                return self.show(view)
            case requests.Ahead(action, quality):
                return self.ahead(action, quality)
            case requests.Sync():
                self.sync()
            case requests.Finish():
                self.finish(request)
            case requests.Close():
                self.close()
        return None

    def reset(self, request: requests.Reset) -> requests.Begun:
        """Begins an episode; one that is open ends as INTERRUPTED."""
        self._interrupt()
        drawn = secrets.randbits(_SEED_BITS) if request.seed is None else request.seed
        observed = self._playable.reset(drawn, request.options)
        seed = drawn if self._playable.is_seeded else None
        self._steps, self._outcome, self._is_limited, self._drawn = 0, None, False, {}
        if self._ahead is not None:
            self._ahead.forget()
        if self._recording is not None:
            self._episode = self._recording.recorder.start_episode(
                metadata={**request.metadata, **self._controls_as_json()},
                seed=seed,
                options=request.options,
            )
            self._episode.append(self._with_picture(observed, request.view))
        if self._counter is not None:
            self._counter.begin(observed)
        number = "" if self._episode is None else self._episode.id.hex
        return requests.Begun(number, seed, self.show(request.view), self._observations(), self._own(request.view))

    def _controls_as_json(self) -> dict[str, Any]:
        """Metadata of the episode; none if people cannot play."""
        controls = {seat: each.as_json() for seat, each in self._controls.items()}
        return {"controls": controls} if controls else {}

    def _observations(self) -> Mapping[str, Any]:
        """Copies of what seats observe, if they are to be returned."""
        return copy_value(dict(self._playable.observations())) if self._are_observations_returned else {}

    def step(self, request: requests.Step) -> requests.Stepped:
        """Does a step, and records it before anybody sees it."""
        if self._outcome is not None and self._outcome.ending is not None:
            raise ValueError("the episode is over; reset the environment")
        self._outcome = outcome = self._playable.step(self._complete(request.actions))
        self._is_limited = request.is_last
        self._steps += 1
        self._drawn = {}
        clocks = {TRIAL_CLOCK: request.clocks} if request.clocks else {}
        acted = {**outcome.acted, PLAY: request.play, **clocks}
        if self._episode is not None:
            observed = self._with_picture(outcome.observed, request.view)
            self._episode.append(observed, acted)
        counted = {} if self._counter is None else self._counter.count(acted, outcome.observed)
        terminated, truncated = outcome.flags
        came_true = None if self._ahead is None else self._ahead.came_true(request.actions.get(SEAT), self._first_view)
        picture = self.show(request.view)
        flags = terminated, truncated or request.is_last
        seen, gone, own = self._observations(), self._playable.gone(), self._own(request.view)
        return requests.Stepped(self._steps, outcome.rewards, *flags, picture, seen, gone, own, counted, came_true)

    def ahead(self, action: int, quality: Quality) -> Encoded:
        """What there would be to see after an action.

        Raises:
          ValueError: it cannot be drawn: the state cannot be copied, or the episode is over.
        """
        if self._ahead is None or (self._outcome is not None and self._outcome.ending is not None):
            raise ValueError(f"expected an environment that goes on, and can be copied, to draw action {action} ahead")
        return self._ahead.encoded(action, quality)

    def _first_view(self) -> Picture:
        """What there is to see, in the view that pictures ahead are of; drawn once a step."""
        if 0 not in self._drawn:
            self._drawn[0] = self._playable.picture(0)
        return self._drawn[0]

    def _complete(self, actions: Mapping[str, Any]) -> Mapping[str, Any]:
        """With those that policies choose."""
        if len(actions) == len(self._playable.seats):
            return actions
        missing = [seat for seat in self._playable.seats if seat not in actions]
        return {**actions, **{seat: self._playable.act(self._policies.get(seat, "random"), seat) for seat in missing}}

    def _with_picture(self, observed: Mapping[str, Any], view: requests.View) -> Mapping[str, Any]:
        """The fields of a row, and what there is to see where that is recorded."""
        if not self._are_pictures_recorded:
            return observed
        try:
            picture = self._playable.picture(view.camera)
        except Exception:  # noqa: BLE001  `show` reports it; what was observed is recorded first
            return observed
        self._drawn = {view.camera: picture}
        return observed if picture is None else {**observed, PICTURE: copy_value(picture)}

    def show(self, view: requests.View) -> Encoded:
        """What there is to see."""
        if view.quality is None:
            return self._encoder.encode(None, Quality.LOW)
        drawn = self._drawn[view.camera] if view.camera in self._drawn else self._playable.picture(view.camera)
        return self._encoder.encode(drawn, view.quality)

    def _own(self, view: requests.View) -> dict[str, Encoded]:
        """What seats with pictures of their own see."""
        if view.quality is None:
            return {}
        drawn = self._playable.own_pictures
        return {seat: self._own_encoders[seat].encode(draw(), view.quality) for seat, draw in drawn.items()}

    def sync(self) -> None:
        """Puts what is recorded so far on the disk."""
        if self._recording is not None:
            self._recording.flush()

    def finish(self, request: requests.Finish) -> None:
        """Completes the recording of the episode; returns when it is on the disk."""
        if self._episode is not None and self._recording is not None:
            episode, self._episode = self._episode, None
            if request.is_kept:
                ending, terminated, truncated = self._ending()
                episode.end(ending, terminated=terminated, truncated=truncated, metadata=request.metadata)
            else:
                episode.discard()
            self._recording.flush()

    def _ending(self) -> tuple[EpisodeEnd, bool, bool]:
        """How the environment, or the limit of the study, ended the episode; else a person did."""
        if self._outcome is not None and self._outcome.ending is not None:
            terminated, truncated = self._outcome.flags
            return self._outcome.ending, terminated, truncated or self._is_limited
        return (EpisodeEnd.TRUNCATED, False, True) if self._is_limited else (EpisodeEnd.INTERRUPTED, False, False)

    def _interrupt(self) -> None:
        if self._episode is not None:
            self.finish(requests.Finish({}))

    def close(self) -> None:
        """Ends an open episode as INTERRUPTED, writes everything, and closes the environment."""
        try:
            if self._recording is not None:
                self._recording.close()
        finally:
            self._playable.close()
