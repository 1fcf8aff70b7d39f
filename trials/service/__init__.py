"""Trials over HTTP: REST with OpenAPI, a WebSocket on which programs take seats, tokens by role, and metrics."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.trials.service.application import create_application
    from rlds_kit.trials.service.serving import running, serve
    from rlds_kit.trials.service.settings import ServiceSettings
    from rlds_kit.trials.service.tokens import BadTokenError, Role, Signer, Token

_LATER: Final = {
    "application": ("create_application",),
    "serving": ("running", "serve"),
    "settings": ("ServiceSettings",),
    "tokens": ("BadTokenError", "Role", "Signer", "Token"),
}
__getattr__ = lazy_names(__name__, {name: f"{__name__}.{module}" for module, names in _LATER.items() for name in names})

__all__ = ["BadTokenError", "Role", "ServiceSettings", "Signer", "Token", "create_application", "running", "serve"]
