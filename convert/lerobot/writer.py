"""Writes LeRobot datasets of version 3, images lossless as PNG, without LeRobot.

A frame is a step with an action. Values that LeRobot cannot store are in files that it does not read: see
`rlds_kit.convert.lerobot.extra`. The features are those of the first episode, because all files have the same columns.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.field_statistics import FieldStatistics
from rlds_kit.base.frame_rate import DEFAULT, known_rate
from rlds_kit.base.origin import SOURCE
from rlds_kit.base.step import ACTED_FIELDS, ACTION, OBSERVATION, EpisodeEnd
from rlds_kit.convert import parquet
from rlds_kit.convert.lerobot import names
from rlds_kit.convert.lerobot.columns import arrow_array, arrow_type, hugging_face_type
from rlds_kit.convert.lerobot.extra import COLUMN, Extra, FieldNote, episode_note, write_extra
from rlds_kit.convert.lerobot.files import CHUNK_FILES, FILE_MEGABYTES, RolledFiles
from rlds_kit.convert.lerobot.info import DTYPES, IMAGE, INFO, MOST_DIMENSIONS, TEXT, Feature
from rlds_kit.convert.lerobot.names import Place
from rlds_kit.convert.lerobot.reader import EPISODES, LEROBOT, TASKS
from rlds_kit.convert.lerobot.statistics import described, statistics_of
from rlds_kit.convert.protocol import ForeignEpisode, Loss, Reader, Row, Target
from rlds_kit.convert.rows import Rows
from rlds_kit.convert.spec_without import spec_without

DATA_PATH: Final = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH: Final = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH: Final = EPISODES + "/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
STATS: Final = "meta/stats.json"
VERSION: Final = "v3.0"
_SMALLEST_IMAGE: Final = 8
_FRAMES: Final = ("episode_index", "length", "dataset_from_index", "dataset_to_index")
_FILE: Final = ("data/chunk_index", "data/file_index")
_NO_TASK: Final = ""
_OTHERS: Final = "other episodes than the first have it, and every frame needs the same features"


@dataclass(frozen=True)
class _Column:
    """A feature and its origin."""

    feature: Feature
    note: FieldNote


class LeRobotWriter:
    """Writes a dataset. A `Writer`."""

    def __init__(self, target: Target, source: Reader) -> None:
        self._path, self._source, self._origin = target.path, source, target.origin
        (self._path / "meta").mkdir(parents=True)
        about = source.metadata.get(LEROBOT)
        self._about: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
        self._fps = known_rate(source.metadata, source.environment) or DEFAULT
        self._columns: dict[Place, _Column] | None = None
        self._implied: list[Feature] = []
        self._data: RolledFiles | None = None
        self._table: RolledFiles | None = None
        self._tasks: dict[str, int] = {}
        self._lost = set[str]()
        self._totals: dict[str, tuple[FieldStatistics, int]] = {}
        self._episodes = self._frames = 0

    def fit(self, episode: ForeignEpisode) -> tuple[ForeignEpisode | None, list[Loss]]:
        """The episode without the values that LeRobot cannot store."""
        observed, acted = list(episode.observed), list(episode.acted)
        if not acted:
            return None, [Loss("episode", "has no action, and a frame of LeRobot needs one", len(observed))]
        for name, rows in ((OBSERVATION, observed), (ACTION, acted)):
            if 0 < sum(name in row for row in rows) < len(rows):
                return None, [Loss("episode", f"has steps without {name} in the middle", len(observed))]
        losses: list[Loss] = []
        count = len(acted)
        leaves = _leaves(observed[:count], count, losses) | _leaves(acted, count, losses)
        if self._columns is None:
            self._columns, self._implied = self._features(leaves)
        missing = [each.feature.name for place, each in self._columns.items() if place not in leaves]
        unlike = [
            each.feature.name
            for place, each in self._columns.items()
            if place in leaves and _kind(leaves[place]) != (each.note.dtype, each.note.shape)
        ]
        if missing or unlike:
            named = ", ".join((*missing, *unlike))
            reason = f"lacks features of the first, or has others: {named}"
            return None, [*losses, Loss("episode", reason, len(observed))]
        losses += [Loss(str(place), _OTHERS, count) for place in leaves if place not in self._columns]
        fitted = self._fitted(episode, {place: leaves[place] for place in self._columns}, observed[count:], losses)
        self._lost |= {each.field for each in losses}
        return fitted, losses

    def _fitted(
        self, episode: ForeignEpisode, leaves: Mapping[Place, Any], final: Sequence[Row], losses: list[Loss]
    ) -> ForeignEpisode:
        count = len(episode.acted)
        if final:
            leaves = _with_final(leaves, final[0], losses)
        observed = names.nested({place: each for place, each in leaves.items() if place.field not in ACTED_FIELDS})
        acted = names.nested({place: each for place, each in leaves.items() if place.field in ACTED_FIELDS})
        return replace(episode, observed=Rows(observed, count + len(final)), acted=Rows(acted, count))

    def _features(self, leaves: Mapping[Place, Any]) -> tuple[dict[Place, _Column], list[Feature]]:
        """The features of the dataset: those of the first episode, and those of every LeRobot dataset."""
        found: dict[Place, _Column] = {}
        taken: set[str] = set(names.OWN)
        texts = {place for place, values in leaves.items() if _kind(values)[0] == ""}
        task = next((place for place in names.TASK_PLACES if place in texts), None)
        for place, values in leaves.items():
            dtype, shape = _kind(values)
            is_timestamp = place == Place(names.TIMESTAMP) and (dtype, shape) == (np.dtype(np.float32).str, ())
            if place == task:
                name = names.TASK_INDEX
            else:
                name = names.TIMESTAMP if is_timestamp else names.name_of(place, taken)
            taken.add(name)
            found[place] = _Column(_feature(name, dtype, shape), FieldNote(place, dtype, shape))
        own = {each.feature.name for each in found.values()}
        kinds = {names.TIMESTAMP: "float32"}
        implied = [Feature(name, kinds.get(name, "int64"), (1,)) for name in names.OWN if name not in own]
        flags = [name for name in (names.DONE, names.TRUNCATED) if name not in own]
        return found, [*implied, *(Feature(name, "bool", (1,)) for name in flags)]

    def write(self, episode: ForeignEpisode) -> None:
        """Writes an episode that `fit` made."""
        if not isinstance(episode.observed, Rows) or not isinstance(episode.acted, Rows) or self._columns is None:
            raise TypeError("expected an episode as `fit` returns it")
        count = len(episode.acted)
        flat = {**_flat(episode.observed.columns), **_flat(episode.acted.columns)}
        places = _flat(names.nested({place: place for place in self._columns}))  # numbers in tuples may change
        values = {self._columns[place].feature.name: flat[path] for path, place in places.items()}
        tasks = values.pop(names.TASK_INDEX, [_NO_TASK] * count)[:count]
        values = {name: each[:count] for name, each in values.items()}
        values = self._numbers(episode, count, tasks) | values
        features = self._all_features()
        columns = [arrow_array(values[each.name], each) for each in features]
        if self._data is None:
            self._data = RolledFiles(self._path, DATA_PATH, _schema(features), [names.TASK_INDEX, names.EPISODE_INDEX])
        place = self._data.write(parquet.library().table(columns, _schema(features)))
        final = episode.observed[count] if len(episode.observed) > count else None
        self._note(episode_note(episode, final), values, list(dict.fromkeys(tasks)), count, place)
        self._episodes += 1
        self._frames += count

    def _numbers(self, episode: ForeignEpisode, count: int, tasks: Sequence[str]) -> dict[str, np.ndarray]:
        """The features that LeRobot computes itself, and the flags that represent the end of the episode."""
        frames = np.arange(count)
        is_over = episode.end in (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)
        return {
            names.TIMESTAMP: (frames / self._fps).astype(np.float32),
            names.FRAME_INDEX: frames,
            names.EPISODE_INDEX: np.full(count, self._episodes),
            names.INDEX: self._frames + frames,
            names.TASK_INDEX: np.array([self._tasks.setdefault(task, len(self._tasks)) for task in tasks]),
            names.DONE: (frames == count - 1) & is_over,
            names.TRUNCATED: (frames == count - 1) & (episode.end is EpisodeEnd.TRUNCATED),
        }

    def _all_features(self) -> list[Feature]:
        """All columns, LeRobot's own last."""
        found = [each.feature for each in (self._columns or {}).values()] + self._implied
        own = [*names.OWN]
        return sorted(found, key=lambda each: own.index(each.name) if each.name in own else -1)

    def _note(
        self, note: bytes, values: Mapping[str, Any], tasks: list[str], count: int, place: tuple[int, int]
    ) -> None:
        """The row of an episode in the table of episodes."""
        numbers = (self._episodes, count, self._frames, self._frames + count, *place)
        row: dict[str, Any] = {**dict(zip((*_FRAMES, *_FILE), numbers, strict=True)), "tasks": tasks}
        for each in self._all_features():
            found = statistics_of(values[each.name], each)
            if found is not None:
                total = self._totals.get(each.name)
                merged = found if total is None else total[0].merge(found)
                self._totals[each.name] = (merged, count + (0 if total is None else total[1]))
                row |= {f"stats/{each.name}/{key}": one for key, one in described(found, each, count).items()}
        pa = parquet.library()
        if self._table is None:
            self._table = RolledFiles(self._path, EPISODES_PATH, _episodes_schema(row), [])
        here = {"meta/episodes/chunk_index": self._table.chunk, "meta/episodes/file_index": self._table.file}
        self._table.write(pa.Table.from_pylist([row | here | {COLUMN: note}], schema=_episodes_schema(row)))

    def close(self) -> None:
        """Finishes the files, and writes the metadata of the dataset."""
        if self._data is None:
            self._begin_empty()
        for each in (self._data, self._table):
            if each is not None:
                each.close()
        columns = (self._columns or {}).values()
        extra = Extra(
            {each.feature.name: each.note for each in columns},
            tuple(each.name for each in self._implied),
            self._fitted_spec(),
            self._source.about,
            {**self._source.metadata, SOURCE: dict(self._origin)},
            self._source.environment,
        )
        write_extra(self._path, extra)
        self._write_tasks()
        features = {each.name: each for each in self._all_features()}
        totals = {name: described(found, features[name], count) for name, (found, count) in self._totals.items()}
        (self._path / STATS).write_text(json.dumps(totals, indent=4), "utf-8")
        (self._path / INFO).write_text(json.dumps(self._info(), indent=4, ensure_ascii=False), "utf-8")

    def _begin_empty(self) -> None:
        """The files of a dataset without episodes: columns, and no rows."""
        self._columns, self._implied = self._features({})
        self._data = RolledFiles(self._path, DATA_PATH, _schema(self._all_features()), [])
        row = dict.fromkeys((*_FRAMES, *_FILE, "tasks"))
        self._table = RolledFiles(self._path, EPISODES_PATH, _episodes_schema(row), [])

    def _fitted_spec(self) -> specs.Dict:
        """The spec of the source, without fields that have no stored value."""
        fitted = {str(place) for place in self._columns or ()}
        return spec_without(self._source.spec, self._lost - fitted)

    def _info(self) -> dict[str, Any]:
        robot, known = self._about.get("robot_type"), self._about.get("features")
        known = known if isinstance(known, Mapping) else {}
        fps = int(self._fps) if float(self._fps).is_integer() else self._fps
        return {
            "codebase_version": VERSION,
            "robot_type": robot if isinstance(robot, str) else None,
            "total_episodes": self._episodes,
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNK_FILES,
            "data_files_size_in_mb": FILE_MEGABYTES,
            "video_files_size_in_mb": 200,
            "fps": fps,
            "splits": {"train": f"0:{self._episodes}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH,
            "features": {each.name: _described(each, known.get(each.name)) for each in self._all_features()},
        }

    def _write_tasks(self) -> None:
        """The table of tasks; their texts are its index in pandas."""
        pa = parquet.library()
        index = "__index_level_0__"
        described_index = {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object"}
        number = {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64"}
        about = {
            "index_columns": [index],
            "column_indexes": [],
            "columns": [{**number, "metadata": None}, {**described_index, "metadata": None}],
        }
        columns = {"task_index": pa.array(self._tasks.values(), pa.int64()), index: pa.array(self._tasks, pa.string())}
        table = pa.table(columns).replace_schema_metadata({"pandas": json.dumps(about)})
        pa.parquet.write_table(table, self._path / TASKS)


def _leaves(rows: Sequence[Row], count: int, losses: list[Loss]) -> dict[Place, Any]:
    """The columns of rows, each an array or a list of text; and the values that cannot be in columns."""
    found: dict[Place, list[Any]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            for keys, leaf in _flat_value(value):
                found[Place(name, keys)].append(leaf)
    columns = {}
    for place, values in found.items():
        column = _stacked(values)
        if isinstance(column, str):
            why = column
        else:
            why = "not every step has it" if len(values) < count else _unfit(place, column, found)
            columns[place] = column
        if why:
            losses.append(Loss(str(place), why, len(values)))
            columns.pop(place, None)
    return columns


def _stacked(values: Sequence[Any]) -> np.ndarray | list[str] | str:
    """The values as one array of their dtype or as a list of text, or why that is impossible."""
    if all(isinstance(each, str) for each in values):
        is_text = not any("\ud800" <= character <= "\udfff" for each in values for character in each)
        return list(values) if is_text else "text with lone surrogates"
    for each in values:
        if not isinstance(each, bool | int | float | complex | np.ndarray | np.generic):
            return f"a value is {'None' if each is None else type(each).__name__}"
        if type(each) is int and not -(2**63) <= each < 2**63:
            return "a number is larger than 64 bits"
    arrays = [np.asarray(each) for each in values]
    for what in ("dtype", "shape"):
        if len({getattr(each, what) for each in arrays}) > 1:
            return f"values differ in {what}"
    return np.stack(arrays).astype(arrays[0].dtype, copy=False)  # stacking converts to native byte order


def _flat_value(value: Any, keys: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat_value(each, (*keys, key))
    elif isinstance(value, tuple):
        for number, each in enumerate(value):
            yield from _flat_value(each, (*keys, number))
    else:
        yield keys, value


def _unfit(place: Place, column: Any, others: Mapping[Place, Any]) -> str:
    if any(isinstance(key, str) != (type(key) is str) or (isinstance(key, str) and not key) for key in place.keys):
        return "a name that is empty or no text"
    if any(other != place and other.path[: len(place.path)] == place.path for other in others):
        return "it is a value on some steps and a nest on others"
    if isinstance(column, list):
        return ""
    if column.dtype.newbyteorder("=").name not in DTYPES:
        return f"LeRobot has no {column.dtype.name}"
    if column.dtype.kind == "u" and np.any(column > np.iinfo(np.int64).max):
        return "LeRobot fails at numbers of 2**63 and more"
    if column.ndim - 1 > MOST_DIMENSIONS or not column[0].size:
        return f"LeRobot has no values of the shape {column.shape[1:]}"
    return ""


def _kind(column: Any) -> tuple[str, tuple[int, ...]]:
    return ("", ()) if isinstance(column, list) else (column.dtype.str, column.shape[1:])


def _feature(name: str, dtype: str, shape: tuple[int, ...]) -> Feature:
    if name == names.TASK_INDEX:
        return Feature(name, "int64", (1,))
    if dtype == "":
        return Feature(name, TEXT, (1,))
    plain = np.dtype(dtype).newbyteorder("=").name
    is_large = len(shape) in (2, 3) and min(shape[:2]) >= _SMALLEST_IMAGE
    if plain == "uint8" and is_large and (len(shape) == 2 or shape[2] in (1, 3, 4)):
        return Feature(name, IMAGE, shape if len(shape) == 3 else (*shape, 1))
    return Feature(name, plain, shape or (1,))


def _described(feature: Feature, known: Any) -> dict[str, Any]:
    """A feature for `meta/info.json`, with the names of its elements if the source has them."""
    shape = list(feature.shape)
    if feature.dtype == IMAGE:
        return {"dtype": IMAGE, "shape": shape, "names": ["height", "width", "channels"]}
    is_alike = isinstance(known, Mapping) and known.get("shape") == shape and _is_json(known.get("names"))
    return {"dtype": feature.dtype, "shape": shape, "names": known.get("names") if is_alike else None}


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_json(each) for name, each in value.items())
    return all(map(_is_json, value)) if isinstance(value, list) else isinstance(value, str | int | float | None)


def _with_final(leaves: Mapping[Place, Any], final: Row, losses: list[Loss]) -> dict[Place, Any]:
    """The columns with the values of the final observation appended."""
    last = {(name, *keys): leaf for name, value in final.items() for keys, leaf in _flat_value(value)}
    fields = {place.field for place in leaves if place.path not in last}
    extended = dict(leaves)
    for place, column in leaves.items():
        if place.path not in last:
            continue
        end = _stacked([last.pop(place.path)])
        if place.field in fields or isinstance(end, str) or _kind(end) != _kind(column):
            losses.append(Loss(str(place), "the final observation differs in kind from those before"))
        else:
            extended[place] = [*column, *end] if isinstance(column, list) else _joined(column, end)
    reasons = {each.field: each.reason for each in losses}
    left = ["/".join(map(str, path)) for path in last]
    losses += [Loss(name, reasons.get(name, "only the final observation has it")) for name in left]
    return extended


def _flat(columns: Mapping[str, Any]) -> dict[tuple[str | int, ...], Any]:
    return {(name, *keys): leaf for name, value in columns.items() for keys, leaf in _flat_value(value)}


def _joined(column: np.ndarray, end: Any) -> np.ndarray:
    """Concatenates both, in the byte order of the column."""
    return np.concatenate([column, end]).astype(column.dtype, copy=False)


def _schema(features: Sequence[Feature]) -> Any:
    pa = parquet.library()
    about = {"info": {"features": {each.name: hugging_face_type(each) for each in features}}}
    fields = [pa.field(each.name, arrow_type(each)) for each in features]
    return pa.schema(fields, metadata={"huggingface": json.dumps(about)})


def _episodes_schema(row: Mapping[str, Any]) -> Any:
    pa = parquet.library()
    own = [pa.field(f"meta/episodes/{name}_index", pa.int64()) for name in ("chunk", "file")]
    kinds = [pa.field(name, _kind_of(pa, name, value)) for name, value in row.items()]
    return pa.schema([*kinds, *own, pa.field(COLUMN, pa.binary())])


def _kind_of(pa: Any, name: str, value: Any) -> Any:
    if not name.startswith("stats/"):
        return pa.list_(pa.string()) if name == "tasks" else pa.int64()
    if name.endswith("/count"):
        return pa.list_(pa.int64())
    kind = pa.float64()
    while isinstance(value, list):
        kind, value = pa.list_(kind), value[0]
    return kind
