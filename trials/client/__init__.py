"""Programs elsewhere: start and watch trials of a service, and act in them. Needs no environment and no simulator."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.trials.client.actor_service import offering
    from rlds_kit.trials.client.client import Client
    from rlds_kit.trials.client.errors import ServiceError
    from rlds_kit.trials.client.seat import Seat, Turn
    from rlds_kit.trials.wire.messages import Joined, Reward, Text
    from rlds_kit.trials.wire.requests import ActorRequest, OpenSeat, StartTrial, TrialInfo

_HERE: Final = {
    "client": ("Client",),
    "errors": ("ServiceError",),
    "actor_service": ("offering",),
    "seat": ("Seat", "Turn"),
}
_WIRE: Final = {
    "messages": ("Joined", "Reward", "Text"),
    "requests": ("ActorRequest", "OpenSeat", "StartTrial", "TrialInfo"),
}
_MODULES: Final = {name: f"{__name__}.{module}" for module, names in _HERE.items() for name in names} | {
    name: f"rlds_kit.trials.wire.{module}" for module, names in _WIRE.items() for name in names
}
__getattr__ = lazy_names(__name__, _MODULES)

__all__ = [
    "ActorRequest",
    "Client",
    "Joined",
    "OpenSeat",
    "Reward",
    "Seat",
    "ServiceError",
    "StartTrial",
    "Text",
    "TrialInfo",
    "Turn",
    "offering",
]
