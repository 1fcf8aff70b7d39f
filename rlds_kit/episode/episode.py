"""One recorded episode: its steps, its fields, how it ended."""

import datetime as dt
import functools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.step import FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL, EpisodeEnd
from rlds_kit.episode.stacked_fields import StackedFields
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.spec import value
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage import restore
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader

Step: TypeAlias = dict[str, Any]
"""Field name to value."""

_ENDS: Final = {
    pb.TERMINATED: EpisodeEnd.TERMINATED,
    pb.TRUNCATED: EpisodeEnd.TRUNCATED,
    pb.INTERRUPTED: EpisodeEnd.INTERRUPTED,
}


class Episode:
    """An episode, or consecutive steps of one (`episode[10:20]`). Data are read when they are accessed.

    `episode["reward"]` is a stacked array, `episode["observation"]` a nest of them; `episode[3]` and `episode.steps[3]`
    are single steps in which every value has the recorded type. Action, reward and discount of the last step, and
    of a step after which steps were left out, are undefined: zeros of their spec, and False in `mask`.
    """

    def __init__(
        self,
        entry: EpisodeEntry,
        header: pb.ShardHeader | None,
        reader: Callable[[], EpisodeReader],
        declared: specs.Dict,
        selected: tuple[str, ...] | None,
        rows: range,
        *,
        is_open: bool,
        layers: OpenLayers,
    ) -> None:
        self._entry, self._header, self._reader, self._layers = entry, header, reader, layers
        self._declared, self._selected, self._rows, self._is_open = declared, selected, rows, is_open
        self._fields = StackedFields(entry.episode_id, reader, declared, selected, rows)

    def __repr__(self) -> str:
        end = "open" if self._is_open else self._ending().name
        return f"<Episode {self.id}: {self.length} steps, {end}>"

    @property
    def id(self) -> uuid.UUID:
        """Identifies the episode permanently, also in copies and merges of its dataset."""
        return uuid.UUID(bytes=self._entry.episode_id)

    @property
    def length(self) -> int:
        """The number of steps, the last one included: one more than actions were taken."""
        return len(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> range:
        """The numbers of these steps, counted from the start of the episode: all, unless this is a slice."""
        return self._rows

    @property
    def is_whole(self) -> bool:
        """Whether these are all steps of the episode."""
        return self._rows == range(self._entry.rows)

    def annotations(self, *names: str) -> tuple[Annotation, ...]:
        """The annotations of the episode, in order of time; for a slice, those of its steps.

        Args:
          *names: of layers; default: all.

        Raises:
          KeyError: there is no such layer.
          DamagedError: a layer is damaged.
          FormatError: the episode has changed since it was annotated.
        """
        layers = [self._layers.get(name) for name in names or self._layers.names()]
        found = {each.id: each for layer in layers for each in layer.annotations(self)}
        return tuple(sorted(found.values(), key=lambda each: each.order))

    @property
    def tags(self) -> tuple[str, ...]:
        """The labels of the episode or any of its steps, in all layers; sorted. Errors as in `annotations`."""
        return tuple(sorted({each.value for each in self.annotations() if each.kind is Kind.TAG}))

    @property
    def end(self) -> EpisodeEnd | None:
        """The way in which the episode ended; None while it is being recorded.

        Raises:
          DamagedError: the end may have been in bytes that are damaged.
        """
        if self._entry.is_cut:
            self._reader().end()
        return None if self._is_open else self._ending()

    def _ending(self) -> EpisodeEnd:
        return _ENDS.get(self._entry.ending, EpisodeEnd.INCOMPLETE)  # type: ignore[call-overload,no-any-return]

    @property
    def terminated(self) -> bool:
        """Gymnasium's flag of the last step, as recorded."""
        return self._end is not None and self._end.terminated

    @property
    def truncated(self) -> bool:
        """Gymnasium's flag of the last step, as recorded; it may be set together with `terminated`."""
        return self._end is not None and self._end.truncated

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata from the caller: from the start of the episode, updated with those from its end.

        Raises:
          DamagedError: the record that contains it is damaged.
        """
        place = self._reader().place
        metadata = value.decode_stored_dict(self._start.metadata, "metadata of the start", place)
        if self._end is None:
            return metadata
        return metadata | value.decode_stored_dict(self._end.metadata, "metadata of the end", place)

    @functools.cached_property
    def _start(self) -> pb.EpisodeStart:
        return self._reader().start()

    @functools.cached_property
    def _end(self) -> pb.EpisodeEnd | None:
        return self._reader().end()

    @property
    def seed(self) -> Any:  # whatever the environment takes
        """The seed of the reset that began the episode."""
        return value.decode_stored(self._start.seed, "the seed", self._reader().place)

    @property
    def options(self) -> Any:  # whatever the environment takes
        """The options of the reset that began the episode."""
        return value.decode_stored(self._start.options, "options of the reset", self._reader().place)

    @property
    def provenance(self) -> dict[str, Any]:
        """Environment id, keyword arguments, wrappers and package versions that the episode was recorded with."""
        return self.run_environment | self.own_provenance

    @property
    def own_provenance(self) -> dict[str, Any]:
        """The part of `provenance` that was recorded with this episode alone."""
        return value.decode_stored_dict(self._start.provenance, "provenance", self._reader().place)

    @property
    def run_environment(self) -> dict[str, Any]:
        """The part of `provenance` that is that of all episodes of the run."""
        return value.decode_stored_dict(self._shard_header().environment, "the environment", self._reader().place)

    @property
    def run_metadata(self) -> dict[str, Any]:
        """The metadata of the run that recorded the episode."""
        return value.decode_stored_dict(self._shard_header().metadata, "metadata of the run", self._reader().place)

    @property
    def shard_id(self) -> bytes:
        """Identifies the shard that holds the episode; all episodes of a shard are of one run."""
        return self._shard_header().shard_id

    def _shard_header(self) -> pb.ShardHeader:
        if self._header is None:
            raise DamagedError(f"{self._reader().place}: the shard's header is damaged; `rlds-kit verify` shows it")
        return self._header

    @property
    def started(self) -> dt.datetime:
        """When recording began, in UTC."""
        seconds, nanoseconds = divmod(self._start.started_unix_ns, 10**9)
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
        return moment.replace(microsecond=nanoseconds // 1000)

    @property
    def content_digest(self) -> bytes:
        """The content digest, 16 bytes that are equal for equal content; empty while the episode has no end."""
        return self._entry.content_digest

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all fields that some step has, the flags included.

        Raises:
          DamagedError: a block's header is damaged.
        """
        return self._fields.names

    @overload
    def __getitem__(self, key: str) -> Any: ...

    @overload
    def __getitem__(self, key: slice) -> "Episode": ...

    @overload
    def __getitem__(self, key: int) -> Step: ...

    def __getitem__(self, key: str | int | slice) -> Any:
        """A field stacked over all steps, a step, or consecutive steps.

        Raises:
          KeyError: no step has the field, or it was not selected.
          SpecError: values of a declared field do not match the declaration, and no array can represent all of them
            exactly.
          IndexError: there is no such step.
          DamagedError: the requested data are damaged.
        """
        if isinstance(key, str):
            return self._stacked(key)[0]
        if isinstance(key, slice):
            return self._slice(key)
        return self.steps[key]

    def arrays(self, *names: str) -> dict[str, Any]:
        """Stacks several fields as `episode[name]` does, in less time: a block is read once for all of them.

        Args:
          *names: of fields; default: all declared ones, and others of which some of these steps have a value.

        Returns:
          A nest of arrays `[length, ...]` for each name.

        Raises:
          KeyError: no step has a field that is named, or it was not selected.
          SpecError: values of a declared field do not match the declaration, and no array can represent all of them
            exactly.
          DamagedError: the requested data are damaged.

        >>> batch = episode[100:200].arrays("observation", "action")  # doctest: +SKIP
        >>> batch["action"].shape  # doctest: +SKIP
        (100, 6)
        """
        chosen = names or self.fields
        for name in chosen:
            self._fields.require_selected(name)
        stored = [name for name in chosen if name not in FLAGS]
        found = self._fields.several(stored)
        if names:
            self._fields.require_all(stored, found)
        found |= {name: self._flag(name) for name in chosen if name in FLAGS}
        return {name: found[name] for name in chosen if name in found}

    @property
    def steps(self) -> "Steps":
        """The steps, one by one."""
        return Steps(self)

    def mask(self, name: str) -> np.ndarray:
        """Returns `[length]` bool: True for steps that have a value of a field.

        Raises:
          KeyError: no step has the field.
        """
        return self._stacked(name)[1]

    def stacks(self) -> dict[str, restore.Stack]:
        """Reads all leaves of these steps as they were recorded, by path; those of unselected fields are left out.

        Raises:
          DamagedError: the data are damaged.
        """
        return self._reader().stacks(self._rows.start, self._rows.stop, self._fields.wanted) if self._rows else {}

    def _slice(self, key: slice) -> "Episode":
        rows = self._rows[key]
        if rows.step != 1:
            raise IndexError(f"expected consecutive steps, got a step of {rows.step}; slice the stacked field instead")
        return Episode(
            self._entry,
            self._header,
            self._reader,
            self._declared,
            self._selected,
            rows,
            is_open=self._is_open,
            layers=self._layers,
        )

    def _stacked(self, name: str) -> tuple[Any, np.ndarray]:
        self._fields.require_selected(name)
        if name in FLAGS:
            return self._flag(name), np.ones(self.length, np.bool_)
        return self._fields.one(name)

    def is_last(self, row: int) -> bool:
        """Whether a row, counted from the episode's start, is its last; False while the episode is being recorded."""
        return row == self._entry.rows - 1 and self.end is not None

    def _flag(self, name: str) -> np.ndarray:
        flag = np.zeros(self.length, np.bool_)
        row = 0 if name == IS_FIRST else self._entry.rows - 1
        is_set = name == IS_FIRST or (self.is_last(row) and (name == IS_LAST or self.end is EpisodeEnd.TERMINATED))
        if is_set and row in self._rows:
            flag[row - self._rows.start] = True
        return flag


class Steps(Sequence[Step]):
    """The steps of an episode, each a dict of exactly what was recorded. Iterators are independent of each other."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def __len__(self) -> int:
        return self._episode.length

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...

    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        """A step, or a list of steps.

        Raises:
          IndexError: there is no such step.
          DamagedError: the requested data are damaged.
        """
        rows = self._episode._rows  # noqa: SLF001  the two classes are one view
        if isinstance(index, slice):
            return [self._at(row) for row in rows[index]]
        try:
            return self._at(rows[index])
        except IndexError:
            raise IndexError(f"the episode has {len(rows)} steps, there is no step {index}") from None

    def __iter__(self) -> Iterator[Step]:
        rows = self._episode._rows  # noqa: SLF001
        for begin in range(rows.start, rows.stop, _ITERATION_ROWS):
            yield from self._between(begin, min(begin + _ITERATION_ROWS, rows.stop))

    def _at(self, row: int) -> Step:
        return self._between(row, row + 1)[0]

    def _between(self, begin: int, end: int) -> list[Step]:
        episode = self._episode
        columns = episode._reader().columns(begin, end, episode._fields.wanted)  # noqa: SLF001
        flat: list[dict[str, dict[str, Any]]] = [{} for _ in range(begin, end)]
        for path, parts in columns.items():
            name, _, below = path.partition("/")
            for part in (part.between(begin, end) for part in parts):
                for row, item in zip(part.rows.tolist(), restore.exact(part), strict=True):
                    flat[row - begin].setdefault(leaves.unescape(name), {})[below] = item
        return [self._step(row, fields_of_row) for row, fields_of_row in enumerate(flat, begin)]

    def _step(self, row: int, flat: Mapping[str, dict[str, Any]]) -> Step:
        episode = self._episode
        chosen = episode._selected  # noqa: SLF001
        step = {name: leaves.nest(below) for name, below in flat.items()}
        for name, declared in episode._declared.fields.items():  # noqa: SLF001
            if name not in step:
                step[name] = specs.zeros(declared)
        flags = {
            IS_FIRST: row == 0,
            IS_LAST: episode.is_last(row),
            IS_TERMINAL: episode.is_last(row) and episode.end is EpisodeEnd.TERMINATED,
        }
        step.update((flag, flags[flag]) for flag in FLAGS if chosen is None or flag in chosen)
        return step


_ITERATION_ROWS: Final = 64
