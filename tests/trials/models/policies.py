"""Small models in the formats of actors."""

import io
from typing import Any

import numpy as np

Weights = np.ndarray[Any, Any]


def onnx_policy(weights: Weights) -> bytes:
    """A model in ONNX that multiplies a batch of observations by a matrix."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    inputs, outputs = weights.shape
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["observation", "weights"], ["action"])],
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, [None, inputs])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [None, outputs])],
        [numpy_helper.from_array(weights.astype(np.float32), "weights")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert isinstance(made, onnx.ModelProto)
    return bytes(made.SerializeToString())


def torch_policy(weights: Weights) -> bytes:
    """The same model, as PyTorch exports it."""
    import torch

    layer = torch.nn.Linear(weights.shape[0], weights.shape[1], bias=False)
    layer.weight.data = torch.from_numpy(weights.T.astype(np.float32).copy())
    file = io.BytesIO()
    torch.export.save(torch.export.export(layer, (torch.zeros(1, weights.shape[0]),)), file)
    return file.getvalue()


def pole_policy(action: int) -> Weights:
    """Weights for CartPole that go with the pole, or against it."""
    weights = np.zeros((4, 2), np.float32)
    weights[2:, action], weights[2:, 1 - action] = 1, -1
    return weights
