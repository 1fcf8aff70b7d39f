"""A model in memory: from observations to what it gives for them."""

import io
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.trials.models.version import SUFFIXES, ModelError

Policy = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
"""Takes a batch of observations, gives the first output of the model."""


def load_policy(content: bytes, suffix: str) -> Policy:
    """Makes a model ready to be used, on one thread, so that it gives the same on every run.

    Args:
      content: of its file.
      suffix: of its file.

    Raises:
      ModelError: the suffix is not known.
      MissingExtraError: the library that reads such files is not installed.
    """
    if suffix not in _LOADERS:
        raise ModelError(f"expected a model as {' or '.join(SUFFIXES)}, got {suffix!r}")
    return _LOADERS[suffix](content)


def _onnx(content: bytes) -> Policy:
    with needs("onnx"):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda batch: np.asarray(session.run(None, {name: batch})[0])


def _torch(content: bytes) -> Policy:
    with needs("torch"):
        import torch
    module = torch.export.load(io.BytesIO(content)).module()

    def run(batch: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with torch.inference_mode():
            found = module(torch.from_numpy(batch))
        return np.asarray((found[0] if isinstance(found, tuple | list) else found).numpy())

    return run


_LOADERS: Final = {".onnx": _onnx, ".pt2": _torch}
