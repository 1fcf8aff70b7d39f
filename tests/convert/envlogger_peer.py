"""What EnvLogger's own C++ reader finds in directories, as JSON; runs in a virtual environment with EnvLogger 1.2."""

import importlib
import json
import sys
from typing import Any

import numpy as np


def spelled(value: Any) -> Any:  # JSON
    """The value in the form of the golden directories' truth, which distinguishes tuples and non-text keys."""
    match value:
        case dict() if all(isinstance(key, str) for key in value):
            return {key: spelled(item) for key, item in value.items()}
        case dict():
            return {"__items__": [[spelled(key), spelled(item)] for key, item in value.items()]}
        case tuple() | list():
            return [spelled(item) for item in value]
        case float():
            return {"__float__": float(value).hex()}
        case np.ndarray() if value.dtype == np.object_:
            return value.tolist()
        case np.ndarray() | np.generic():
            return {"__dtype__": str(value.dtype), "__shape__": list(value.shape), "__hex__": value.tobytes().hex()}
        case bytes():
            return {"__bytes__": value.hex()}
    return value


def found_in(envlogger: Any, path: str) -> dict[str, Any]:
    """Everything in a directory."""
    with envlogger.Reader(data_directory=path) as reader:
        episodes = [
            [
                {
                    "step_type": int(step.timestep.step_type),
                    "reward": spelled(step.timestep.reward),
                    "discount": spelled(step.timestep.discount),
                    "observation": spelled(step.timestep.observation),
                    "action": spelled(step.action),
                    "custom_data": spelled(step.custom_data),
                }
                for step in episode
            ]
            for episode in reader.episodes
        ]
        return {
            "episodes": episodes,
            "episode_metadata": [spelled(each) for each in reader.episode_metadata()],
            "metadata": spelled(reader.metadata()),
            "specs": [repr(reader.observation_spec()), repr(reader.action_spec()), repr(reader.reward_spec())],
            "steps": len(reader.steps),
        }


if __name__ == "__main__":
    np.unicode_ = np.str_  # type: ignore[attr-defined]  # noqa: NPY201  EnvLogger 1.2 is older than NumPy 2
    package = importlib.import_module("envlogger")
    json.dump([found_in(package, path) for path in sys.argv[1:]], sys.stdout)
