"""Gymnasium spaces in the JSON of Minari, https://minari.farama.org/content/dataset_standards."""

import json
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rlds_kit.base.errors import FormatError, SpecError

Space = gymnasium.Space[Any]


def to_json(space: Space) -> str:
    """The text that Minari stores for a space.

    Raises:
      SpecError: Minari cannot store it.

    >>> to_json(spaces.Discrete(3))
    '{"type": "Discrete", "dtype": "int64", "start": 0, "n": 3}'
    """
    return json.dumps(_plain(space))


def _plain(space: Space) -> dict[str, Any]:
    match space:
        case spaces.Box():
            bounds = {"low": space.low.tolist(), "high": space.high.tolist()}
            return {"type": "Box", "dtype": str(space.dtype), "shape": list(space.shape), **bounds}
        case spaces.Discrete() if space.dtype == np.int64:
            return {"type": "Discrete", "dtype": "int64", "start": int(space.start), "n": int(space.n)}
        case spaces.MultiDiscrete():
            numbers = {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
            return {"type": "MultiDiscrete", "dtype": str(space.dtype), **numbers}
        case spaces.MultiBinary():
            return {"type": "MultiBinary", "n": space.n if isinstance(space.n, int) else list(space.n)}
        case spaces.Dict():
            return {"type": "Dict", "subspaces": {key: _plain(each) for key, each in space.spaces.items()}}
        case spaces.Tuple():
            return {"type": "Tuple", "subspaces": [_plain(each) for each in space.spaces]}
        case spaces.Text():
            lengths = {"max_length": space.max_length, "min_length": space.min_length}
            return {"type": "Text", **lengths, "charset": space.characters}
    raise SpecError(f"expected a space that Minari can store, got {space}")


def from_json(text: str) -> Space:
    """The space that Minari stored.

    Raises:
      FormatError: it is not a space in Minari's form.

    >>> from_json('{"type": "Discrete", "dtype": "int64", "start": 0, "n": 3}')
    Discrete(3)
    """
    try:
        return _space(json.loads(text))
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise FormatError(f"expected a space of Minari's, got {text[:200]!r}: {error!r}") from error


def _space(content: dict[str, Any]) -> Space:
    match content["type"]:
        case "Box":
            dtype = np.dtype(content["dtype"])
            low, high = (np.array(content[name], dtype) for name in ("low", "high"))
            return spaces.Box(low, high, tuple(content["shape"]), dtype.type)
        case "Discrete":
            return spaces.Discrete(content["n"], start=content["start"])
        case "MultiDiscrete":
            return spaces.MultiDiscrete(content["nvec"], np.dtype(content["dtype"]).type, start=content["start"])
        case "MultiBinary":
            return spaces.MultiBinary(content["n"])
        case "Dict":
            return spaces.Dict({key: _space(each) for key, each in content["subspaces"].items()})
        case "Tuple":
            return spaces.Tuple([_space(each) for each in content["subspaces"]])
        case "Text":
            lengths = {name: content[name] for name in ("max_length", "min_length")}
            return spaces.Text(**lengths, charset=content["charset"])
    raise ValueError(content["type"])
