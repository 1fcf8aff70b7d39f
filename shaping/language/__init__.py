"""Language models that read manuals and judge events: servers on a local address, models of Hugging Face, MiniLM.

None is required: `rlds_kit.shaping.manuals` uses rules. A model is only downloaded if its name on the hub is given.
"""

from rlds_kit.shaping.language.cached_model import CachedModel
from rlds_kit.shaping.language.endpoint import Endpoint
from rlds_kit.shaping.language.entailment import EntailmentReasoner
from rlds_kit.shaping.language.event_judge import EventJudge, text_captions
from rlds_kit.shaping.language.extractive import ExtractiveAnswerer
from rlds_kit.shaping.language.minilm import MiniLM, MiniLMAnswerer, MiniLMReasoner
from rlds_kit.shaping.language.model import LanguageModel, ModelError
from rlds_kit.shaping.language.model_readers import ModelAnswerer, ModelReasoner
from rlds_kit.shaping.language.readers import Models
from rlds_kit.shaping.language.transformers_model import TransformersModel

__all__ = [
    "CachedModel",
    "Endpoint",
    "EntailmentReasoner",
    "EventJudge",
    "ExtractiveAnswerer",
    "LanguageModel",
    "MiniLM",
    "MiniLMAnswerer",
    "MiniLMReasoner",
    "ModelAnswerer",
    "ModelError",
    "ModelReasoner",
    "Models",
    "TransformersModel",
    "text_captions",
]
