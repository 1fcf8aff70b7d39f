"""What every language model here is: it is given instructions and a prompt, and says something."""

from typing import Protocol

from rlds_kit.base.errors import RldsKitError
from rlds_kit.shaping.manuals.model_reply import ModelReply


class ModelError(RldsKitError):
    """A language model does not answer, or its answer cannot be used."""


class LanguageModel(Protocol):
    """Whatever continues a text."""

    @property
    def fingerprint(self) -> str:
        """Names the model and its parameters: equal ones are expected to say the same."""

    def say(self, system: str, prompt: str, *, most_tokens: int) -> ModelReply:
        """Returns what the model says.

        Args:
          system: instructions that do not come from a manual or a recording.
          prompt: what it is about.
          most_tokens: of its text.

        Raises:
          ModelError: it does not answer.
        """
