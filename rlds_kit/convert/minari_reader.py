"""Reads datasets of Minari, https://minari.farama.org/content/dataset_standards, stored as HDF5, without Minari.

An episode is a group with n + 1 `observations` and n `actions`, `rewards`, `terminations` and `truncations`. `infos`
have n + 1 values, the first of which came with the reset; where they have n, each stands with its action, as
`step_info`. Gymnasium has no discounts: 0.0 is read where `terminations` is true and 1.0 elsewhere, as this library
records it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit import spec as specs
from rlds_kit.convert import hdf5, images
from rlds_kit.convert.minari_columns import unflattened
from rlds_kit.convert.minari_spaces import Space, from_json
from rlds_kit.convert.protocol import RECORDED, ForeignEpisode, Loss
from rlds_kit.convert.rows import Rows, length_of
from rlds_kit.errors import FormatError
from rlds_kit.spec.from_gymnasium import from_gymnasium
from rlds_kit.step import ACTION, DISCOUNT, INFO, OBSERVATION, REWARD, EpisodeEnd

DATA: Final = "data"
MAIN_FILE: Final = "main_data.hdf5"
METADATA_FILE: Final = "metadata.json"
EXTRA: Final = "rlds_kit"
"""The key of metadata.json where this library keeps what Minari has no place for."""
STEP_INFO: Final = "step_info"
FLAG_FIELDS: Final = {"terminations": f"{RECORDED}terminations", "truncations": f"{RECORDED}truncations"}
"""Fields that hold Minari's flags where they are true before the last step."""
OWN_ATTRIBUTES: Final = ("id", "seed", "total_steps", "options")
DERIVED: Final = ("total_episodes", "total_steps", "dataset_size", "observation_space", "action_space", "env_spec")
_SMALLEST_IMAGE: Final = 32
_INFOS: Final = "infos"


def data_directory(path: Path) -> Path:
    """Where the files of a dataset are: in `data`, or in the directory itself."""
    return path / DATA if (path / DATA / METADATA_FILE).is_file() else path


class MinariReader:
    """Reads a dataset. A `Reader`."""

    def __init__(self, path: Path) -> None:
        self._path = data_directory(path)
        content = _metadata(self._path / METADATA_FILE)
        self._spaces = [from_json(content[name]) for name in ("observation_space", "action_space")]
        self._jpeg = bool(content.get("jpeg_encoding", True))  # before Minari 0.5.4 there was no choice
        extra = content.get(EXTRA) or {}
        own = {name: value for name, value in content.items() if name not in (*DERIVED, EXTRA)}
        self.metadata: Mapping[str, Any] = {**(extra.get("metadata") or {}), "minari": own}
        self.environment: Mapping[str, Any] = {**(extra.get("environment") or {}), **_environment(content)}
        about = {"name": content.get("dataset_id"), "description": content.get("description")}
        self.about: Mapping[str, str] = {
            **(extra.get("about") or {}),
            **{key: str(value) for key, value in about.items() if value},
        }
        self.size = (self._path / MAIN_FILE).stat().st_size
        found = zip((OBSERVATION, ACTION), self._spaces, strict=True)
        self.lossy: Mapping[str, str] = {name: "jpeg" for name, space in found if self._jpeg and _has_images(space)}
        self.losses: list[Loss] = []
        with hdf5.opened(self._path / MAIN_FILE) as file:
            self._names = sorted((name for name in file if re.fullmatch(r"episode_\d+", name)), key=_number)
            self.spec = self._declared(file)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """Reads the episodes in the order of their numbers."""
        self.losses.clear()
        with hdf5.opened(self._path / MAIN_FILE) as file:
            groups = hdf5.children(file, self._path.name)
            for name in self._names:
                yield self._episode(groups[name], name)

    def _declared(self, file: Any) -> specs.Dict:
        """The fields whose values in the first episode have the dtypes of the spaces; Minari does not see to that."""
        number = specs.Array((), np.float64)
        declared: dict[str, specs.Spec] = {DISCOUNT: specs.Array((), np.float64, minimum=0, maximum=1)}
        if not self._names:
            return specs.Dict(declared)
        group = hdf5.children(file, self._path.name)[self._names[0]]
        nodes = hdf5.children(group, self._names[0])
        for field, name, space in zip((OBSERVATION, ACTION), ("observations", "actions"), self._spaces, strict=True):
            if name in nodes and _fits(nodes[name], space):
                declared[field] = from_gymnasium(space, field)
        if "rewards" in nodes and nodes["rewards"].dtype == np.float64 and nodes["rewards"].ndim == 1:
            declared[REWARD] = number
        return specs.Dict(declared)

    def _episode(self, group: Any, place: str) -> ForeignEpisode:
        nodes = hdf5.children(group, place)
        missing = [name for name in ("observations", "actions", "rewards", *FLAG_FIELDS) if name not in nodes]
        if missing:
            raise FormatError(f"{self._path / MAIN_FILE}, {place}: expected {', '.join(missing)}")
        observations = self._decoded(nodes["observations"], self._spaces[0], f"{place}/observations")
        actions = self._decoded(nodes["actions"], self._spaces[1], f"{place}/actions")
        rewards, terminations, truncations = (nodes[name][()] for name in ("rewards", *FLAG_FIELDS))
        count = len(rewards)
        lengths = [length_of(each) for each in (observations, actions, terminations, truncations)]
        if lengths != [count + 1, count, count, count]:
            raise FormatError(
                f"{self._path / MAIN_FILE}, {place}: expected one observation more than the {count} rewards, and as "
                f"many actions, terminations and truncations, got {', '.join(map(str, lengths))}"
            )
        discounts = np.where(terminations, 0.0, 1.0)
        observed = {OBSERVATION: observations}
        acted = {ACTION: actions, REWARD: rewards, DISCOUNT: discounts}
        for (_, name), flags in zip(FLAG_FIELDS.items(), (terminations, truncations), strict=True):
            if flags[:-1].any():
                acted[name] = flags
        if _INFOS in nodes:
            self._add_infos(nodes[_INFOS], observed, acted, count, f"{place}/{_INFOS}")
        self._note_unknown(nodes)
        is_terminal, is_cut = (bool(count and flags[-1]) for flags in (terminations, truncations))
        return _with_attributes(group.attrs, Rows(observed, count + 1), Rows(acted, count), is_terminal, is_cut)

    def _note_unknown(self, nodes: Mapping[str, Any]) -> None:
        for name in sorted(nodes.keys() - {"observations", "actions", "rewards", _INFOS, *FLAG_FIELDS}):
            self.losses.append(Loss(name, "Minari's standard has no such data"))

    def _add_infos(self, node: Any, observed: dict[str, Any], acted: dict[str, Any], count: int, place: str) -> None:
        infos = _infos(node, place)
        for field, side, length in ((INFO, observed, count + 1), (STEP_INFO, acted, count)):
            chosen = _of_length(infos, length)
            if chosen:
                side[field] = chosen
        for path, length in _lengths(infos):
            if length not in (count, count + 1):
                self.losses.append(Loss(f"info/{path}", f"has another number of values than {count} or {count + 1}"))

    def _decoded(self, node: Any, space: Space, place: str) -> Any:
        if isinstance(space, spaces.Dict):
            inner = hdf5.children(node, place)
            return {key: self._decoded(inner[key], each, f"{place}/{key}") for key, each in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            inner = hdf5.children(node, place)
            parts = enumerate(space.spaces)
            return tuple(self._decoded(inner[f"_index_{i}"], each, f"{place}/{i}") for i, each in parts)
        if isinstance(space, spaces.Text):
            return node.asstr()[()].tolist()
        if self._jpeg and _is_image(space):
            height, width, *channels = space.shape or ()
            shape = (height, width, channels[0] if channels else 1)
            frames = [images.decode(bytes(each), shape, np.dtype(np.uint8)) for each in node[()]]
            return np.stack(frames).reshape(-1, *(space.shape or ()))
        return node[()]


def _with_attributes(
    attributes: Mapping[str, Any], observed: Rows, acted: Rows, is_terminal: bool, is_cut: bool
) -> ForeignEpisode:
    known = unflattened({name: _attribute(value) for name, value in attributes.items()})
    cut = EpisodeEnd.TRUNCATED if is_cut else EpisodeEnd.INTERRUPTED
    return ForeignEpisode(
        observed,
        acted,
        EpisodeEnd.TERMINATED if is_terminal else cut,
        terminated=is_terminal,
        truncated=is_cut,
        metadata={name: value for name, value in known.items() if name not in OWN_ATTRIBUTES},
        seed=None if known.get("seed") is None else int(known["seed"]),
        options=known.get("options"),
    )


def _metadata(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FormatError(f"{path}: expected JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object")
    stored = content.get("data_format", "hdf5")
    if stored != "hdf5":
        raise FormatError(f"{path}: expected a dataset that is stored as hdf5, got {stored}, which cannot be read yet")
    if not all(isinstance(content.get(name), str) for name in ("observation_space", "action_space")):
        raise FormatError(f"{path}: expected observation_space and action_space; write the dataset anew with Minari")
    return content


def _environment(content: Mapping[str, Any]) -> dict[str, Any]:
    text = content.get("env_spec")
    if not isinstance(text, str):
        return {}
    try:
        spec = json.loads(text)
    except ValueError:
        return {"interface": "gymnasium", "spec": text}
    return {"interface": "gymnasium", "id": spec.get("id", ""), "spec": spec}


def _number(name: str) -> int:
    return int(name.partition("_")[2])


def _is_image(space: Space) -> bool:
    """Whether Minari stores what is in a space as JPEG, unless told not to."""
    return (
        isinstance(space, spaces.Box)
        and len(space.shape) in (2, 3)
        and min(space.shape[:2]) >= _SMALLEST_IMAGE
        and space.dtype == np.uint8
        and bool(np.all(space.low == 0) and np.all(space.high == 255))
    )


def _has_images(space: Space) -> bool:
    if isinstance(space, spaces.Dict):
        return any(map(_has_images, space.spaces.values()))
    return any(map(_has_images, space.spaces)) if isinstance(space, spaces.Tuple) else _is_image(space)


def _fits(node: Any, space: Space) -> bool:
    if isinstance(space, spaces.Dict):
        return all(key in node and _fits(node[key], each) for key, each in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return all(f"_index_{i}" in node and _fits(node[f"_index_{i}"], each) for i, each in enumerate(space.spaces))
    is_encoded = isinstance(space, spaces.Text) or _is_image(space)
    return is_encoded or (node.dtype == space.dtype and node.shape[1:] == space.shape)


def _infos(node: Any, place: str) -> Any:
    if hasattr(node, "keys"):
        return {name: _infos(each, f"{place}/{name}") for name, each in hdf5.children(node, place).items()}
    if hdf5.library().check_string_dtype(node.dtype) is not None:
        return node.asstr()[()].tolist() if node.ndim else [node.asstr()[()]]
    return node[()] if node.ndim else node[()][np.newaxis]


def _of_length(infos: Any, length: int) -> Any:
    """The columns that have so many values, in their nest; None if there are none."""
    if isinstance(infos, dict):
        chosen = {name: found for name, each in infos.items() if (found := _of_length(each, length)) is not None}
        return chosen or None
    return infos if len(infos) == length else None


def _lengths(infos: Any, path: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(infos, dict):
        for name, each in infos.items():
            yield from _lengths(each, f"{path}/{name}" if path else name)
    else:
        yield path, len(infos)


def _attribute(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) and value.dtype == np.object_ else value
