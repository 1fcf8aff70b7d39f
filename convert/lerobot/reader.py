"""Reads LeRobot datasets of version 3, https://huggingface.co/docs/lerobot/lerobot-dataset-v3, without LeRobot.

A frame is a step: its observation, its action, and the results of the action (`next.reward`, `next.done`). LeRobot does
not record the observation after the last action, so that is missing. An episode whose last frame has `next.truncated`
is truncated; one whose last frame has `next.done` is terminated, as in LeRobot's own replay buffer; for any other,
nothing states that the environment ended it.
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.origin import lossy_of
from rlds_kit.base.step import ACTED_FIELDS, ACTION, OBSERVATION, EpisodeEnd
from rlds_kit.convert import images, parquet
from rlds_kit.convert.decoded_size import bytes_of_step, require_plausible
from rlds_kit.convert.lerobot import extra as lerobot_extra
from rlds_kit.convert.lerobot import names, video_frames
from rlds_kit.convert.lerobot.columns import require_lengths, values_of
from rlds_kit.convert.lerobot.extra import COLUMN, Extra
from rlds_kit.convert.lerobot.info import DTYPES, IMAGE, TEXT, VIDEO, Feature, read_info
from rlds_kit.convert.lerobot.names import Place
from rlds_kit.convert.protocol import ForeignEpisode, Loss, PartReader
from rlds_kit.convert.rows import Rows

LEROBOT: Final = "lerobot"
"""The key of the dataset's metadata with the content of `meta/info.json`."""
EPISODES: Final = "meta/episodes"
TASKS: Final = "meta/tasks.parquet"
SUBTASKS: Final = "meta/subtasks.parquet"
_COUNTS: Final = ("total_episodes", "total_frames", "total_tasks", "splits")
_KNOWN: Final = re.compile(r"(data|videos|meta|stats)/.*")
_OWN_COLUMNS: Final = ("episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index", COLUMN)
_PLACE: Final = ("episode_index", "dataset_from_index", "length", "data/chunk_index", "data/file_index")
_PART_OF_A_FRAME: Final = 0.25
"""How far from its time a frame of a video may be shown: no other frame is as near."""
_MOST_TASKS: Final = 1 << 20


class LeRobotReader(PartReader):
    """Reads a dataset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._info = read_info(path)
        self._extra: Extra = lerobot_extra.read_extra(path)
        self._tasks = self._texts(TASKS)
        self._files = sorted((path / EPISODES).glob("*/*.parquet"))
        known = {name: each for name, each in self._info.features.items() if _is_known(each)}
        self._unknown = sorted(self._info.features.keys() - known.keys())
        self._features = {name: each for name, each in known.items() if name not in self._extra.implied}
        missing = [name for name in names.OWN if name not in known]
        if missing:
            raise FormatError(f"{path}: expected the features {', '.join(missing)}, which every dataset has")
        self._places = self._all_places()
        self.about: Mapping[str, str] = self._extra.about or {"name": path.absolute().name}
        self.spec = self._declared() if self._extra.spec is None else self._extra.spec
        self.metadata: Mapping[str, Any] = self._metadata() if self._extra.metadata is None else self._extra.metadata
        self.environment: Mapping[str, Any] = self._extra.environment
        self.size = sum(each.stat().st_size for part in ("data", "meta", "videos") for each in _files(path / part))
        self.decoded = 0
        self.losses: list[Loss] = []
        self._length = self._count()
        self.lossy: Mapping[str, str] = self._lossy()

    def __len__(self) -> int:
        return self._length

    def weigh(self, _progress: Callable[[int], None]) -> Sequence[int]:
        """Estimates the bytes of each episode from its frames, which `meta/episodes` lists."""
        lengths = [self._place_of(row, number)[2] for number, row in enumerate(self._rows(_PLACE))]
        self.decoded = sum(lengths) * bytes_of_step(self.spec)
        return [self.size * length // max(1, sum(lengths)) for length in lengths]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes."""
        self.losses.clear()
        if begin == 0:
            self.losses += [Loss(name, "a kind of feature that is not read") for name in self._unknown]
        columns = [name for name, each in self._info.features.items() if self._is_stored(each)]
        cursor: parquet.RowCursor | None = None
        for number, row in enumerate(itertools.islice(self._rows(begin=begin), end - begin), begin):
            path, start, length = self._place_of(row, number)
            at = start - self._first_frames[path]
            if cursor is None or cursor.path != self._path / path:
                cursor = self._cursor(path, columns, at)
            if at < cursor.position:
                raise FormatError(f"{path}: expected episodes one after the other, got episode {number} at row {start}")
            self._require_room(cursor, length)
            cursor.skip_to(at)
            yield self._episode(row, cursor.take(length), f"{path}, episode {number}")

    @functools.cached_property
    def _first_frames(self) -> dict[str, int]:
        """Maps each file to the number of its first frame in the dataset."""
        found: dict[str, int] = {}
        for number, row in enumerate(self._rows(_PLACE)):
            path, start, _ = self._place_of(row, number)
            found.setdefault(path, start)
        return found

    def _cursor(self, path: str, columns: list[str], begin: int = 0) -> parquet.RowCursor:
        """The frames of a file from a given one, or shortly before it; checks that lists have the declared lengths."""
        cursor = parquet.RowCursor(self._path / path, columns, begin)
        for name in columns:
            require_lengths(cursor.schema.field(name).type, self._info.features[name], f"{path}, {name}")
        return cursor

    def _require_room(self, cursor: parquet.RowCursor, length: int) -> None:
        """Raises an error for an episode that claims to be larger than its file can contain."""
        kinds = [each for each in self._info.features.values() if each.dtype in DTYPES]
        width = sum(math.prod(each.shape) * np.dtype(each.dtype).itemsize for each in kinds)
        require_plausible(length * width, cursor.path.stat().st_size, str(cursor.path))

    def _texts(self, file: str) -> dict[int, str]:
        """Texts of tasks, or of parts of them, by their numbers."""
        path = self._path / file
        if file == SUBTASKS and not path.is_file():
            return {}
        opened = parquet.opened(path)
        with parquet.reading(path):
            if opened.metadata.num_rows > _MOST_TASKS:
                raise FormatError(f"{path}: expected at most {_MOST_TASKS} tasks, got {opened.metadata.num_rows}")
            columns = opened.read(use_threads=False).to_pydict()
        numbers = next((each for name, each in columns.items() if name.endswith("task_index")), [None])
        texts = next((each for name, each in columns.items() if not name.endswith("task_index")), [None])
        if not all(isinstance(each, int) for each in numbers) or not all(isinstance(each, str) for each in texts):
            raise FormatError(f"{path}: expected a number and a text for each task, got the columns {list(columns)}")
        return dict(zip(numbers, texts, strict=True))

    def _all_places(self) -> dict[str, Place]:
        """Finds the places of the features in a step."""
        noted = {name: note.place for name, note in self._extra.fields.items() if name in self._features}
        places = {names.TASK_INDEX: Place(names.TASK)} | noted
        places |= names.places_of(name for name in self._features if name not in places)
        read = self._features.keys() - {*names.OWN[1:]} | {names.TASK_INDEX} & self._features.keys()
        found = [places[name].path for name in read]
        for one, other in itertools.pairwise(sorted(found, key=lambda path: tuple(map(str, path)))):
            if tuple(map(str, other[: len(one)])) == tuple(map(str, one)):
                raise FormatError(f"{self._path}: expected features that stand in different places, got {one} twice")
        return places

    def _is_stored(self, feature: Feature) -> bool:
        """Whether the feature is a column that is read."""
        return _is_known(feature) and feature.dtype != VIDEO

    def _declared(self) -> specs.Dict:
        leaves = {
            self._places[name]: _spec(name, each) for name, each in self._features.items() if name not in names.OWN[1:]
        }
        if names.TASK_INDEX in self._features:
            leaves[self._places[names.TASK_INDEX]] = specs.Text()
        return specs.Dict({field: _spec_of(nest) for field, nest in names.nested(leaves).items()})

    def _metadata(self) -> dict[str, Any]:
        about = {name: each for name, each in self._info.content.items() if name not in _COUNTS}
        subtasks = self._texts(SUBTASKS)
        return {LEROBOT: {**about, **({"subtasks": list(subtasks.values())} if subtasks else {})}}

    def _count(self) -> int:
        if not self._files:
            raise FormatError(f"{self._path}: expected Parquet files in {EPISODES}; finalize() was not called, perhaps")
        return sum(parquet.opened(path).metadata.num_rows for path in self._files)

    def _lossy(self) -> dict[str, str]:
        """Losses from the creation of the dataset, as far as its first episode shows them."""
        found = lossy_of(self.metadata)
        row = next(self._rows(), None)
        visual = [each for each in self._features.values() if each.dtype in (IMAGE, VIDEO)]
        if row is None or not visual:
            return found
        path, _, _ = self._place_of(row, 0)
        stored = [each.name for each in visual if each.dtype == IMAGE]
        table = self._cursor(path, stored).take(1) if stored else None
        for each in visual:
            if each.dtype == VIDEO:
                how = video_frames.coding(self._video(row, each.name))
            else:
                data = values_of(table.column(each.name), each, each.name).data[0] if table is not None else b""
                how = "jpeg" if images.is_jpeg(data) else None
            found |= {str(self._places[each.name]): how} if how else {}
        return found

    def _rows(self, wanted: Collection[str] | None = None, begin: int = 0) -> Iterator[dict[str, Any]]:
        """Reads rows of `meta/episodes` from an episode on, without statistics, or only some columns."""
        number = 0
        for path in self._files:
            opened = parquet.opened(path)
            if number + opened.metadata.num_rows <= begin:
                number += opened.metadata.num_rows
                continue
            with parquet.reading(path):
                stored = opened.schema_arrow.names
                columns = [name for name in stored if (name in wanted if wanted else not name.startswith("stats/"))]
                first, before = parquet.group_of(opened.metadata, max(0, begin - number))
                groups = list(range(first, opened.metadata.num_row_groups))
                number += before
                for batch in opened.iter_batches(64, groups, columns, use_threads=False):
                    yield from batch.slice(max(0, begin - number)).to_pylist()
                    number += batch.num_rows

    def _place_of(self, row: Mapping[str, Any], number: int) -> tuple[str, int, int]:
        """The file of an episode, the number of its first frame in the dataset, and how many there are."""
        found, begin, length, chunk, file = (_integer(row, key, number) for key in _PLACE)
        if found != number:
            raise FormatError(f"{self._path}: expected episode {number} in {EPISODES}, got {found}")
        if not length:
            raise FormatError(f"{self._path}: expected one frame or more in episode {number}, got none")
        path = self._info.path("data_path", chunk_index=chunk, file_index=file)
        return str(path), begin, length

    def _video(self, row: Mapping[str, Any], name: str) -> Path:
        number = int(row["episode_index"])
        chunk, file = (_integer(row, f"videos/{name}/{key}_index", number) for key in ("chunk", "file"))
        if "/" in name or name in ("..", "."):
            raise FormatError(f"{self._path}: expected names of features without slashes, got {name!r}")
        return self._path / self._info.path("video_path", video_key=name, chunk_index=chunk, file_index=file)

    def _episode(self, row: Mapping[str, Any], table: Any, place: str) -> ForeignEpisode:
        stored = {
            name: values_of(table.column(name), each, f"{place}, {name}")
            for name, each in self._info.features.items()
            if self._is_stored(each)
        }
        self._require_numbers(row, stored, place)
        for name, each in self._features.items():
            if each.dtype == VIDEO:
                stored[name] = self._frames(row, each, stored[names.TIMESTAMP])
        columns: dict[Place, Any] = {}
        for name, values in stored.items():
            is_field = name in self._features and name not in names.OWN[2:]
            if is_field and (name != names.FRAME_INDEX or not np.array_equal(values[:, 0], range(len(values)))):
                columns[self._places[name]] = self._restored(name, values, place)
        if names.TASK_INDEX in self._features:
            columns[self._places[names.TASK_INDEX]] = self._named_tasks(stored[names.TASK_INDEX][:, 0], place)
        return self._ended(row, names.nested(columns), len(table), place)

    def _ended(self, row: Mapping[str, Any], fields: dict[str, Any], count: int, place: str) -> ForeignEpisode:
        acted = Rows({name: each for name, each in fields.items() if name in ACTED_FIELDS}, count)
        observed = {name: each for name, each in fields.items() if name not in ACTED_FIELDS}
        data = row.get(COLUMN)
        if data is None:
            flags = (fields.get(name, [False])[-1] for name in (names.DONE, names.TRUNCATED))
            done, truncated = (bool(np.any(each)) for each in flags)
            end = EpisodeEnd.TERMINATED if done else EpisodeEnd.INTERRUPTED
            return ForeignEpisode(
                Rows(observed, count),
                acted,
                EpisodeEnd.TRUNCATED if truncated else end,
                terminated=done and not truncated,
                truncated=truncated,
                metadata=self._episode_metadata(row, observed),
            )
        if not isinstance(data, bytes):
            raise FormatError(f"{place}: expected bytes in the column {COLUMN}")
        note = lerobot_extra.read_episode_note(data, place)
        steps = count if note.final is None else count + 1
        return ForeignEpisode(
            Rows(observed if note.final is None else _with_final(observed, note.final, place), steps),
            acted,
            note.end,
            terminated=note.terminated,
            truncated=note.truncated,
            metadata=note.metadata,
            seed=note.seed,
            options=note.options,
            provenance=note.provenance,
        )

    def _require_numbers(self, row: Mapping[str, Any], stored: Mapping[str, Any], place: str) -> None:
        """Raises an error for frames of another episode, and for frames that contradict the table of episodes."""
        begin = row["dataset_from_index"]
        expected = {names.EPISODE_INDEX: row["episode_index"], names.INDEX: begin + np.arange(row["length"])}
        for name, each in expected.items():
            if np.any(stored[name][:, 0] != each):
                raise FormatError(f"{place}: expected frames whose {name} are those of the episode, got others")

    def _frames(self, row: Mapping[str, Any], feature: Feature, timestamps: np.ndarray) -> video_frames.VideoFrames:
        begin = row.get(f"videos/{feature.name}/from_timestamp")
        if not isinstance(begin, int | float) or not np.all(np.isfinite(timestamps)) or not 0 <= begin < 1e9:
            raise FormatError(f"{self._path}: expected times of the video {feature.name}, got {begin!r}")
        times = begin + timestamps[:, 0].astype(np.float64)
        tolerance = _PART_OF_A_FRAME / self._info.fps
        return video_frames.VideoFrames(self._video(row, feature.name), times, tolerance, feature.shape)

    def _named_tasks(self, numbers: np.ndarray, place: str) -> list[str]:
        try:
            return [self._tasks[int(number)] for number in numbers]
        except KeyError as error:
            raise FormatError(f"{place}: expected a task in {TASKS} for the number {error}") from error

    def _restored(self, name: str, values: Any, place: str) -> Any:
        """Values in the dtype and shape of their origin; scalars for LeRobot's lists of one element."""
        note = self._extra.fields.get(name)
        if isinstance(values, list):
            return values
        if note is not None and math.prod(note.shape) != math.prod(self._features[name].shape):
            raise FormatError(f"{place}, {name}: expected as many values as {note.shape} has")
        if not isinstance(values, np.ndarray):
            return _Reshaped(values, note.shape) if note is not None and note.shape != values.shape else values
        if note is not None:
            return values.astype(note.dtype, copy=False).reshape(len(values), *note.shape)
        is_scalar = values.shape[1:] == (1,) and self._places[name].field not in (OBSERVATION, ACTION)
        return values[:, 0] if is_scalar else values

    def _episode_metadata(self, row: Mapping[str, Any], observed: Mapping[str, Any]) -> dict[str, Any]:
        """Columns of the table of episodes that LeRobot does not make, and tasks that no frame has."""
        found = {name: value for name, value in row.items() if not _KNOWN.match(name) and name not in _OWN_COLUMNS}
        tasks = row.get("tasks")
        if isinstance(tasks, list) and set(tasks) != set(observed.get(names.TASK, tasks)):
            found["tasks"] = tasks
        return found


class _Reshaped:
    """Images, each in another shape."""

    def __init__(self, values: Any, shape: tuple[int, ...]) -> None:
        self._values, self._shape = values, shape

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, row: int) -> np.ndarray:
        pixels: np.ndarray = self._values[row]
        return pixels.reshape(self._shape)


class _Extended:
    """A column with one value more."""

    def __init__(self, values: Any, final: Any) -> None:
        self._values, self._final = values, final

    def __len__(self) -> int:
        return len(self._values) + 1

    def __getitem__(self, row: int) -> Any:
        return self._final if row == len(self._values) else self._values[row]


def _with_final(columns: Any, final: Any, place: str) -> Any:
    """Columns with one value more, where there is one."""
    if isinstance(columns, dict):
        if not isinstance(final, Mapping):
            raise FormatError(f"{place}: expected a final observation in the nest of the others")
        return {
            name: _with_final(each, final[name], place) if name in final else each for name, each in columns.items()
        }
    if isinstance(columns, tuple):
        if not isinstance(final, tuple) or len(final) != len(columns):
            raise FormatError(f"{place}: expected a final observation in the nest of the others")
        return tuple(_with_final(each, one, place) for each, one in zip(columns, final, strict=True))
    if isinstance(columns, np.ndarray):
        last = np.asarray(final)
        if last.dtype != columns.dtype or last.shape != columns.shape[1:]:
            raise FormatError(f"{place}: expected a final observation of the dtype and shape of the others")
        return np.concatenate([columns, last[np.newaxis]]).astype(columns.dtype, copy=False)
    return [*columns, final] if isinstance(columns, list) else _Extended(columns, final)


def _is_known(feature: Feature) -> bool:
    return feature.dtype in (*DTYPES, TEXT, IMAGE, VIDEO) and not (feature.is_depth and feature.dtype in (IMAGE, VIDEO))


def _spec(name: str, feature: Feature) -> specs.Spec:
    if feature.dtype == TEXT:
        return specs.Text()
    if feature.dtype in (IMAGE, VIDEO):
        return specs.Array(feature.shape, np.uint8, minimum=0, maximum=255)
    is_scalar = feature.shape == (1,) and not name.startswith((OBSERVATION, ACTION))
    return specs.Array(() if is_scalar else feature.shape, feature.dtype)


def _spec_of(nest: Any) -> specs.Spec:
    if isinstance(nest, dict):
        return specs.Dict({name: _spec_of(each) for name, each in nest.items()})
    found: specs.Spec = nest
    return found


def _integer(row: Mapping[str, Any], key: str, number: int) -> int:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise FormatError(f"{EPISODES}, episode {number}: expected a number for {key}, got {value!r}")
    return value


def _files(path: Path) -> Iterator[Path]:
    return (each for each in path.rglob("*") if each.is_file()) if path.is_dir() else iter(())
