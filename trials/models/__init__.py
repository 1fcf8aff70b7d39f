"""Models of actors: numbered versions with their hashes, and actors that act as a file says."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.trials.models.hook import with_models
    from rlds_kit.trials.models.policy_actor import PolicyActor
    from rlds_kit.trials.models.registry import ModelRegistry
    from rlds_kit.trials.models.version import ModelError, ModelVersion

_LATER: Final = {
    "hook": ("with_models",),
    "policy_actor": ("PolicyActor",),
    "registry": ("ModelRegistry",),
    "version": ("ModelError", "ModelVersion"),
}
__getattr__ = lazy_names(__name__, {name: f"{__name__}.{module}" for module, names in _LATER.items() for name in names})

__all__ = ["ModelError", "ModelRegistry", "ModelVersion", "PolicyActor", "with_models"]
