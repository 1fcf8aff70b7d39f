"""The files of rlds_kit in a LeRobot dataset: `meta/rlds_kit.json`, and a column of `meta/episodes`.

LeRobot reads neither. The file lists the fields of steps that features were made from, and contains the specs and
the metadata of the dataset; the column contains the metadata of an episode, and its final observation.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import zstandard
from google.protobuf.message import DecodeError

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError, RldsKitError
from rlds_kit.base.rlds_kit_pb2 import Value
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.convert.lerobot.info import read_json
from rlds_kit.convert.lerobot.names import Place
from rlds_kit.convert.protocol import ForeignEpisode
from rlds_kit.spec import as_json
from rlds_kit.spec import value as values

FILE: Final = "meta/rlds_kit.json"
COLUMN: Final = "rlds_kit"
VERSION: Final = 1
_LARGEST: Final = 1 << 30
_WRONG: Final = (
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    DecodeError,
    zstandard.ZstdError,
    RldsKitError,
    MemoryError,
)


@dataclass(frozen=True)
class FieldNote:
    """The origin of a feature.

    Attributes:
      place: of its values in a step.
      dtype: NumPy's name, with byte order; "" for text.
      shape: of one value.
    """

    place: Place
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Extra:
    """The content of the file.

    Attributes:
      fields: by feature.
      implied: features that the source lacks.
      spec: the declared fields; None if unknown.
      about: name, description, citation and licence.
      metadata: of the dataset.
      environment: of the episodes.
    """

    fields: Mapping[str, FieldNote] = field(default_factory=dict)
    implied: tuple[str, ...] = ()
    spec: specs.Dict | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)


def write_extra(directory: Path, extra: Extra) -> None:
    """Writes the file."""
    exact = {"metadata": extra.metadata, "environment": dict(extra.environment)}
    content = {
        "version": VERSION,
        "about": dict(extra.about),
        "fields": {
            name: {
                "field": note.place.field,
                "keys": list(note.place.keys),
                "dtype": note.dtype,
                "shape": list(note.shape),
            }
            for name, note in extra.fields.items()
        },
        "implied": list(extra.implied),
        "spec": None if extra.spec is None else as_json.to_json(extra.spec),
        "exact": base64.b64encode(packed(exact)).decode(),
    }
    (directory / FILE).write_text(json.dumps(content, indent=2), "utf-8")


def read_extra(directory: Path) -> Extra:
    """Reads the file; returns empty content if there is none.

    Raises:
      FormatError: it is invalid.
    """
    path = directory / FILE
    if not path.is_file():
        return Extra()
    content = read_json(path)
    if content.get("version") != VERSION:
        raise FormatError(f"{path}: expected version {VERSION}, got {content.get('version')!r}; upgrade rlds_kit")
    try:
        exact = unpacked(base64.b64decode(content["exact"], validate=True))
        declared = None if content["spec"] is None else as_json.from_json(content["spec"])
        if not isinstance(declared, specs.Dict | None):
            raise FormatError(f"{path}: expected a spec of fields, got {declared}")
        return Extra(
            {name: _note(each) for name, each in content["fields"].items()},
            tuple(map(str, content["implied"])),
            declared,
            {str(key): str(each) for key, each in content["about"].items()},
            exact["metadata"],
            exact["environment"],
        )
    except _WRONG as error:
        raise FormatError(f"{path}: expected what rlds_kit writes: {error!r:.200}") from error


def _note(content: Any) -> FieldNote:
    keys = tuple(each if isinstance(each, int) else str(each) for each in content["keys"])
    dtype, shape = str(content["dtype"]), tuple(map(int, content["shape"]))
    if dtype:
        np.dtype(dtype)
    return FieldNote(Place(str(content["field"]), keys), dtype, shape)


def episode_note(episode: ForeignEpisode, final: Mapping[str, Any] | None) -> bytes:
    """The column's value for an episode.

    Args:
      episode: its values except the steps are stored.
      final: the observation after the last action; None if it is missing.
    """
    return packed(
        {
            "end": episode.end.value,
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "metadata": dict(episode.metadata),
            "seed": episode.seed,
            "options": episode.options,
            "provenance": dict(episode.provenance),
            "final": None if final is None else dict(final),
        }
    )


@dataclass(frozen=True)
class EpisodeNote:
    """Reads a note of `episode_note`."""

    end: EpisodeEnd
    terminated: bool
    truncated: bool
    metadata: dict[str, Any]
    seed: Any
    options: Any
    provenance: dict[str, Any]
    final: dict[str, Any] | None


def read_episode_note(data: bytes, place: str) -> EpisodeNote:
    """Reads a value that `episode_note` returned.

    Raises:
      FormatError: it is invalid.
    """
    try:
        content = unpacked(data)
        if not isinstance(content["metadata"], dict) or not isinstance(content["final"], dict | None):
            raise FormatError("metadata or a final observation that is no dict")
        return EpisodeNote(**{**content, "end": EpisodeEnd(content["end"])})
    except _WRONG as error:
        raise FormatError(f"{place}: expected what rlds_kit writes: {error!r:.200}") from error


def packed(content: Any) -> bytes:
    """A recordable value as bytes, compressed."""
    return zstandard.compress(values.encode(content).SerializeToString())


def unpacked(data: bytes) -> Any:
    """Unpacks a value that `packed` returned.

    Raises:
      ValueError, DecodeError, ZstdError: it is invalid, or its claimed size is impossible.
    """
    size = zstandard.frame_content_size(data)
    if not 0 <= size <= _LARGEST:
        raise ValueError(f"expected at most {_LARGEST} bytes when decompressed, got {size}")
    return values.decode(Value.FromString(zstandard.decompress(data, max_output_size=_LARGEST)))
