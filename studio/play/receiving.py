"""Executes the messages that a window of a session receives from its browser."""

from dataclasses import replace
from typing import Final

from rlds_kit.studio.play import from_browser, window
from rlds_kit.studio.play.council import Decided
from rlds_kit.studio.play.from_browser import EventMessage, KeysMessage, RewardMessage
from rlds_kit.studio.play.live_session import LiveSession
from rlds_kit.studio.play.rules import Consent
from rlds_kit.studio.play.to_browser import Error
from rlds_kit.studio.play.window import Window
from rlds_kit.trials import Driver, Phase, events

_WANTED_IN: Final = {
    events.Pause: {Phase.RUNNING},
    events.Cancel: {Phase.WAITING, Phase.RUNNING, Phase.PAUSED},
    events.Confirm: {Phase.CONFIRMING},
}


def receive(session: LiveSession, source: Window, message: from_browser.Received) -> None:
    """Executes a message of a window, or answers it with an error."""
    error = _execute(session, source, message)
    if error is not None:
        source.send(error)


def _execute(session: LiveSession, source: Window, message: from_browser.Received) -> Error | None:
    match message:
        case from_browser.Ack():
            is_known = source.acknowledge(message.seq, message.time)
            return None if is_known else Error("frame", "no such frame was sent", "ack.seq")
        case from_browser.Ahead(seq=number, shown=shown, time=shown_ns):
            is_known = source.received_ahead(number, shown, shown_ns)
            return None if is_known else Error("frame", "no such picture was sent ahead", "ahead.seq")
        case from_browser.Pong():
            return None if source.pong(message.number) else Error("pong", "no such ping was sent", "pong.number")
        case _ if source.name not in session.audience.windows:
            return None  # it was displaced and is being closed
        case from_browser.Leave():
            session.leave(source, is_lost=False)
            source.close(window.LEFT, "left")
            return None
        case RewardMessage():
            return _reward(session, source, message)
        case _ if source.seat is None:
            return Error("observer", "you are an observer; only players may do this")
        case from_browser.SetQuality():
            session.set_view(session.view._replace(quality=message.level))
            return None
        case from_browser.Camera():
            return _camera(session, message.n)
        case EventMessage():
            return _event(session, source, source.seat, message)
    raise TypeError(message)  # pragma: no cover  there are no others


def _reward(session: LiveSession, source: Window, message: RewardMessage) -> Error | None:
    """Gives a reward, of a player or an observer."""
    number, is_over = session.episode.number, session.phase is Phase.ENDED
    if message.episode not in {None, number} or is_over:
        over = f"episode {number if is_over else message.episode} is over; judge it where it is replayed"
        return Error("episode", over, "reward.episode")
    if session.is_judged_too_fast:
        return Error(
            "refused", "rewards come faster than they can be written; give this one again in a moment", "reward"
        )
    details = {
        "shown_frame": source.frames.step_of(message.shown, number),
        "pressed_ns": message.time,
        "key": message.key,
        "device": message.device,
    }
    event = message.to_event(
        time_ns=session.now(),
        source=source.admission.holder,
        seat=message.seat or source.seat or session.opened.seats[0],
        details=details,
    )
    return _refused(session.handle(event), message)


def _camera(session: LiveSession, camera: int) -> Error | None:
    last = len(session.opened.cameras) - 1
    if camera > last:
        return Error("camera", f"expected one of the cameras 0 to {last}, got {camera}", "camera.n")
    session.set_view(session.view._replace(camera=camera))
    return None


def _event(session: LiveSession, source: Window, seat: str, message: EventMessage) -> Error | None:
    added = {name: seat for name in ("seat", "sender") if name in message.event.__dataclass_fields__}
    event = message.to_event(time_ns=session.now(), **added)
    match event:
        case events.KeysChanged(held=held, shown_frame=shown):
            session.idle.pressed(seat, session.now())
            if held:
                session.take_back(seat)
            if session.phase is Phase.ENDED or session.episode.trial.driver(seat) is not Driver.HUMAN:
                return None  # keys have no effect now
            ahead = message.ahead if isinstance(message, KeysMessage) else None
            event = replace(event, shown_frame=source.step_on_screen(shown, ahead, session.episode.number))
        case events.RateChanged() if session.scene.is_rate_fixed:
            return Error("refused", "the speed is fixed in this study", message.type)
        case events.Pause() | events.Cancel() | events.Confirm():
            return _decided(session, message, event)
        case events.DriverChanged(driver=Driver.ACTOR) if seat not in session.scene.actors:
            return Error("policy", f"no program can act for {seat!r}", "drive.driver")
        case events.DriverChanged(driver=Driver.POLICY) if seat not in session.scene.open.environment.policies:
            return Error("policy", f"no policy can drive {seat!r}", "drive.driver")
    refusal = session.handle(event)
    if refusal is None and isinstance(event, events.RateChanged):
        session.fps = event.fps
    return _refused(refusal, message)


def _decided(session: LiveSession, message: EventMessage, event: Decided) -> Error | None:
    """Does what a person wants, if enough others want it too."""
    if session.council.consent(event) is Consent.NOBODY:
        return Error("refused", f"nobody can {message.type} in this study", message.type)
    if session.phase not in _WANTED_IN[type(event)]:
        return _refused(session.handle(event), message)  # gives the reason
    decided = session.council.take(event, session.seats_here)
    return None if decided is None else _refused(session.handle(decided), message)


def _refused(reason: str | None, message: EventMessage) -> Error | None:
    return None if reason is None else Error("refused", reason, message.type)
