"""Searches a dataset for text that matches the patterns of e-mail addresses and the like."""

import codecs
import contextlib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as defaults
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.progress import Meter
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.layers.folder import LAYERS
from rlds_kit.layers.layer import Layer
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.tools.plot.gather import size_of
from rlds_kit.tools.publish.about import About
from rlds_kit.tools.publish.fields import fields_of
from rlds_kit.tools.publish.patterns import kinds_of_name, kinds_of_text

_TEXTUAL: Final = frozenset((pb.TEXT, pb.BYTES, pb.NUMPY_TEXT, pb.NUMPY_BYTES, pb.TREE))
_SHOWN: Final = 4
"""The characters of a value that a message shows, so that it does not repeat a secret."""
_PUBLIC: Final = {*About.__dataclass_fields__, "spec", "format", "version"}
"""Keys of dataset.json that are always published."""
_REPEATED: Final = {"metadata": "run_metadata", "environment": "provenance"}
"""Keys of dataset.json that repeat those of the first run, and the names of these."""


class Text(NamedTuple):
    """A value in a dataset.

    Attributes:
      path: of the field.
      value: a text; for other values only the field's name is compared.
      is_key: whether the value is a part of the field's name.
      name: to compare instead of the last one of the path.
    """

    path: str
    value: object
    is_key: bool = False
    name: str = ""


@dataclass(slots=True)
class Match:
    """A field that matches a pattern.

    Attributes:
      field: its path: "metadata/player", "observation/instruction".
      kinds: of data, by the patterns that match.
      example: the beginning of a value that matches.
    """

    field: str
    kinds: set[str] = defaults(default_factory=set)
    example: str = ""

    def __str__(self) -> str:
        example = f", for instance {self.example!r}" if self.example else ""
        return f"{self.field} matches the pattern of: {'; '.join(sorted(self.kinds))}{example}"


@dataclass(frozen=True, slots=True)
class Matches:
    """The result of a search.

    Attributes:
      matches: by field.
      fields: all fields that were searched.
    """

    matches: Mapping[str, Match]
    fields: frozenset[str]


def search(dataset: Dataset, meter: Meter) -> Matches:
    """Compares all metadata, provenance, step fields and layers of a dataset with `PATTERNS`.

    Images and other numbers are compared by their field's name alone, and the source of a layer as a user name.

    Args:
      dataset: to search.
      meter: counts the dataset's bytes.

    Raises:
      DamagedError: a record is damaged.
    """
    found: dict[str, Match] = {}
    fields: set[str] = set()
    for text in _everything(dataset, meter):
        fields.add(text.path)
        if kinds := _kinds(text):
            match = found.setdefault(text.path, Match(text.path))
            match.kinds |= kinds
            match.example = match.example or _example(text.value)
    return Matches(found, frozenset(fields))


def _everything(dataset: Dataset, meter: Meter) -> Iterator[Text]:
    for key, item in dataset.description.items():
        if key not in _PUBLIC:
            yield from _texts(_REPEATED.get(key, f"dataset.json/{leaves.escape(key)}"), item)
    for name in dataset.layers:
        yield from _of_layer(dataset.layer(name))
    fields = fields_of(dataset.spec)
    for each in fields:  # by name
        yield Text(each.path, 0)
        for key in _keys(each.path):
            yield Text(each.path, key, is_key=True)
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


def _of_layer(layer: Layer) -> Iterator[Text]:
    """All annotations, retracted ones too, because they are published with the others."""
    path = f"{LAYERS}/{layer.name}"
    for source in layer.sources:
        yield Text(f"{path}/source", source, name="user name")
    for each in layer.history():
        yield from _texts(f"{path}/{each.field or each.kind.value}", each.value)
        yield from _texts(f"{path}/user_data", each.user_data)


def _of_steps(episode: Episode, numeric: set[str]) -> Iterator[Text]:
    reader = episode._reader()  # noqa: SLF001  its columns have kinds, and are not stacked
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
                below = f"{path}/{leaves.escape(str(key))}"
                yield Text(below, str(key), is_key=True)  # the keys of a dict of scores may be names of players
                yield from _texts(below, item)
        case list() | tuple():
            for item in value:
                yield from _texts(path, item)
        case np.ndarray() if value.dtype.kind in "US":
            yield from _texts(path, value.ravel().tolist())
        case bytes():
            for text in _decoded(value):
                yield Text(path, text)
        case str():
            yield Text(path, value)
        case None | bool():
            yield Text(path, None)
        case _:
            yield Text(path, 0)


def _decoded(data: bytes) -> list[str]:
    """Decodes bytes that are text: UTF-8, maybe padded with zeros; UTF-16 with a byte order mark; Latin-1."""
    is_marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16" if is_marked else "utf-8", "latin-1"):
        with contextlib.suppress(UnicodeDecodeError):
            texts = data.decode(encoding).rstrip("\0").split("\0")
            if encoding != "latin-1" or all(text.isprintable() for part in texts for text in part.split()):
                return texts
    return []


@functools.lru_cache(maxsize=1 << 12)  # most texts occur many times
def _kinds(text: Text) -> frozenset[str]:
    if text.is_key:
        return kinds_of_text("", str(text.value))
    parent, name = ["", "", *(_keys(text.path) or [text.path]), *filter(None, [text.name])][-2:]
    if isinstance(text.value, str):
        return kinds_of_text(name, text.value, parent)
    return frozenset() if text.value is None else kinds_of_name(name, parent)


def _keys(path: str) -> list[str]:
    """The names in a path."""
    return [leaves.unescape(part) for part in leaves.elements(path) if part[:1] not in ("(", "[")]


def _example(value: Any) -> str:
    return f"{value[:_SHOWN]}…" if isinstance(value, str) and len(value) > _SHOWN else ""
