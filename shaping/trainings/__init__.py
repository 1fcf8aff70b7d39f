"""Trainings by people, without their page: stages of a protocol, keys, pauses, speed, and the recording."""

from rlds_kit.shaping.trainings.position import Position
from rlds_kit.shaping.trainings.protocol import FREE, MOUNTAIN_CAR, TETRIS, Protocol, Stage, StageKind
from rlds_kit.shaping.trainings.recorder import TrainingRecorder
from rlds_kit.shaping.trainings.relearned import Relearned, position_of, relearned, weights_digest
from rlds_kit.shaping.trainings.session import Counters, Pressed, TrainingSession
from rlds_kit.shaping.trainings.training import (
    MOUNTAIN_CAR_TRAINING,
    TETRIS_TRAINING,
    Training,
    of_environment,
    training_of,
)

__all__ = [
    "FREE",
    "MOUNTAIN_CAR",
    "MOUNTAIN_CAR_TRAINING",
    "TETRIS",
    "TETRIS_TRAINING",
    "Counters",
    "Position",
    "Pressed",
    "Protocol",
    "Relearned",
    "Stage",
    "StageKind",
    "Training",
    "TrainingRecorder",
    "TrainingSession",
    "of_environment",
    "position_of",
    "relearned",
    "training_of",
    "weights_digest",
]
