"""People and programs play an episode together, in processes of their own, and every step is recorded."""

from rlds_kit.trials.engine import events, messages
from rlds_kit.trials.engine.config import Pace, TrialConfig, Turn
from rlds_kit.trials.engine.keymap import Axes, Chords, from_keys_to_action, from_meanings, numbered
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.seat import Controller, Driver, SeatConfig
from rlds_kit.trials.engine.trial import Trial

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
