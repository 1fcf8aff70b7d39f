"""Trainings by people, without a page: stages of a protocol, keys, pauses, speed, and what is recorded of them."""

from rlds_kit.shaping.trainings.protocol import MOUNTAIN_CAR, TETRIS, Protocol, Stage, StageKind
from rlds_kit.shaping.trainings.recorder import TrainingRecorder
from rlds_kit.shaping.trainings.session import Counters, Pressed, TrainingSession

__all__ = [
    "MOUNTAIN_CAR",
    "TETRIS",
    "Counters",
    "Pressed",
    "Protocol",
    "Stage",
    "StageKind",
    "TrainingRecorder",
    "TrainingSession",
]
