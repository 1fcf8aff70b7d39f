"""A directory of services that act in trials: who is there, what each can do, and which of them a trial takes."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.trials.directory.choice import choosing
    from rlds_kit.trials.directory.entry import ActorService, UnknownServiceError, WrongSecretError
    from rlds_kit.trials.directory.service_actor import ServiceActor
    from rlds_kit.trials.directory.service_directory import ServiceDirectory

_LATER: Final = {
    "choice": ("choosing",),
    "entry": ("ActorService", "UnknownServiceError", "WrongSecretError"),
    "service_actor": ("ServiceActor",),
    "service_directory": ("ServiceDirectory",),
}
__getattr__ = lazy_names(__name__, {name: f"{__name__}.{module}" for module, names in _LATER.items() for name in names})

__all__ = ["ActorService", "ServiceActor", "ServiceDirectory", "UnknownServiceError", "WrongSecretError", "choosing"]
