"""Datasets that the package `minari` itself writes and reads."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

ACTIONS = 3


def minari_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # the module
    """The package, with its datasets in a directory."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(root))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import minari
    return minari


def stacked(values: Sequence[Any], space: spaces.Space[Any]) -> Any:
    """Samples of a space in the form that Minari's buffers take."""
    if isinstance(space, spaces.Dict):
        return {key: stacked([each[key] for each in values], inner) for key, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(stacked([each[i] for each in values], inner) for i, inner in enumerate(space.spaces))
    return list(values)


def write(
    minari: Any,
    name: str,
    observation_space: spaces.Space[Any],
    action_space: spaces.Space[Any],
    *,
    flags: Sequence[tuple[bool, bool]] = ((True, False), (False, True), (False, False), (True, True)),
    infos: bool = False,
    jpeg: bool = False,
    env: str | None = None,
    data_format: str = "hdf5",
) -> list[dict[str, Any]]:
    """Lets Minari write one episode for each pair of last flags; returns the data that were passed to it."""
    observation_space.seed(1)
    action_space.seed(2)
    buffers, truth = [], []
    for number, (terminated, truncated) in enumerate(flags):
        observations = [observation_space.sample() for _ in range(ACTIONS + 1)]
        actions = [action_space.sample() for _ in range(ACTIONS)]
        told = {"lives": list(range(ACTIONS + 1)), "inner": {"word": [f"w{i}é" for i in range(ACTIONS + 1)]}}
        given = {
            "seed": 2**63 + number,
            "options": {"low": -0.5, "inner": {"mode": "hard"}},
            "rewards": [number + i / 4 for i in range(ACTIONS)],
            "terminations": [False] * (ACTIONS - 1) + [terminated],
            "truncations": [False] * (ACTIONS - 1) + [truncated],
            "infos": told if infos else None,
        }
        truth.append({**given, "observations": observations, "actions": actions})
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                id=number,
                observations=stacked(observations, observation_space),
                actions=stacked(actions, action_space),
                **given,
            )
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            name,
            buffers,
            env=gymnasium.spec(env) if env else None,
            observation_space=observation_space,
            action_space=action_space,
            jpeg_encoding=jpeg,
            data_format=data_format,
            description="made for a test",
            author="Ada",
        )
    return truth


def load(minari: Any, name: str) -> Any:
    """A dataset as Minari reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return minari.load_dataset(name)


def equal(a: Any, b: Any) -> bool:
    """Whether two nests of values have the same dtypes, shapes and bytes."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(each, b[key]) for key, each in a.items())
    if isinstance(a, tuple):
        return len(a) == len(b) and all(equal(one, other) for one, other in zip(a, b, strict=True))
    if isinstance(a, str):
        return bool(a == b)
    one, other = np.asarray(a), np.asarray(b)
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
