"""Writes datasets of Minari, images lossless, without Minari."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.base.errors import SpecError
from rlds_kit.base.origin import SOURCE
from rlds_kit.base.reset_chain import RESET_CHAIN
from rlds_kit.base.step import ACTED_FIELDS, ACTION, DISCOUNT, INFO, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.convert.final_observation import with_final_observation
from rlds_kit.convert.minari.columns import column, in_json, leaves
from rlds_kit.convert.minari.reader import DERIVED, EXTRA, FLAG_FIELDS, OWN_ATTRIBUTES, STEP_INFO, end_of
from rlds_kit.convert.minari.spaces import Space, to_json
from rlds_kit.convert.minari.storage import DATA, METADATA_FILE, StorageWriter, StoredEpisode
from rlds_kit.convert.protocol import ConversionError, ForeignEpisode, Loss, Reader, Row, Target
from rlds_kit.convert.rows import Rows
from rlds_kit.spec.from_gymnasium import to_gymnasium

MINARI_VERSION: Final = "0.5.4"
"""The version of Minari that writes files of this form."""
_NUMBER: Final = spaces.Box(-np.inf, np.inf, (), np.float64)


class MinariWriter:
    """Writes a dataset. A `Writer`.

    Args:
      storage: creates the storage in a directory, from the spaces of observation and action.
      target: description of the new dataset.
      source: of the conversion.
    """

    def __init__(self, storage: Callable[[Path, Space, Space], StorageWriter], target: Target, source: Reader) -> None:
        self._spaces = [_space(source, field) for field in (OBSERVATION, ACTION)]
        self._directory = target.path / DATA
        self._directory.mkdir(parents=True)
        self._storage = storage(self._directory, *self._spaces)
        self._metadata = _description(target, source, self._storage.data_format)
        names = ("observation_space", "action_space")
        self._metadata |= {name: to_json(space) for name, space in zip(names, self._spaces, strict=True)}
        self._summarises = "minari" not in source.metadata  # a dataset from Minari has its own metadata
        self._episodes = self._steps = 0

    def fit(self, episode: ForeignEpisode) -> tuple[ForeignEpisode | None, list[Loss]]:
        """The episode without the values that Minari cannot store."""
        whole, losses = with_final_observation(episode, "Minari")
        if whole is None:
            return None, losses
        if not whole.acted:
            return None, [*losses, Loss("episode", "has no action", len(whole.observed))]
        fitted = ForeignEpisode(
            self._observed(list(whole.observed), losses),
            self._acted(whole, losses),
            _end(whole, losses),
            terminated=whole.terminated,
            truncated=whole.truncated,
            seed=_seed(whole.seed, losses),
            options=self._options(whole.options, losses),
            metadata=self._episode_metadata(whole.metadata, losses),
        )
        losses += [Loss(f"provenance/{name}", _why_not_kept(name)) for name in whole.provenance]
        if self._summarises and isinstance(fitted.acted, Rows):
            fitted = replace(fitted, metadata={**_statistics(fitted.acted.columns[REWARD]), **fitted.metadata})
        return fitted, losses

    def _observed(self, rows: Sequence[Row], losses: list[Loss]) -> Rows:
        _lose_fields(rows, {OBSERVATION, INFO}, losses)
        columns = {OBSERVATION: self._column(rows, OBSERVATION, self._spaces[0])}
        return Rows(columns | self._infos(rows, INFO, losses), len(rows))

    def _acted(self, episode: ForeignEpisode, losses: list[Loss]) -> Rows:
        rows = list(episode.acted)
        _lose_fields(rows, {*ACTED_FIELDS, STEP_INFO, *FLAG_FIELDS.values()}, losses)
        if any(REWARD not in row for row in rows):
            raise ConversionError("reward: Minari needs one for every action, and there are steps without")
        flags = _flags(rows, episode.terminated, episode.truncated)
        columns = {
            ACTION: self._column(rows, ACTION, self._spaces[1]),
            REWARD: self._rewards(rows),
            DISCOUNT: np.where(flags["terminations"], 0.0, 1.0),
        }
        others = sum(
            DISCOUNT in row and not (np.ndim(row[DISCOUNT]) == 0 and row[DISCOUNT] == expected)
            for row, expected in zip(rows, columns[DISCOUNT], strict=True)
        )
        if others:
            losses.append(Loss(DISCOUNT, "Minari has none: 0 on a terminal step and 1 elsewhere are implied", others))
        columns |= {name: flags[key] for key, name in FLAG_FIELDS.items() if flags[key][:-1].any()}
        return Rows(columns | self._step_infos(rows, losses), len(rows))

    def _rewards(self, rows: Sequence[Row]) -> Any:
        rewards = self._column(rows, REWARD, _NUMBER)
        if not isinstance(rewards, np.ndarray) or rewards.ndim != 1:
            raise ConversionError(f"{REWARD}: Minari needs a number for every action, got {rows[0][REWARD]!r}")
        return rewards

    def _column(self, rows: Sequence[Row], name: str, space: Space) -> Any:
        made = column([row[name] for row in rows], space, name)
        for place, leaf in _leaves(made, name):
            why = self._storage.unfit(leaf)
            if why is not None:
                raise ConversionError(
                    f"{place}: Minari cannot store these values as {self._storage.data_format}: {why}"
                )
        return made

    def _infos(self, rows: Sequence[Row], name: str, losses: list[Loss]) -> dict[str, Any]:
        columns, lost = leaves([row.get(name, {}) for row in rows], name, self._storage.unfit)
        losses += lost
        return {name: columns} if columns else {}

    def _step_infos(self, rows: Sequence[Row], losses: list[Loss]) -> dict[str, Any]:
        if self._storage.has_step_infos:
            return self._infos(rows, STEP_INFO, losses)
        count = sum(STEP_INFO in row for row in rows)
        reason = f"as {self._storage.data_format}, Minari has infos of observations alone"
        losses += [Loss(STEP_INFO, reason, count)] if count else []
        return {}

    def _options(self, options: Any, losses: list[Loss]) -> dict[str, Any] | None:
        if options is None:
            return None
        if not isinstance(options, dict) or not options:
            losses.append(Loss("options", "are no dict, or an empty one"))
            return None
        exact, lost = self._storage.attributes(options, "options")
        losses += lost
        return exact or None

    def _episode_metadata(self, metadata: Mapping[str, Any], losses: list[Loss]) -> dict[str, Any]:
        taken = [name for name in metadata if name in OWN_ATTRIBUTES]
        losses += [Loss(f"metadata/{name}", "Minari has an attribute of its own of that name") for name in taken]
        free = {name: value for name, value in metadata.items() if name not in taken}
        exact, lost = self._storage.attributes(free, "metadata")
        losses += lost
        return exact

    def write(self, episode: ForeignEpisode) -> None:
        """Writes an episode that `fit` made."""
        if not isinstance(episode.observed, Rows) or not isinstance(episode.acted, Rows):
            raise TypeError("expected an episode as `fit` returns it")
        observed, acted = episode.observed.columns, episode.acted.columns
        count = len(episode.acted)
        attributes = {"id": self._episodes, "total_steps": count, **episode.metadata}
        attributes |= {} if episode.seed is None else {"seed": episode.seed}
        attributes |= {"options": episode.options} if episode.options else {}
        flags = _flags(episode.acted, episode.terminated, episode.truncated)
        stored = StoredEpisode(
            observed[OBSERVATION],
            acted[ACTION],
            acted[REWARD],
            flags["terminations"],
            flags["truncations"],
            infos={**observed.get(INFO, {}), **acted.get(STEP_INFO, {})},
            attributes=attributes,
        )
        self._storage.write(self._episodes, stored)
        self._episodes += 1
        self._steps += count

    def close(self) -> None:
        """Finishes the files, and writes the metadata."""
        self._storage.close()
        size = sum(path.stat().st_size for path in self._directory.rglob("*") if path.is_file())
        counts = {"total_episodes": self._episodes, "total_steps": self._steps, "dataset_size": round(size / 1e6, 1)}
        (self._directory / METADATA_FILE).write_text(json.dumps(self._metadata | counts, indent=2), "utf-8")


def _space(source: Reader, field: str) -> Space:
    if field not in source.spec.fields:
        raise ConversionError(f"{field}: Minari needs its space, but the source declares no {field}")
    try:
        space = to_gymnasium(source.spec.fields[field], field)
        to_json(space)
    except SpecError as error:
        raise ConversionError(f"Minari cannot store this dataset: {error}") from error
    return space


def _description(target: Target, source: Reader, data_format: str) -> dict[str, Any]:
    """The content of metadata.json, except counts."""
    metadata = dict(source.metadata)
    own = metadata.pop("minari", None)
    if own is not None and not isinstance(own, dict):
        target.losses.append(Loss("dataset metadata/minari", "is where this library puts Minari's own"))
    own = {key: value for key, value in own.items() if key not in DERIVED} if isinstance(own, dict) else {}
    environment = dict(source.environment)
    spec = environment.get("spec")
    extra = {
        "about": _in_json(source.about, "about", target.losses),
        "metadata": _in_json(metadata | {SOURCE: dict(target.origin)}, "dataset metadata", target.losses),
        "environment": _in_json(environment, "environment", target.losses),
    }
    texts = {"description": source.about.get("description")} if source.about.get("description") else {}
    known = str(own.get("dataset_id", ""))
    own |= {
        "dataset_id": known if known.rpartition("/")[2] == target.name else _dataset_id(target.name),
        "data_format": data_format,
        "jpeg_encoding": False,
        "minari_version": MINARI_VERSION,
        **texts,
        EXTRA: extra,
    }
    return own | ({"env_spec": spec if isinstance(spec, str) else json.dumps(spec)} if spec else {})


def _dataset_id(name: str) -> str:
    """A name that Minari accepts: letters, digits, "-" and "_", with a version at its end."""
    plain = re.sub(r"[^-\w]", "-", name)
    return plain if re.search(r".-v\d+$", plain) else f"{plain}-v0"


def _in_json(content: Mapping[str, Any], place: str, losses: list[Loss]) -> dict[str, Any]:
    exact, lost = in_json(content, place)
    losses += lost
    return exact


def _lose_fields(rows: Iterable[Row], fitted: set[str], losses: list[Loss]) -> None:
    for row in rows:
        losses += [Loss(name, "Minari has no such field of steps") for name in row.keys() - fitted]


def _leaves(columns: Any, place: str) -> Iterable[tuple[str, Any]]:
    if isinstance(columns, dict | tuple):
        for key, each in columns.items() if isinstance(columns, dict) else enumerate(columns):
            yield from _leaves(each, f"{place}/{key}")
    else:
        yield place, columns


def _flags(rows: Sequence[Row], terminated: bool, truncated: bool) -> dict[str, np.ndarray]:
    """Minari's flags: the recorded ones, or False for all but the last step."""
    found = {}
    for (key, name), last in zip(FLAG_FIELDS.items(), (terminated, truncated), strict=True):
        found[key] = np.array([bool(row.get(name, False)) for row in rows], np.bool_)
        found[key][-1] = last
    return found


def _why_not_kept(name: str) -> str:
    """The reason for the loss of an entry of an episode's provenance."""
    if name == RESET_CHAIN:
        return "Minari has no place for how an episode follows from the last seed, which `rlds-kit replay` needs"
    return "Minari holds one environment for a dataset"


def _end(episode: ForeignEpisode, losses: list[Loss]) -> EpisodeEnd:
    """The end of an episode by the flags of its last step, because Minari stores nothing else."""
    end = end_of(is_terminal=episode.terminated, is_cut=episode.truncated)
    if end is not episode.end:
        losses.append(Loss("end", f"{episode.end.value}, but the flags of the last step say {end.value}"))
    return end


def _seed(seed: Any, losses: list[Loss]) -> int | None:
    if seed is None:
        return None
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and -(2**63) <= seed < 2**64:
        return int(seed)
    losses.append(Loss("seed", "is no integer of 64 bits"))
    return None


def _statistics(rewards: Any) -> dict[str, float]:
    """The statistics of rewards, as Minari's collector stores them."""
    values = np.asarray(rewards)
    with np.errstate(all="ignore"):  # of infinities and NaN
        found = {name: float(getattr(values, name)()) for name in ("sum", "mean", "std", "max", "min")}
    return {f"rewards_{name}": math.nan if math.isnan(value) else value for name, value in found.items()}
