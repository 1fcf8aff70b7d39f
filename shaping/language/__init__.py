"""Language models that read manuals and judge events: servers on a local address, models of Hugging Face, MiniLM.

None is needed: `rlds_kit.shaping.manuals` reads with rules. No model is downloaded unless its name on the hub is given.
"""

from rlds_kit.shaping.language.cached_model import CachedModel
from rlds_kit.shaping.language.endpoint import Endpoint
from rlds_kit.shaping.language.model import LanguageModel, ModelError
from rlds_kit.shaping.language.model_readers import ModelAnswerer, ModelReasoner
from rlds_kit.shaping.language.readers import Models

__all__ = [
    "CachedModel",
    "Endpoint",
    "LanguageModel",
    "ModelAnswerer",
    "ModelError",
    "ModelReasoner",
    "Models",
]
