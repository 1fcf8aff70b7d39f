"""A cache of replies of a language model: repeated requests are answered from it, also without the model."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rlds_kit.base.whole_file import make_directory, whole_file
from rlds_kit.shaping.language.model import LanguageModel, ModelError
from rlds_kit.shaping.manuals.interaction import TableError, reply_of
from rlds_kit.shaping.manuals.model_reply import ModelReply


@dataclass(frozen=True)
class CachedModel:
    """A model with a directory of its replies, one file each, named by the SHA-256 of model, instructions and prompt.

    Any number of processes may use one directory.

    Attributes:
      model: for requests without a stored reply.
      directory: of the replies; created if it does not exist.
      is_offline: whether the model itself is never used.
    """

    model: LanguageModel
    directory: Path
    is_offline: bool = False

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model, because replies are the same."""
        return self.model.fingerprint

    def say(self, system: str, prompt: str, *, most_tokens: int) -> ModelReply:
        """See `LanguageModel`.

        Raises:
          ModelError: the model does not answer; or it is offline, and there is no stored reply.
          OSError: a reply cannot be read or written.
        """
        question = [self.fingerprint, system, prompt, most_tokens]
        path = self.directory / f"{hashlib.sha256(json.dumps(question).encode()).hexdigest()}.json"
        if path.exists():
            return self._stored(path, system, prompt)
        if self.is_offline:
            raise ModelError(
                f"{self.directory}: expected an answer of {self.fingerprint} to {prompt[-80:]!r}, got none: run it "
                "once with the model, and with the same seed and manual"
            )
        reply = self.model.say(system, prompt, most_tokens=most_tokens)
        make_directory(self.directory)
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(asdict(reply), indent=1, ensure_ascii=False) + "\n", "utf-8")
        return reply

    def _stored(self, path: Path, system: str, prompt: str) -> ModelReply:
        try:
            reply = reply_of(json.loads(path.read_bytes()), str(path))
        except (TableError, ValueError, RecursionError) as error:
            raise ModelError(f"{path}: expected an answer of a model: {error}: delete the file") from error
        if (reply.system, reply.prompt) != (system, prompt):
            raise ModelError(f"{path}: expected an answer to another prompt: delete the file")
        return reply
