"""Small networks of PyTorch, whose initial weights are determined by a seed, not by the global random state."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rlds_kit.base.extras import needs

if TYPE_CHECKING:
    import torch


def perceptron(*sizes: int, seed: int) -> "torch.nn.Sequential":
    """A network with tanh units, from `[..., sizes[0]]` to `[..., sizes[-1]]`. The last layer begins at 0.

    Args:
      *sizes: of the input, of hidden layers, of the output; two sizes make a linear network.
      seed: of the initial weights.

    Raises:
      ValueError: there are fewer than two sizes.
      MissingExtraError: PyTorch is not installed.

    >>> perceptron(4, 32, 2, seed=0)[0].weight.shape
    torch.Size([32, 4])
    """
    if len(sizes) < 2:
        raise ValueError(f"expected the sizes of at least input and output, got {sizes}")
    with needs("torch"):
        import torch
    random, layers = np.random.default_rng(seed), list[torch.nn.Module]()
    for into, out in pairwise(sizes):
        layer = torch.nn.Linear(into, out, device="meta").to_empty(device="cpu")
        is_last = len(layers) == 2 * (len(sizes) - 2)
        scale = 0.0 if is_last else 1 / np.sqrt(into)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(random.standard_normal((out, into)) * scale))
            layer.bias.zero_()
        layers += [layer] if is_last else [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)
