"""Looks through a dataset for personal data: names and values of metadata, of provenance, and of the steps' texts."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as defaults
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.dataset import Dataset
from rlds_kit.episode import Episode
from rlds_kit.plot.gather import size_of
from rlds_kit.publish.about import About
from rlds_kit.publish.fields import fields_of
from rlds_kit.publish.personal_rules import kinds_of_name, kinds_of_text
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage import restore
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.column import Column
from rlds_kit.upkeep.report import Meter

_TEXTUAL: Final = frozenset((pb.TEXT, pb.BYTES, pb.NUMPY_TEXT, pb.NUMPY_BYTES, pb.TREE))
_SHOWN: Final = 4
"""So many characters of a value are shown: enough to see what it is, too few to be it."""
_SAID_FOR_ALL: Final = {*About.__dataclass_fields__, "spec", "format", "version"}
"""Keys of dataset.json that were written to be published."""
_REPEATED: Final = {"metadata": "run_metadata", "environment": "provenance"}
"""Keys of dataset.json under which it repeats what the first run said, and the names of that."""


class Text(NamedTuple):
    """A value somewhere in a dataset: a text, or a number by its name."""

    path: str
    value: object


@dataclass(slots=True)
class Suspect:
    """A field that may hold personal data.

    Attributes:
      field: its path: "metadata/player", "observation/instruction".
      kinds: what it may be.
      example: the beginning of one.
    """

    field: str
    kinds: set[str] = defaults(default_factory=set)
    example: str = ""

    def __str__(self) -> str:
        example = f", for instance {self.example!r}" if self.example else ""
        return f"{self.field} may hold a {' or a '.join(sorted(self.kinds))}{example}"


@dataclass(frozen=True, slots=True)
class PersonalData:
    """What was looked at, and what of it may be personal.

    Attributes:
      suspects: by field.
      looked_at: every field that was looked at.
    """

    suspects: Mapping[str, Suspect]
    looked_at: frozenset[str]


def personal_data(dataset: Dataset, meter: Meter) -> PersonalData:
    """Applies the rules of `personal_rules` to all metadata, provenance and step fields of a dataset.

    Images and other numbers are judged by their field's name alone.

    Args:
      dataset: to look through.
      meter: told of the dataset's bytes.

    Raises:
      DamagedError: a record is damaged.
    """
    found: dict[str, Suspect] = {}
    looked_at: set[str] = set()
    for text in _everything(dataset, meter):
        looked_at.add(text.path)
        if kinds := _kinds(text):
            suspect = found.setdefault(text.path, Suspect(text.path))
            suspect.kinds |= kinds
            suspect.example = suspect.example or _example(text.value)
    return PersonalData(found, frozenset(looked_at))


def _everything(dataset: Dataset, meter: Meter) -> Iterator[Text]:
    for key, item in dataset.description.items():
        if key not in _SAID_FOR_ALL:
            yield from _texts(_REPEATED.get(key, f"dataset.json/{leaves.escape(key)}"), item)
    fields = fields_of(dataset.spec)
    yield from (Text(each.path, 0) for each in fields)  # by name
    numeric = {each.path for each in fields if each.is_numeric}
    size, steps, done = size_of(dataset), sum(dataset.lengths()), 0
    for episode in dataset.episodes:
        yield from _of_episode(episode)
        yield from _of_steps(episode, numeric)
        done += episode.length
        meter.at(size * done // max(steps, 1))
    meter.next_file(size)


def _of_episode(episode: Episode) -> Iterator[Text]:
    yield from _texts("metadata", episode.metadata)
    yield from _texts("run_metadata", episode.run_metadata)
    yield from _texts("provenance", episode.provenance)
    yield from _texts("seed", episode.seed)
    yield from _texts("options", episode.options)


def _of_steps(episode: Episode, numeric: set[str]) -> Iterator[Text]:
    reader = episode._reader()  # noqa: SLF001  columns, which tell texts from numbers, without stacking them
    for block in reader.blocks(0, episode.length, lambda path: path not in numeric):
        for column in block:
            if _is_textual(column):
                for item in restore.exact(column):
                    yield from _texts(column.key.path, item)


def _is_textual(column: Column) -> bool:
    return column.key.kind in _TEXTUAL or (column.key.kind == pb.ARRAY and column.values.dtype.kind in "US")


def _texts(path: str, value: object) -> Iterator[Text]:
    """The texts and numbers in a nest."""
    match value:
        case Mapping():
            for key, item in value.items():
                yield from _texts(f"{path}/{leaves.escape(str(key))}", item)
        case list() | tuple():
            for item in value:
                yield from _texts(path, item)
        case np.ndarray() if value.dtype.kind in "US":
            yield from _texts(path, value.ravel().tolist())
        case bytes():
            if (text := _decoded(value)) is not None:
                yield Text(path, text)
        case str():
            yield Text(path, value)
        case None | bool() | np.ndarray():
            yield Text(path, None)
        case _:
            yield Text(path, 0)


def _decoded(data: bytes) -> str | None:
    """Bytes that are text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if "\0" not in text else None


@functools.lru_cache(maxsize=1 << 12)  # most texts come again and again
def _kinds(text: Text) -> frozenset[str]:
    names = _names(text.path)
    if isinstance(text.value, str):
        return _union(kinds_of_text(name, text.value) for name in names)
    return frozenset() if text.value is None else _union(kinds_of_name(name) for name in names)


def _union(kinds: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*kinds)


def _names(path: str) -> list[str]:
    """A field's own name, and that with the name of what it is in: `user/name` is a user's name."""
    keys = [leaves.unescape(part) for part in leaves.elements(path) if part[:1] not in ("(", "[")]
    return [keys[-1], " ".join(keys[-2:])] if keys else [path]


def _example(value: Any) -> str:
    return f"{value[:_SHOWN]}…" if isinstance(value, str) and len(value) > _SHOWN else ""
