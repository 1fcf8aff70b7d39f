"""Reads datasets of Minari, https://minari.farama.org/content/dataset_standards, without Minari.

An episode has n + 1 `observations` and n `actions`, `rewards`, `terminations` and `truncations`. `infos` have n + 1
values, the first of which is that of the reset; if they have n, each belongs to an action, and becomes `step_info`.
Gymnasium has no discounts: the reader returns 0.0 where `terminations` is true and 1.0 elsewhere, as our loggers do.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.origin import lossy_of
from rlds_kit.base.step import ACTION, DISCOUNT, INFO, OBSERVATION, RECORDED, REWARD, EpisodeEnd
from rlds_kit.convert.decoded_size import bytes_of_step
from rlds_kit.convert.minari.arrow import ArrowReader, ParquetReader
from rlds_kit.convert.minari.hdf5_storage import Hdf5Reader
from rlds_kit.convert.minari.spaces import Space, from_json
from rlds_kit.convert.minari.storage import (
    METADATA_FILE,
    StorageReader,
    StoredEpisode,
    data_directory,
    is_image,
    read_json,
)
from rlds_kit.convert.protocol import ForeignEpisode, Loss, PartReader
from rlds_kit.convert.rows import Rows
from rlds_kit.spec.from_gymnasium import from_gymnasium
from rlds_kit.storage.array_rows import length_of

EXTRA: Final = "rlds_kit"
"""The key of metadata.json where this library stores data that Minari has no place for."""
STEP_INFO: Final = "step_info"
FLAG_FIELDS: Final = {"terminations": f"{RECORDED}terminations", "truncations": f"{RECORDED}truncations"}
"""Fields that hold Minari's flags where they are true before the last step."""
OWN_ATTRIBUTES: Final = ("id", "seed", "total_steps", "options")
DERIVED: Final = ("total_episodes", "total_steps", "dataset_size", "observation_space", "action_space", "env_spec")
STORED_AS: Final = ("data_format", "jpeg_encoding", "minari_version")
"""Attributes of the files, not of their content."""
STORAGES: Final[Mapping[str, type[Hdf5Reader] | type[ArrowReader]]] = {
    "hdf5": Hdf5Reader,
    "arrow": ArrowReader,
    "parquet": ParquetReader,
}
"""Readers by the name that Minari gives to their storage."""


class MinariReader(PartReader):
    """Reads a dataset."""

    def __init__(self, path: Path) -> None:
        self._path = data_directory(path)
        content = _metadata(self._path / METADATA_FILE)
        self._spaces = [from_json(content[name]) for name in ("observation_space", "action_space")]
        is_jpeg = bool(content.get("jpeg_encoding", True))  # before Minari 0.5.4 there was no choice
        extra = content.get(EXTRA) or {}
        own = {name: value for name, value in content.items() if name not in (*DERIVED, *STORED_AS, EXTRA)}
        self.origin = {name: content[name] for name in STORED_AS if name in content}
        self.metadata: Mapping[str, Any] = {**(extra.get("metadata") or {}), "minari": own}
        self.environment: Mapping[str, Any] = {**(extra.get("environment") or {}), **_environment(content)}
        about = {"name": content.get("dataset_id"), "description": content.get("description")}
        self.about: Mapping[str, str] = {
            **(extra.get("about") or {}),
            **{key: str(value) for key, value in about.items() if value},
        }
        found = zip((OBSERVATION, ACTION), self._spaces, strict=True)
        jpeg = {name: "jpeg" for name, space in found if is_jpeg and _has_images(space)}
        self.lossy: Mapping[str, str] = lossy_of(self.metadata) | jpeg
        self.losses: list[Loss] = []
        storage = STORAGES[content.get("data_format", "hdf5")]
        self._storage: StorageReader = storage(self._path, *self._spaces, is_jpeg=is_jpeg)
        self.size = self._storage.size
        self.spec = self._declared()
        steps = content.get("total_steps")
        self.decoded = steps * bytes_of_step(self.spec) if isinstance(steps, int) and 0 <= steps < 1 << 40 else 0

    def __len__(self) -> int:
        return len(self._storage.names)

    def weigh(self, _progress: Callable[[int], None]) -> Sequence[int]:
        """Equal weights, because the lengths of episodes are unknown before they are read."""
        return [self.size // max(1, len(self))] * len(self)

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes."""
        self.losses.clear()
        with self._storage.opened() as stored:
            for name in self._storage.names[begin:end]:
                yield self._episode(stored(name), name)

    def _declared(self) -> specs.Dict:
        """The fields whose values in the first episode have the dtypes of the spaces, which Minari does not check."""
        declared: dict[str, specs.Spec] = {DISCOUNT: specs.Array((), np.float64, minimum=0, maximum=1)}
        if not len(self):
            return specs.Dict(declared)
        with self._storage.opened() as stored:
            first = stored(self._storage.names[0])
        for field, column, space in zip(
            (OBSERVATION, ACTION), (first.observations, first.actions), self._spaces, strict=True
        ):
            if _fits(column, space):
                declared[field] = from_gymnasium(space, field)
        if first.rewards.dtype == np.float64 and first.rewards.ndim == 1:
            declared[REWARD] = specs.Array((), np.float64)
        return specs.Dict(declared)

    def _episode(self, stored: StoredEpisode, name: str) -> ForeignEpisode:
        flags = stored.terminations, stored.truncations
        kinds = stored.rewards.dtype.kind, *(each.dtype.kind for each in flags)
        if {each.ndim for each in (stored.rewards, *flags)} != {1} or kinds[0] not in "biuf" or {*kinds[1:]} != {"b"}:
            raise FormatError(f"{self._path}, {name}: expected rewards and flags, a number and truth values a step")
        count = len(stored.rewards)
        lengths = [length_of(each) for each in (stored.observations, stored.actions, *flags)]
        if lengths != [count + 1, count, count, count]:
            raise FormatError(
                f"{self._path}, {name}: expected one observation more than the {count} rewards, and as "
                f"many actions, terminations and truncations, got {', '.join(map(str, lengths))}"
            )
        observed = {OBSERVATION: stored.observations}
        acted = {ACTION: stored.actions, REWARD: stored.rewards, DISCOUNT: np.where(flags[0], 0.0, 1.0)}
        acted |= {own: each for own, each in zip(FLAG_FIELDS.values(), flags, strict=True) if each[:-1].any()}
        self._add_infos(stored.infos, observed, acted, count)
        self.losses += [Loss(each, "Minari's standard has no such data") for each in stored.unknown]
        is_terminal, is_cut = (bool(count and each[-1]) for each in flags)
        return _with_attributes(stored.attributes, Rows(observed, count + 1), Rows(acted, count), is_terminal, is_cut)

    def _add_infos(self, infos: Any, observed: dict[str, Any], acted: dict[str, Any], count: int) -> None:
        for field, side, length in ((INFO, observed, count + 1), (STEP_INFO, acted, count)):
            chosen = _of_length(infos, length)
            if chosen:
                side[field] = chosen
        for path, length in _lengths(infos):
            if length not in (count, count + 1):
                self.losses.append(Loss(f"info/{path}", f"has another number of values than {count} or {count + 1}"))


def _with_attributes(
    known: Mapping[str, Any], observed: Rows, acted: Rows, is_terminal: bool, is_cut: bool
) -> ForeignEpisode:
    return ForeignEpisode(
        observed,
        acted,
        end_of(is_terminal=is_terminal, is_cut=is_cut),
        terminated=is_terminal,
        truncated=is_cut,
        metadata={name: value for name, value in known.items() if name not in OWN_ATTRIBUTES},
        seed=None if known.get("seed") is None else _seed(known["seed"]),
        options=known.get("options"),
    )


def end_of(*, is_terminal: bool, is_cut: bool) -> EpisodeEnd:
    """The end of an episode by the flags of its last step."""
    cut = EpisodeEnd.TRUNCATED if is_cut else EpisodeEnd.INTERRUPTED
    return EpisodeEnd.TERMINATED if is_terminal else cut


def _seed(value: Any) -> int:
    try:
        seed = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"expected an integer as the seed of an episode, got {value!r}") from error
    if isinstance(value, float) and seed != value:
        raise FormatError(f"expected an integer as the seed of an episode, got {value!r}")
    return seed


def _metadata(path: Path) -> dict[str, Any]:
    content = read_json(path)
    stored = content.get("data_format", "hdf5")
    if stored not in [*STORAGES]:  # which may be no text
        raise FormatError(f"{path}: expected a dataset that is stored as {', '.join(STORAGES)}, got {stored!r}")
    if not all(isinstance(content.get(name), str) for name in ("observation_space", "action_space")):
        raise FormatError(f"{path}: expected observation_space and action_space; write the dataset again with Minari")
    extra = content.get(EXTRA) or {}
    if not isinstance(extra, dict) or not all(isinstance(each or {}, dict) for each in extra.values()):
        raise FormatError(f"{path}: expected objects in {EXTRA}, got {extra!r}")
    return content


def _environment(content: Mapping[str, Any]) -> dict[str, Any]:
    text = content.get("env_spec")
    if not isinstance(text, str):
        return {}
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        return {"interface": "gymnasium", "spec": text}
    return {"interface": "gymnasium", "id": spec.get("id", ""), "spec": spec}


def _has_images(space: Space) -> bool:
    if isinstance(space, spaces.Dict):
        return any(map(_has_images, space.spaces.values()))
    return any(map(_has_images, space.spaces)) if isinstance(space, spaces.Tuple) else is_image(space)


def _fits(column: Any, space: Space) -> bool:
    if isinstance(space, spaces.Dict):
        return all(_fits(column[key], each) for key, each in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return all(map(_fits, column, space.spaces))
    if isinstance(space, spaces.Text):
        return True
    return bool(column.dtype == space.dtype and column.shape[1:] == space.shape)


def _of_length(infos: Any, length: int) -> Any:
    """The nested columns with this number of values; None if there are none."""
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
