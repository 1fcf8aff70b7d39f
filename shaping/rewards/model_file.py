"""Files of reward models: safetensors, with numbers and text only; nothing is pickled."""

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.base.extras import needs
from rlds_kit.shaping.rewards.inputs import Inputs
from rlds_kit.shaping.rewards.model import RewardModel

FORMAT: Final = "rlds_kit.reward_model"
VERSION: Final = "1"


def digest(model: RewardModel) -> str:
    """The SHA-256 of the file of a model, in hexadecimal digits: the name of its rewards."""
    return hashlib.sha256(to_bytes(model)).hexdigest()


def save(model: RewardModel, path: str | os.PathLike[str]) -> str:
    """Writes a model to a new file, and returns its SHA-256. The same model always gives the same bytes.

    Raises:
      FileExistsError: the file exists.
      MissingExtraError: safetensors is not installed.
      OSError: the file cannot be written.
    """
    data = to_bytes(model)
    with Path(path).open("xb") as file:
        file.write(data)
    return hashlib.sha256(data).hexdigest()


def load(path: str | os.PathLike[str], sha256: str) -> RewardModel:
    """Reads a model, if its file has this SHA-256.

    Raises:
      FormatError: it has another SHA-256, or is not a file of a reward model of this version.
      MissingExtraError: safetensors is not installed.
      OSError: the file cannot be read.
    """
    data = Path(path).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256.lower():
        raise FormatError(
            f"{path}: expected a file with the SHA-256 {sha256}, got {found}: it is another file, or was changed"
        )
    try:
        return from_bytes(data)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise FormatError(f"{path}: expected a reward model of version {VERSION}: {error}") from error


def to_bytes(model: RewardModel) -> bytes:
    """The content of the file of a model.

    Raises:
      MissingExtraError: safetensors is not installed.
    """
    with needs("torch"):
        from safetensors.numpy import save as to_safetensors
    arrays = {"mean": model.mean, "deviation": model.deviation}
    for number, (weight, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        arrays |= {f"weight.{number:02}": weight, f"bias.{number:02}": bias}
    plain = {
        "fields": model.inputs.fields,
        "discrete": dict(model.inputs.discrete),
        "zero": model.zero,
        "unit": model.unit,
        "log_ties": model.log_ties if math.isfinite(model.log_ties) else None,
        "training": dict(model.training),
    }
    metadata = {"model": json.dumps({"format": FORMAT, "version": VERSION, **plain}, sort_keys=True)}
    return to_safetensors({name: np.ascontiguousarray(each) for name, each in arrays.items()}, metadata)


def from_bytes(data: bytes) -> RewardModel:
    """Parses the content of the file of a model.

    Raises:
      KeyError, ValueError, TypeError, IndexError: the content is invalid.
    """
    with needs("torch"):
        from safetensors import SafetensorError
        from safetensors.numpy import load as from_safetensors
    try:
        arrays: dict[str, Any] = from_safetensors(data)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    plain = json.loads(header["__metadata__"]["model"])
    if (plain["format"], plain["version"]) != (FORMAT, VERSION):
        raise ValueError(f"got {plain['format']} of version {plain['version']}; a newer rlds_kit may read it")
    layers = range(sum(name.startswith("weight.") for name in arrays))
    return RewardModel(
        inputs=Inputs(tuple(plain["fields"]), plain["discrete"]),
        mean=arrays["mean"],
        deviation=arrays["deviation"],
        weights=tuple(arrays[f"weight.{number:02}"] for number in layers),
        biases=tuple(arrays[f"bias.{number:02}"] for number in layers),
        zero=plain["zero"],
        unit=plain["unit"],
        log_ties=-math.inf if plain["log_ties"] is None else plain["log_ties"],
        training=plain["training"],
    )
