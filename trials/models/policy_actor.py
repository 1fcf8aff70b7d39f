"""An actor that acts as a model says, from a file or from a registry."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

from rlds_kit import __version__
from rlds_kit.trials.actors.contract import ActorInfo, Text
from rlds_kit.trials.models.policy import Policy, load_policy
from rlds_kit.trials.models.registry import LATEST, ModelRegistry
from rlds_kit.trials.models.version import ModelError, checked_content

BEST, SAMPLE = "best", "sample"
_policies: Final[dict[str, Policy]] = {}
_MOST: Final = 4
"""Models that a process remembers."""
_Found = tuple[str, str, Callable[[], bytes]]
"""The hash of a model, the suffix of its file, and what reads it."""


class PolicyActor:
    """Acts as a model says.

    Its configuration names the model:

    - `{"path": "pong.onnx", "sha256": "..."}`: a file, which must have this hash; or
    - `{"registry": "models", "model": "pong", "version": 3}`: a version in a registry. "latest" is looked up when a
      trial begins, so that a new version acts from the next trial on.

    The model gets the observation, as float32, as a batch of one. For a discrete action it gives a number for each
    action, the largest of which is chosen; with `{"choice": "sample"}` they are logits, and one is drawn. An integer
    output is the action itself. For other actions it gives the action, which is cut to the bounds of its space.
    """

    version = __version__
    _info: ActorInfo
    _policy: Policy
    _random: np.random.Generator

    def reset(self, info: ActorInfo) -> None:
        """Loads the model, unless the trial before had the same.

        Raises:
          ModelError: there is none, or its hash is another one.
          OSError: it cannot be read.
        """
        self._policy = _loaded(info.config)
        self._info, self._random = info, np.random.default_rng(info.seed)

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        """What the model gives for an observation."""
        del reward, messages
        given = self._policy(np.asarray(observation, np.float32)[None])[0]
        return _action(given, self._info.actor_class.action_space, self._info.config.get("choice", BEST), self._random)


def _loaded(config: Mapping[str, Any]) -> Policy:
    """The policy of a configuration; bytes are verified each time that they are read."""
    digest, suffix, read = _file(config) if "path" in config else _version(config)
    if digest not in _policies:
        loaded = load_policy(read(), suffix)
        while len(_policies) >= _MOST:
            del _policies[next(iter(_policies))]
        _policies[digest] = loaded
    return _policies[digest]


def _file(config: Mapping[str, Any]) -> _Found:
    path, digest = Path(config["path"]), str(config.get("sha256", ""))
    if not digest:
        raise ModelError(f'{path}: expected the SHA-256 of the file in "sha256"')
    return digest, path.suffix, lambda: checked_content(path.read_bytes(), digest, str(path))


def _version(config: Mapping[str, Any]) -> _Found:
    if not {"registry", "model"} <= config.keys():
        raise ModelError(f'expected "path" and "sha256", or "registry" and "model", got {dict(config)}')
    registry = ModelRegistry(config["registry"])
    version = registry.get(config["model"], config.get("version", LATEST))
    return version.sha256, version.suffix, lambda: registry.read(version)


def _action(given: np.ndarray[Any, Any], space: gymnasium.Space[Any], choice: str, random: np.random.Generator) -> Any:
    """An action of a space.

    >>> _action(np.float32([0.5, 2, 1]), gymnasium.spaces.Discrete(3, start=5), BEST, np.random.default_rng(0))
    np.int64(6)
    >>> _action(np.float32([0.5, 2]), gymnasium.spaces.Box(-1, 1, (2,)), BEST, np.random.default_rng(0))
    array([0.5, 1. ], dtype=float32)
    """
    if isinstance(space, gymnasium.spaces.Discrete):
        if np.issubdtype(given.dtype, np.integer) and given.size == 1:
            return space.dtype.type(given.item())
        scores = given + random.gumbel(size=given.shape) if choice == SAMPLE else given
        return space.dtype.type(space.start + np.argmax(scores))
    if isinstance(space, gymnasium.spaces.Box):
        return np.clip(given, space.low, space.high).reshape(space.shape).astype(space.dtype)
    return given.astype(space.dtype) if space.dtype is not None else given
