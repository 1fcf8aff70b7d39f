"""Writes datasets of Minari as HDF5, images lossless, without Minari."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.convert import hdf5
from rlds_kit.convert.minari_columns import attributes, column, leaves, unflattened
from rlds_kit.convert.minari_reader import (
    DATA,
    DERIVED,
    EXTRA,
    FLAG_FIELDS,
    MAIN_FILE,
    METADATA_FILE,
    OWN_ATTRIBUTES,
    STEP_INFO,
)
from rlds_kit.convert.minari_spaces import Space, to_json
from rlds_kit.convert.protocol import SOURCE, ConversionError, ForeignEpisode, Loss, Reader, Row, Target
from rlds_kit.convert.rows import Rows
from rlds_kit.errors import SpecError
from rlds_kit.spec.from_gymnasium import to_gymnasium
from rlds_kit.step import ACTED_FIELDS, ACTION, DISCOUNT, INFO, OBSERVATION, REWARD, EpisodeEnd

MINARI_VERSION: Final = "0.5.4"
"""Whose files these are alike."""
NO_FINAL: Final = "there is no observation after it, which every episode of Minari ends with"
_NUMBER: Final = spaces.Box(-np.inf, np.inf, (), np.float64)
_COMPRESS: Final = 4096
"""Bytes from which on compressing is worth the chunks."""


class MinariWriter:
    """Writes a dataset. A `Writer`."""

    def __init__(self, target: Target, source: Reader) -> None:
        self._spaces = [_space(source, field) for field in (OBSERVATION, ACTION)]
        self._metadata = _description(target, source)
        names = ("observation_space", "action_space")
        self._metadata |= {name: to_json(space) for name, space in zip(names, self._spaces, strict=True)}
        self._directory = target.path / DATA
        self._directory.mkdir(parents=True)
        self._file = hdf5.library().File(self._directory / MAIN_FILE, "w", track_order=True)
        self._episodes = self._steps = 0

    def fit(self, episode: ForeignEpisode) -> tuple[ForeignEpisode | None, list[Loss]]:
        """The episode with as much of it as Minari can hold."""
        if any(ACTION not in row for row in episode.acted) or any(OBSERVATION not in row for row in episode.observed):
            return None, [
                Loss("episode", "has steps without observation or action in the middle", len(episode.observed))
            ]
        losses: list[Loss] = []
        if episode.acted and len(episode.acted) == len(episode.observed):
            losses += [Loss(name, NO_FINAL) for name in sorted(episode.acted[-1])] + [Loss("end", NO_FINAL)]
            episode = replace(
                episode, acted=episode.acted[:-1], end=EpisodeEnd.INTERRUPTED, terminated=False, truncated=False
            )
        if not episode.acted:
            return None, [*losses, Loss("episode", "has no action", len(episode.observed))]
        held = ForeignEpisode(
            self._observed(list(episode.observed), losses),
            self._acted(episode, losses),
            episode.end,
            terminated=episode.terminated,
            truncated=episode.truncated,
            seed=_seed(episode.seed, losses),
            options=_options(episode.options, losses),
            metadata=_episode_metadata(episode.metadata, losses),
        )
        losses += [
            Loss(f"provenance/{name}", "Minari holds one environment for a dataset") for name in episode.provenance
        ]
        rewards = held.acted.columns[REWARD] if isinstance(held.acted, Rows) else ()
        return replace(held, metadata={**_statistics(rewards), **held.metadata}), losses

    def _observed(self, rows: Sequence[Row], losses: list[Loss]) -> Rows:
        _lose_fields(rows, {OBSERVATION, INFO}, losses)
        columns = {OBSERVATION: column([row[OBSERVATION] for row in rows], self._spaces[0], OBSERVATION)}
        return Rows(columns | _infos(rows, INFO, losses), len(rows))

    def _acted(self, episode: ForeignEpisode, losses: list[Loss]) -> Rows:
        rows = list(episode.acted)
        _lose_fields(rows, {*ACTED_FIELDS, STEP_INFO, *FLAG_FIELDS.values()}, losses)
        if any(REWARD not in row for row in rows):
            raise ConversionError("reward: Minari needs one for every action, and there are steps without")
        flags = _flags(rows, episode.terminated, episode.truncated)
        columns = {
            ACTION: column([row[ACTION] for row in rows], self._spaces[1], ACTION),
            REWARD: column([row[REWARD] for row in rows], _NUMBER, REWARD),
            DISCOUNT: np.where(flags["terminations"], 0.0, 1.0),
        }
        others = sum(
            DISCOUNT in row and not (np.ndim(row[DISCOUNT]) == 0 and row[DISCOUNT] == expected)
            for row, expected in zip(rows, columns[DISCOUNT], strict=True)
        )
        if others:
            losses.append(Loss(DISCOUNT, "Minari has none: 0 on a terminal step and 1 elsewhere are implied", others))
        columns |= {name: flags[key] for key, name in FLAG_FIELDS.items() if flags[key][:-1].any()}
        return Rows(columns | _infos(rows, STEP_INFO, losses), len(rows))

    def write(self, episode: ForeignEpisode) -> None:
        """Writes an episode that `fit` made."""
        if not isinstance(episode.observed, Rows) or not isinstance(episode.acted, Rows):
            raise TypeError("expected an episode as `fit` returns it")
        observed, acted = episode.observed.columns, episode.acted.columns
        group = self._file.create_group(f"episode_{self._episodes}", track_order=True)
        flags = _flags(episode.acted, episode.terminated, episode.truncated)
        named = {"observations": observed[OBSERVATION], "actions": acted[ACTION], "rewards": acted[REWARD], **flags}
        infos = {**observed.get(INFO, {}), **acted.get(STEP_INFO, {})}
        for name, columns in (named | ({"infos": infos} if infos else {})).items():
            _store(group, name, columns)
        count = len(episode.acted)
        group.attrs.update({"id": self._episodes, "total_steps": count, **attributes(episode.metadata, "")[0]})
        if episode.seed is not None:
            group.attrs["seed"] = episode.seed
        group.attrs.update(attributes({"options": episode.options}, "")[0] if episode.options else {})
        self._episodes += 1
        self._steps += count

    def close(self) -> None:
        """Finishes the file, and writes the metadata."""
        self._file.close()
        size = (self._directory / MAIN_FILE).stat().st_size
        counts = {"total_episodes": self._episodes, "total_steps": self._steps, "dataset_size": round(size / 1e6, 1)}
        (self._directory / METADATA_FILE).write_text(json.dumps(self._metadata | counts, indent=2), "utf-8")


def _space(source: Reader, field: str) -> Space:
    if field not in source.spec.fields:
        raise ConversionError(f"{field}: Minari needs its space, but the source declares no {field}")
    try:
        space = to_gymnasium(source.spec.fields[field], field)
        to_json(space)
    except SpecError as error:
        raise ConversionError(f"Minari cannot hold this dataset: {error}") from error
    return space


def _description(target: Target, source: Reader) -> dict[str, Any]:
    """The content of metadata.json, but for what is counted."""
    metadata = dict(source.metadata)
    own = metadata.pop("minari", None)
    own = {key: value for key, value in own.items() if key not in DERIVED} if isinstance(own, dict) else {}
    environment = dict(source.environment)
    spec = environment.get("spec")
    extra = {
        "about": _said(source.about, "about", target.losses),
        "metadata": _said(metadata | {SOURCE: dict(target.origin)}, "dataset metadata", target.losses),
        "environment": _said(environment, "environment", target.losses),
    }
    texts = {"description": source.about.get("description")} if source.about.get("description") else {}
    known = str(own.get("dataset_id", ""))
    own |= {
        "dataset_id": known if known.rpartition("/")[2] == target.name else _dataset_id(target.name),
        "data_format": "hdf5",
        "jpeg_encoding": False,
        "minari_version": MINARI_VERSION,
        **texts,
        EXTRA: extra,
    }
    return own | ({"env_spec": spec if isinstance(spec, str) else json.dumps(spec)} if spec else {})


def _dataset_id(name: str) -> str:
    """A name that Minari takes: letters, digits, "-" and "_", with a version at its end."""
    plain = re.sub(r"[^-\w]", "-", name)
    return plain if re.search(r".-v\d+$", plain) else f"{plain}-v0"


def _said(content: Mapping[str, Any], place: str, losses: list[Loss]) -> dict[str, Any]:
    """What JSON can say exactly."""
    kept = {}
    for key, value in content.items():
        if _is_json(value):
            kept[key] = value
        else:
            losses.append(Loss(f"{place}/{key}", "JSON cannot say it exactly"))
    return kept


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and np.isfinite(value))


def _lose_fields(rows: Iterable[Row], held: set[str], losses: list[Loss]) -> None:
    for row in rows:
        losses += [Loss(name, "Minari has no such field of steps") for name in row.keys() - held]


def _infos(rows: Sequence[Row], name: str, losses: list[Loss]) -> dict[str, Any]:
    columns, lost = leaves([row.get(name) for row in rows], name)
    losses += lost
    return {name: columns} if columns else {}


def _flags(rows: Sequence[Row], terminated: bool, truncated: bool) -> dict[str, np.ndarray]:
    """Minari's flags: those that were recorded, or false up to the last step."""
    found = {}
    for (key, name), last in zip(FLAG_FIELDS.items(), (terminated, truncated), strict=True):
        found[key] = np.array([bool(row.get(name, False)) for row in rows], np.bool_)
        found[key][-1] = last
    return found


def _seed(seed: Any, losses: list[Loss]) -> int | None:
    if seed is None:
        return None
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and -(2**63) <= seed < 2**64:
        return int(seed)
    losses.append(Loss("seed", "is no integer of 64 bits"))
    return None


def _options(options: Any, losses: list[Loss]) -> dict[str, Any] | None:
    if options is None:
        return None
    if not isinstance(options, dict) or not options:
        losses.append(Loss("options", "are no dict, or an empty one"))
        return None
    return _kept(options, "options", losses) or None


def _episode_metadata(metadata: Mapping[str, Any], losses: list[Loss]) -> dict[str, Any]:
    taken = [name for name in metadata if name in OWN_ATTRIBUTES]
    losses += [Loss(f"metadata/{name}", "Minari has an attribute of its own of that name") for name in taken]
    return _kept({name: value for name, value in metadata.items() if name not in taken}, "metadata", losses)


def _kept(content: Mapping[str, Any], place: str, losses: list[Loss]) -> dict[str, Any]:
    """What can be an attribute, in its nest."""
    flat, lost = attributes(content, place)
    losses += lost
    return unflattened(flat)


def _statistics(rewards: Any) -> dict[str, float]:
    """What Minari's collector says of the rewards of an episode."""
    values = np.asarray(rewards)
    return {f"rewards_{name}": float(getattr(values, name)()) for name in ("sum", "mean", "std", "max", "min")}


def _store(group: Any, name: str, columns: Any) -> None:
    if isinstance(columns, tuple):
        columns = {f"_index_{index}": each for index, each in enumerate(columns)}
    if isinstance(columns, dict):
        inner = group.create_group(name, track_order=True)
        for key, each in columns.items():
            _store(inner, key, each)
    elif isinstance(columns, list):
        group.create_dataset(name, data=columns, dtype=hdf5.library().string_dtype("utf-8"))
    else:
        large = columns.nbytes >= _COMPRESS
        group.create_dataset(name, data=columns, **({"compression": "gzip", "shuffle": True} if large else {}))
