"""People and programs play an episode together, in processes of their own, and every step is recorded."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names
from rlds_kit.trials.engine import events, messages
from rlds_kit.trials.engine.config import Pace, TrialConfig, Turn
from rlds_kit.trials.engine.keymap import Axes, Chords, from_keys_to_action, from_meanings, numbered
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.seat import Controller, Driver, SeatConfig
from rlds_kit.trials.engine.trial import Trial

if TYPE_CHECKING:
    from rlds_kit.trials.actors.actor_pool import ActorError
    from rlds_kit.trials.actors.contract import Actor, ActorInfo, Experience, Judgement, Reply, Text
    from rlds_kit.trials.actors.registry import register
    from rlds_kit.trials.environments.actor_class import ActorClass
    from rlds_kit.trials.environments.playable import EnvironmentSpec
    from rlds_kit.trials.hosts.finished_trial import FinishedTrial, TrialRefusedError, TrialState
    from rlds_kit.trials.hosts.people_share import PeopleShare
    from rlds_kit.trials.hosts.run_trials import run_trials, run_trials_async
    from rlds_kit.trials.hosts.trial_host import TrialHost
    from rlds_kit.trials.hosts.trial_setup import ActorConfig, TrialSetup
    from rlds_kit.trials.workers.backend import Processes, WorkerBackend
    from rlds_kit.trials.workers.placement import Placement

_LATER: Final = {
    "actors.actor_pool": ("ActorError",),
    "actors.contract": ("Actor", "ActorInfo", "Experience", "Judgement", "Reply", "Text"),
    "actors.registry": ("register",),
    "environments.actor_class": ("ActorClass",),
    "environments.playable": ("EnvironmentSpec",),
    "hosts.finished_trial": ("FinishedTrial", "TrialRefusedError", "TrialState"),
    "hosts.people_share": ("PeopleShare",),
    "hosts.run_trials": ("run_trials", "run_trials_async"),
    "hosts.trial_host": ("TrialHost",),
    "hosts.trial_setup": ("ActorConfig", "TrialSetup"),
    "workers.backend": ("Processes", "WorkerBackend"),
    "workers.placement": ("Placement",),
}
"""Names that need environments and the logger; whoever uses the engine alone does not load these."""
__getattr__ = lazy_names(__name__, {name: f"{__name__}.{module}" for module, names in _LATER.items() for name in names})

__all__ = [
    "Actor",
    "ActorClass",
    "ActorConfig",
    "ActorError",
    "ActorInfo",
    "Axes",
    "Chords",
    "Controller",
    "Driver",
    "EnvironmentSpec",
    "Experience",
    "FinishedTrial",
    "Judgement",
    "Pace",
    "PeopleShare",
    "Phase",
    "Placement",
    "Processes",
    "Reply",
    "SeatConfig",
    "Status",
    "Text",
    "Trial",
    "TrialConfig",
    "TrialHost",
    "TrialRefusedError",
    "TrialSetup",
    "TrialState",
    "Turn",
    "WorkerBackend",
    "events",
    "from_keys_to_action",
    "from_meanings",
    "messages",
    "numbered",
    "register",
    "run_trials",
    "run_trials_async",
]
