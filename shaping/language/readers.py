"""Readers of manuals by their names on the command line: "words", "endpoint:qwen3-4b"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from rlds_kit.shaping.language.cached_model import CachedModel
from rlds_kit.shaping.language.endpoint import Endpoint
from rlds_kit.shaping.language.model import LanguageModel
from rlds_kit.shaping.language.model_readers import ModelAnswerer, ModelReasoner
from rlds_kit.shaping.manuals.answering import QuestionAnswerer, WordAnswerer
from rlds_kit.shaping.manuals.reasoning import Reasoner, WordReasoner

WORDS: Final = "words"
Reader = TypeVar("Reader")


@dataclass(frozen=True)
class Models:
    """How models are used.

    Attributes:
      endpoint: address of the server of "endpoint" models.
      key: of the server.
      seed: of models that draw.
      cache: directory of what models said; None: it is not stored.
      is_offline: whether the cache is used in place of a server, and no file is downloaded.
    """

    endpoint: str = "http://127.0.0.1:8080/v1"
    key: str = ""
    seed: int = 0
    cache: Path | None = None
    is_offline: bool = False

    def answerer(self, name: str) -> QuestionAnswerer:
        """The answerer "words", or "endpoint:MODEL".

        Raises:
          ValueError: there is no such kind, or an offline server has no cache.
          ModelError: the address is invalid.
        """
        kinds: Mapping[str, Callable[[str], QuestionAnswerer]] = {
            WORDS: lambda _: WordAnswerer(),
            "endpoint": lambda model: ModelAnswerer(self._server(model)),
        }
        return _chosen(name, kinds)

    def reasoner(self, name: str) -> Reasoner:
        """The reasoner "words", or "endpoint:MODEL".

        Raises:
          ValueError: there is no such kind, or an offline server has no cache.
          ModelError: the address is invalid.
        """
        kinds: Mapping[str, Callable[[str], Reasoner]] = {
            WORDS: lambda _: WordReasoner(),
            "endpoint": lambda model: ModelReasoner(self._server(model)),
        }
        return _chosen(name, kinds)

    def _server(self, model: str) -> LanguageModel:
        return self._cached(Endpoint(self.endpoint, model, self.seed, self.key))

    def _cached(self, model: LanguageModel) -> LanguageModel:
        if self.cache is None:
            if self.is_offline:
                raise ValueError("--offline needs --cache: expected the directory with what the model said")
            return model
        return CachedModel(model, self.cache, self.is_offline)


def _chosen(name: str, kinds: Mapping[str, Callable[[str], Reader]]) -> Reader:
    """The reader with a name: a kind, and for kinds with models a colon and the model."""
    kind, _, model = name.partition(":")
    if kind not in kinds or (kind in _WITHOUT_MODEL) == bool(model):
        forms = (each if each in _WITHOUT_MODEL else f"{each}:MODEL" for each in kinds)
        raise ValueError(f"expected {', '.join(forms)}, got {name!r}")
    return kinds[kind](model)


_WITHOUT_MODEL: Final = frozenset({WORDS})
