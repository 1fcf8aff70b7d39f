"""Loads models of Hugging Face, from a folder or from the hub: exactly the named one, or an error."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.shaping.language.model import ModelError

_FILES: Final = ("*.json", "*.model", "*.safetensors", "*.txt", "*.jinja")
_MOST_SHOWN: Final = 3


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A model with its tokenizer, for inference only.

    Attributes:
      name: the folder, or the name on the hub.
      version: the commit on the hub, or the SHA-256 of the files of the folder.
      tokenizer: of the model.
      network: the model itself.
    """

    name: str
    version: str
    tokenizer: Any  # a tokenizer of transformers, whose types depend on the model
    network: Any  # likewise

    @property
    def fingerprint(self) -> str:
        """Identifies the model: the last part of its name, and its version."""
        return f"{Path(self.name).name}@{self.version[:16]}"

    def logits(self, **inputs: Any) -> Any:
        """The output of the model for tensors, computed without gradients."""
        with needs("transformers"):
            import torch
        with torch.inference_mode():
            return self.network(**inputs)


def load(kind: str, name: str, *, is_offline: bool = False) -> Pretrained:
    """Loads a model and its tokenizer.

    Weights are read from safetensors files only, and code in the folder of a model is never run.

    Args:
      kind: the class of transformers that loads it, such as "AutoModelForCausalLM".
      name: a folder, or a name on the Hugging Face hub.
      is_offline: whether to use only what was downloaded before.

    Raises:
      MissingExtraError: transformers or PyTorch is not installed.
      ModelError: it cannot be loaded, or is of another kind, so that weights are missing.
    """
    with needs("transformers"):
        import torch  # noqa: F401  required, although transformers can be imported without it
        import transformers
    options: dict[str, Any] = {"local_files_only": is_offline, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **options)
        network, info = getattr(transformers, kind).from_pretrained(
            name, use_safetensors=True, output_loading_info=True, **options
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        where = "what was downloaded before (offline)" if is_offline else "the Hugging Face hub"
        raise ModelError(
            f"{name}: expected a folder with a model that {kind} loads, or the name of one in {where}: {error}: no "
            "other model is used in its place"
        ) from error
    if missing := sorted(map(str, info["missing_keys"])):
        more = ", ..." if len(missing) > _MOST_SHOWN else ""
        raise ModelError(
            f"{name}: expected a model that {kind} loads, got one without {', '.join(missing[:_MOST_SHOWN])}{more}: "
            "is it made for another purpose?"
        )
    version = getattr(network.config, "_commit_hash", None) or _digest(Path(name))
    return Pretrained(name, version, tokenizer, network.eval())


def _digest(folder: Path) -> str:
    """The SHA-256 of the names and contents of the files that a model is loaded from."""
    whole = hashlib.sha256()
    for path in sorted(each for pattern in _FILES for each in folder.glob(pattern)):
        with path.open("rb") as file:
            whole.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()
