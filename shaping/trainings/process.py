"""Runs a training in a separate process, so that a crash of the environment affects nothing else."""

import base64
import contextlib
import importlib
import json
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

import rlds_kit
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.shaping.feedback.event import Device
from rlds_kit.shaping.learners.learning_thread import LearningThread
from rlds_kit.shaping.learners.tamer import Tamer
from rlds_kit.shaping.trainings.position import Position
from rlds_kit.shaping.trainings.protocol import StageKind
from rlds_kit.shaping.trainings.recorder import TrainingRecorder
from rlds_kit.shaping.trainings.relearned import Learner, position_of, weights_digest
from rlds_kit.shaping.trainings.session import MILLISECOND, TrainingSession
from rlds_kit.shaping.trainings.training import training_of
from rlds_kit.trials.frames.png import encode_flat

PICTURE_SECONDS: Final = 0.05
"""Minimum time between pictures: at full speed most steps are not shown."""
MOST_WAITING: Final = 4
"""Maximum number of unconfirmed pictures: over a slow link, fewer pictures are shown."""
WEIGHTS: Final = "weights"
"""Folder of the digests of weights, beside the recording: one file per training, one line of JSON per game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The arguments of a training process.

    Attributes:
      training: name for `training_of`.
      id: of this training by this person.
      directory: of the recording.
      annotator: a pseudonym of the trainer.
      group: of the person, for studies that compare groups; may be empty.
      modules: that register environments.
    """

    training: str
    id: str
    directory: str
    annotator: str
    group: str = ""
    modules: Sequence[str] = ()


def train(connection: Connection, order: Order) -> None:
    """Trains until the other end of the connection is closed. If that is impossible, it sends {"failed": reason}.

    It receives dicts with "do"; see `_Host`. It sends dicts, too: "state", "picture", "pressed".
    """
    try:
        for each in order.modules:
            importlib.import_module(each)
        host = _Host(connection, order)
    except Exception as error:  # noqa: BLE001  environments may raise any error; the message is for the person
        with contextlib.suppress(OSError):
            connection.send({"failed": f"{type(error).__name__}: {error}"})
        return
    with contextlib.closing(host), contextlib.suppress(EOFError, OSError):
        host.run()


class _Host:
    """Passes the time and the person's input to a session, and sends the display to the page."""

    def __init__(self, connection: Connection, order: Order) -> None:
        self._connection, self._order = connection, order
        self._training = training_of(order.training)
        self._env = self._training.environment()
        position = _position(order, self._new_agent)
        self._recorder = TrainingRecorder(order.directory, "rlds_kit.shaping.trainings")
        self._thread = LearningThread()
        self._frame = self._confirmed = 0
        self._drawn_at = self._stated_at = 0.0
        self._drawn: np.ndarray | None = None
        self._state: dict[str, Any] = {}
        self._session = TrainingSession(
            self._training.protocol,
            self._env,
            self._new_agent,
            annotator=order.annotator,
            recorder=self._recorder,
            now_ns=time.monotonic_ns(),
            seed=uuid.UUID(bytes=uuid.uuid5(uuid.NAMESPACE_URL, order.id).bytes).int % (1 << 31),
            about={"training": order.id, "trains": order.training, "group": order.group},
            position=position,
            thread=self._thread,
            draw=self._training.draw,
            learned=self._write_digest,
        )
        self._session.pause(time.monotonic_ns())  # until the person begins

    def run(self) -> None:
        """Plays, and receives messages."""
        while True:
            self._send_what_changed()
            while self._connection.poll(self._seconds_to_wait()):
                self._take(self._connection.recv())
                self._send_state()
            self._session.tick(time.monotonic_ns())

    def close(self) -> None:
        """Ends the game; its learned state is written before the process ends."""
        self._session.close(time.monotonic_ns())
        self._thread.close()
        self._recorder.close()
        self._env.close()

    def _new_agent(self) -> Tamer:
        return self._training.learner(self._env)

    def _seconds_to_wait(self) -> float:
        session = self._session
        if session.stage is None or session.is_paused:
            return 1.0
        due = max(session.due_ns - time.monotonic_ns(), 0) / 1e9
        return min(due, PICTURE_SECONDS) if self._training.falling is not None else due

    def _take(self, message: dict[str, Any]) -> None:
        now, session = time.monotonic_ns(), self._session
        match message:
            case {"do": "press", "key": str(key), "id": int(number)}:
                self._press(key, number, message, now)
            case {"do": "shown", "frame": int(frame)}:
                self._confirmed = max(self._confirmed, min(frame, self._frame))
            case {"do": "pause"}:
                session.pause(now)
            case {"do": "resume"}:
                session.focus(now, has_focus=True)
                session.resume(now)
            case {"do": "focus", "has": bool(has)}:
                session.focus(now, has_focus=has)
            case {"do": "speed", "step_ms": step_ms} if type(step_ms) is int and 0 <= step_ms <= 60_000:
                session.set_speed(step_ms, now)
            case {"do": "next"}:
                session.next_stage(now)
                session.pause(now)
            case {"do": "end"}:
                raise EOFError
            case {"do": "again"}:
                session.again(now)
                session.pause(now)

    def _press(self, key: str, number: int, message: dict[str, Any], now: int) -> None:
        """Records a press, and confirms it when it is durable."""
        pressed = self._session.press(
            key,
            now,
            sent_ns=_whole(message.get("sent_ns")),
            frame=_whole(message.get("frame")),
            device=Device.BUTTON if message.get("device") == "button" else Device.KEYBOARD,
            is_repeat=message.get("is_repeat") is True,
        )
        found = None if pressed is None else asdict(pressed)
        self._connection.send({"pressed": {"id": number, "key": key, "did": found}})

    def _send_what_changed(self) -> None:
        self._send_state()
        session, now = self._session, time.monotonic()
        if self._frame - self._confirmed >= MOST_WAITING or now < self._drawn_at + PICTURE_SECONDS:
            return
        picture = session.picture
        observation, action = session.shown
        if self._training.falling is not None and action is not None and not session.is_paused:
            fallen = 1 - max(session.due_ns - time.monotonic_ns(), 0) / max(session.step_ms * MILLISECOND, 1)
            picture = self._training.falling(observation, action, round(min(fallen * 1.25, 1), 2))
        if picture is None or picture is self._drawn:
            return
        self._drawn, self._drawn_at, self._frame = picture, now, self._frame + 1
        png = encode_flat(np.ascontiguousarray(picture))
        self._connection.send({"picture": base64.b64encode(png).decode("ascii"), "frame": self._frame})

    def _send_state(self) -> None:
        state, now = self._described(), time.monotonic()
        is_progress = all(state[name] == self._state.get(name) for name in ("stage", "is_paused", "step_ms"))
        if state != self._state and not (is_progress and now < self._stated_at + PICTURE_SECONDS):
            self._state, self._stated_at = state, now
            self._connection.send({"state": state})

    def _described(self) -> dict[str, Any]:
        session = self._session
        found: dict[str, Any] = {
            "is_paused": session.is_paused,
            "step_ms": session.step_ms,
            "score": session.score,
            "counters": session.counters._asdict(),
            "stage": None,
        }
        if session.stage is not None:
            stage = session.stage
            is_control = stage.kind is StageKind.CONTROL
            found["stage"] = {
                "name": stage.name,
                "kind": stage.kind.value,
                "text": stage.text,
                "n_games": stage.n_games,
                "is_official": session.is_official,
                "keys": dict(session.protocol.controls if is_control else session.protocol.keys),
            }
        return found

    def _write_digest(self, tamer: Tamer, agent: int, sequence: int) -> None:
        path = _digests(Path(self._order.directory), self._order.id)
        path.parent.mkdir(exist_ok=True)
        line = json.dumps({"agent": agent, "sequence": sequence, "sha256": weights_digest(tamer)})
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())


def online_digests(directory: Path, training: str) -> dict[tuple[int, int], str]:
    """The recorded SHA-256 of the weights in a training, by the numbers of agent and game."""
    try:
        lines = _digests(directory, training).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {(each["agent"], each["sequence"]): each["sha256"] for each in map(json.loads, lines)}


def _digests(directory: Path, training: str) -> Path:
    return directory / WEIGHTS / f"{training.replace(':', '.')}.jsonl"


def _position(order: Order, learner: Learner) -> Position:
    try:
        dataset = rlds_kit.open(order.directory, include_open=True)
    except NotADatasetError:
        return Position()
    return position_of(dataset, order.id, learner)


def _whole(value: Any) -> int:
    """A number of 64 bits from a page; -1: there is none."""
    is_whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62
    return value if is_whole else -1
