"""Readers of manuals by their names on the command line: "words", "endpoint:qwen3-4b"."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rlds_kit.shaping.language.cached_model import CachedModel
from rlds_kit.shaping.language.endpoint import Endpoint
from rlds_kit.shaping.language.entailment import EntailmentReasoner
from rlds_kit.shaping.language.extractive import ExtractiveAnswerer
from rlds_kit.shaping.language.minilm import MiniLMAnswerer, MiniLMReasoner
from rlds_kit.shaping.language.model import LanguageModel
from rlds_kit.shaping.language.model_readers import ModelAnswerer, ModelReasoner
from rlds_kit.shaping.language.transformers_model import TransformersModel
from rlds_kit.shaping.manuals.answering import QuestionAnswerer, WordAnswerer
from rlds_kit.shaping.manuals.reasoning import Reasoner, WordReasoner

ANSWERERS: Final = ("words", "minilm", "extractive:MODEL", "causal:MODEL", "seq2seq:MODEL", "endpoint:MODEL")
REASONERS: Final = ("words", "minilm", "nli:MODEL", "causal:MODEL", "seq2seq:MODEL", "endpoint:MODEL")


@dataclass(frozen=True)
class Models:
    """Options of models.

    Attributes:
      endpoint: address of the server of "endpoint" models.
      key: API key of the server.
      seed: of models with random numbers.
      cache: directory of the replies of models; None: they are not stored.
      is_offline: whether the cache is used in place of a server, and no file is downloaded.
    """

    endpoint: str = "http://127.0.0.1:8080/v1"
    key: str = ""
    seed: int = 0
    cache: Path | None = None
    is_offline: bool = False

    def answerer(self, name: str) -> QuestionAnswerer:
        """An answerer: a name of `ANSWERERS`; MODEL is a name on the server, a folder, or a name on the hub.

        Raises:
          ValueError: there is no such kind, or an offline server has no cache.
          ModelError: the address is invalid, or a model cannot be loaded.
          MissingExtraError: a library is not installed.
        """
        kind, model = _parsed(name, ANSWERERS)
        match kind:
            case "words":
                return WordAnswerer()
            case "minilm":
                return MiniLMAnswerer()
            case "extractive":
                return ExtractiveAnswerer.load(model, is_offline=self.is_offline)
            case _:
                return ModelAnswerer(self._model(kind, model))

    def reasoner(self, name: str) -> Reasoner:
        """A reasoner: a name of `REASONERS`. Arguments and errors as for `answerer`."""
        kind, model = _parsed(name, REASONERS)
        match kind:
            case "words":
                return WordReasoner()
            case "minilm":
                return MiniLMReasoner()
            case "nli":
                return EntailmentReasoner.load(model, is_offline=self.is_offline)
            case _:
                return ModelReasoner(self._model(kind, model))

    def _model(self, kind: str, name: str) -> LanguageModel:
        is_server = kind == "endpoint"
        if is_server and self.is_offline and self.cache is None:
            raise ValueError("--offline needs --cache: expected the directory with the model's replies")
        model: LanguageModel
        if is_server:
            model = Endpoint(self.endpoint, name, self.seed, self.key)
        else:
            chosen: Literal["causal", "seq2seq"] = "causal" if kind == "causal" else "seq2seq"
            model = TransformersModel.load(name, chosen, is_offline=self.is_offline)
        return model if self.cache is None else CachedModel(model, self.cache, self.is_offline and is_server)


def _parsed(name: str, names: tuple[str, ...]) -> tuple[str, str]:
    """Parses the name of a reader: its kind and its model."""
    kind, _, model = name.partition(":")
    if (f"{kind}:MODEL" if model else name) not in names:
        raise ValueError(f"expected one of {', '.join(names)}, got {name!r}")
    return kind, model
