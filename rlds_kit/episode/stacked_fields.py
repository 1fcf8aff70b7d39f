"""Fields of consecutive steps of an episode, stacked to arrays."""

import functools
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import FLAGS
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage.episode_reader import EpisodeReader, Wanted, everything, fields
from rlds_kit.storage.restore import Stack
from rlds_kit.storage.stacking import spec_at, stack_field


class StackedFields:
    """Reads fields of steps, but not the flags.

    Args:
      episode_id: 16 bytes, for errors.
      reader: returns the reader of the episode.
      declared: the declared fields.
      selected: the names of the fields, and of parts of fields, that may be read; None: all.
      rows: the steps, counted from the start of the episode.
    """

    def __init__(
        self,
        episode_id: bytes,
        reader: Callable[[], EpisodeReader],
        declared: specs.Dict,
        selected: tuple[str, ...] | None,
        rows: range,
    ) -> None:
        self._id, self._reader = episode_id, reader
        self._declared, self._selected, self._rows = declared, selected, rows

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all fields that some step has, the flags included.

        Raises:
          DamagedError: a block's header is damaged.
        """
        if self._selected is not None:
            return self._selected
        found = dict.fromkeys(self._declared.fields)
        for column in self._headers():
            found.setdefault(leaves.unescape(leaves.elements(column)[0]))
        return (*found, *FLAGS)

    @property
    def wanted(self) -> Wanted:
        """Selects the columns of all fields that may be read."""
        return everything if self._selected is None else fields(self._path(name) for name in self._selected)

    def require_selected(self, name: str) -> None:
        """Raises an error for a field that may not be read.

        Raises:
          KeyError: neither the field nor a part of it is selected.
        """
        if self._selected is None:
            return
        parts = [*self._selected, *(each.partition("/")[0] for each in self._selected)]
        if not {name, name.partition("/")[0]} & set(parts):
            raise KeyError(f"field {name!r} was not selected; selected are {', '.join(self._selected)}")

    def one(self, name: str) -> tuple[Any, np.ndarray]:
        """A field, and `[steps]` bool: which steps have a value. Errors as of `Episode.arrays`."""
        path = self._path(name)
        stacked, present = self._stacked(path, self._read(self._selected_below(path)))
        if self._is_absent(path, present):
            raise self._absent(name)
        return stacked, present

    def several(self, names: Sequence[str]) -> dict[str, Any]:
        """Fields, read together, without those that no step has. Errors as of `Episode.arrays`."""
        found = dict[str, Any]()
        for name, (path, leaves_found) in self._leaves({name: self._path(name) for name in names}).items():
            stacked, present = self._stacked(path, leaves_found)
            if not self._is_absent(path, present):
                found[name] = stacked
        return found

    def require_all(self, names: Sequence[str], found: Mapping[str, Any]) -> None:
        """Raises an error for the first field that was not found.

        Raises:
          KeyError: no step has it.
        """
        for name in names:
            if name not in found:
                raise self._absent(name)

    def _leaves(self, paths: Mapping[str, str]) -> dict[str, tuple[str, dict[str, Stack]]]:
        """The leaves of fields by name, each with the path of the field.

        A part of another of these fields is read by itself, so that no two arrays have the same memory.
        """
        apart = {name for name, path in paths.items() if any(_is_part(path, other) for other in paths.values())}
        below = [part for name, path in paths.items() if name not in apart for part in self._selected_below(path)]
        together, found = self._read(below), dict[str, tuple[str, dict[str, Stack]]]()
        for name, path in paths.items():
            every = self._read(self._selected_below(path)) if name in apart else together
            found[name] = path, {each: every[each] for each in every if leaves.is_at_or_below(each, path)}
        return found

    def _read(self, paths: Sequence[str]) -> dict[str, Stack]:
        """The leaves at or below some paths, by their paths."""
        is_any = bool(paths) and bool(self._rows)
        return self._reader().stacks(self._rows.start, self._rows.stop, fields(paths)) if is_any else {}

    def _stacked(self, path: str, found: Mapping[str, Stack]) -> tuple[Any, np.ndarray]:
        """The field of a path from its leaves, and which steps have a value."""
        try:
            return stack_field(path, found, spec_at(self._declared, path), self._rows.start, self._rows.stop)
        except SpecError as error:
            raise SpecError(f"episode {uuid.UUID(bytes=self._id)}: {error}") from error

    def _is_absent(self, path: str, present: np.ndarray) -> bool:
        """Whether a path is that of no field of these steps: an undeclared one of which no step has a value."""
        return bool(self._rows) and not np.count_nonzero(present) and spec_at(self._declared, path) is None

    def _absent(self, name: str) -> KeyError:
        others = ", ".join(each for each in self.names if each != name)
        return KeyError(f"none of these steps has the field {name!r}; others are {others}")

    def _headers(self) -> list[str]:
        return self._reader().paths(self._rows.start, self._rows.stop)

    def _path(self, name: str) -> str:
        """The path of a field. A name with a slash is a path into a nest, unless a field has this name."""
        own = leaves.escape(name)
        if "/" not in name or name in self._declared.fields:
            return own
        return own if own in self._recorded else name

    @functools.cached_property
    def _recorded(self) -> set[str]:
        """The fields that have a column in the blocks of these steps."""
        return {leaves.elements(path)[0] for path in self._headers()}

    def _selected_below(self, path: str) -> list[str]:
        """The selected parts of the field at a path, or all of it."""
        return [part for part in self._selected_parts if _is_part(part, path)] or [path]

    @functools.cached_property
    def _selected_parts(self) -> list[str]:
        """The paths of selected parts of fields."""
        return [self._path(name) for name in self._selected or () if "/" in name]


def _is_part(path: str, whole: str) -> bool:
    return path != whole and leaves.is_at_or_below(path, whole)
