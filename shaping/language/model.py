"""The interface of language models: they return a text for instructions and a prompt."""

from typing import Protocol

from rlds_kit.base.errors import RldsKitError
from rlds_kit.shaping.manuals.model_reply import ModelReply


class ModelError(RldsKitError):
    """A language model does not answer, or its answer cannot be used."""


class LanguageModel(Protocol):
    """A language model."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model and its parameters: equal ones are expected to return equal texts."""

    def say(self, system: str, prompt: str, *, most_tokens: int) -> ModelReply:
        """Returns the reply of the model.

        Args:
          system: instructions that do not come from a manual or a recording.
          prompt: the request, with the texts that it is about.
          most_tokens: maximum length of the reply.

        Raises:
          ModelError: it does not answer.
        """
