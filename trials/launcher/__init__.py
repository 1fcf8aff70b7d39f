"""Starts the programs of trials together, in the order of their dependencies, and says how they are."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.trials.launcher.launching import Launcher
    from rlds_kit.trials.launcher.plan import Plan, PlanError, ProcessPlan, read_plan
    from rlds_kit.trials.launcher.service_file import read_settings
    from rlds_kit.trials.launcher.status import ProcessStatus, State, read_status

_LATER: Final = {
    "launching": ("Launcher",),
    "plan": ("Plan", "PlanError", "ProcessPlan", "read_plan"),
    "service_file": ("read_settings",),
    "status": ("ProcessStatus", "State", "read_status"),
}
_MODULES: Final = {name: f"{__name__}.{module}" for module, names in _LATER.items() for name in names}
__getattr__ = lazy_names(__name__, _MODULES)

__all__ = [
    "Launcher",
    "Plan",
    "PlanError",
    "ProcessPlan",
    "ProcessStatus",
    "State",
    "read_plan",
    "read_settings",
    "read_status",
]
