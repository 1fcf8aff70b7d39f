"""People and programs play an episode together: an engine that takes events, gives messages and does nothing else."""

from rlds_kit.trials import events, messages
from rlds_kit.trials.config import Pace, TrialConfig, Turn
from rlds_kit.trials.keymap import Axes, Chords, from_keys_to_action, from_meanings, numbered
from rlds_kit.trials.phase import Phase, Status
from rlds_kit.trials.seat import Controller, Driver, SeatConfig
from rlds_kit.trials.trial import Trial

__all__ = [
    "Axes",
    "Chords",
    "Controller",
    "Driver",
    "Pace",
    "Phase",
    "SeatConfig",
    "Status",
    "Trial",
    "TrialConfig",
    "Turn",
    "events",
    "from_keys_to_action",
    "from_meanings",
    "messages",
    "numbered",
]
