"""Reads the features of a TFDS dataset from its `features.json`. Neither TFDS nor TensorFlow is needed.

The file is a `tensorflow_datasets.Feature` message as JSON
(https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/core/proto/feature.proto), or, from older
versions of TFDS, a tree of `{"type": ..., "content": ...}`.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError, SpecError
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.spec import dtypes

FILE: Final = "features.json"
KNOWN: Final = (
    "Tensor, Scalar, Text, Image, Video, ClassLabel, BBoxFeature, Audio (not lazily decoded), Sequence, FeaturesDict, "
    "and one Dataset called steps"
)
_STRINGS: Final = frozenset(("string", "object", "str"))
_DTYPE_OF_IMAGES: Final = frozenset(("uint8", "uint16", "float32"))
_RANK_OF_IMAGES: Final = 3

_OTHER_STRUCTURE: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""The errors that reading JSON of another structure raises."""
_MOST_JSON_BYTES: Final = 1 << 26
_MOST_DIMENSIONS: Final = 32
_LONGEST: Final = 1 << 31

Kind: TypeAlias = Literal["numbers", "bytes", "text", "image"]
Length: TypeAlias = int | None


@dataclass(frozen=True)
class Feature:
    """A leaf: values of one kind.

    Attributes:
      kind: "numbers" for arrays, "bytes" for any byte strings, "text" for UTF-8.
      shape: of one value, None for an unknown length.
      dtype: of numbers and images; None for the others.
      encoding: of numbers "none", "bytes" or "zlib"; of images "png", "jpeg", or "" if any.
      levels: lengths of the sequences around it, the outermost first.
      optional: whether an episode may lack it.
      minimum: smallest value, if the feature declares it.
      maximum: largest value, likewise.
      num_classes: of a ClassLabel.
    """

    kind: Kind
    shape: tuple[Length, ...] = ()
    dtype: np.dtype[Any] | None = None
    encoding: str = "none"
    levels: tuple[Length, ...] = ()
    optional: bool = False
    minimum: float | None = None
    maximum: float | None = None
    num_classes: int | None = None

    @property
    def stores_shape(self) -> bool:
        """Whether each value is stored with its shape."""
        return self.kind == "numbers" and self.shape.count(None) > 1

    @property
    def loss(self) -> str:
        """The losses from writing the dataset; empty if there were none."""
        if self.kind == "image" and self.encoding == "jpeg":
            return "jpeg"
        is_wide = self.dtype is not None and self.dtype == np.float64
        return "float64 stored as float32" if is_wide and self.kind == "numbers" and self.encoding == "none" else ""

    @property
    def spec(self) -> specs.Spec:
        """The spec of a value here: an array if all lengths but the first are known, else tuples."""
        spec = self.element_spec
        for length in reversed(self.levels):
            spec = stacked(spec, length) or specs.Sequence(spec)
        return specs.Optional(spec) if self.optional else spec

    @functools.cached_property
    def element_spec(self) -> specs.Spec:
        """The spec of a value without the sequences around it."""
        if self.dtype is not None:
            return specs.Array(self.shape, self.dtype, "", self.minimum, self.maximum, self.num_classes)
        spec: specs.Spec = specs.Text() if self.kind == "text" else specs.Bytes()
        for _ in self.shape:
            spec = specs.Sequence(spec)
        return spec


Features: TypeAlias = Mapping[str, "Feature | Features"]
"""A FeaturesDict."""


@dataclass(frozen=True)
class EpisodeFeatures:
    """The features of an RLDS dataset.

    Attributes:
      steps: of every step.
      metadata: of the episode.
    """

    steps: Features
    metadata: Features


def stacked(spec: specs.Spec, length: Length) -> specs.Array | None:
    """The spec of `length` values in one array; None where their shapes may differ."""
    if not isinstance(spec, specs.Array) or None in spec.shape:
        return None
    return specs.Array((length, *spec.shape), spec.dtype, "", spec.minimum, spec.maximum, spec.num_values)


def spec_of(features: Features) -> specs.Dict:
    """The spec of a dict with these features."""
    return specs.Dict(
        {name: each.spec if isinstance(each, Feature) else spec_of(each) for name, each in features.items()}
    )


def leaves(features: Features, place: str = "") -> dict[str, Feature]:
    """All leaves by path, as in "observation/image"."""
    found: dict[str, Feature] = {}
    for name, each in features.items():
        path = f"{place}/{name}" if place else name
        found |= {path: each} if isinstance(each, Feature) else leaves(each, path)
    return found


def nested(features: Features, columns: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Values of leaves, given by path, in the nest of the features."""
    return {
        name: columns[f"{place}{name}"] if isinstance(each, Feature) else nested(each, columns, f"{place}{name}/")
        for name, each in features.items()
    }


def read_features(directory: Path) -> EpisodeFeatures:
    """The features of a dataset of episodes.

    Raises:
      FormatError: the file is no JSON of this kind, or its dataset has no steps.
      SpecError: a feature is of an unknown kind; the message names it.
    """
    path = directory / FILE
    try:
        content = read_json(path)
        name, features = _named(content)
        if name != "FeaturesDict":
            raise FormatError(f"expected a FeaturesDict, got {name}")
        inner = _inner(features)
        if STEPS not in inner or _named(inner[STEPS])[0] != "Dataset":
            raise FormatError(f"expected a feature {STEPS!r} of kind Dataset, as RLDS has it, got {', '.join(inner)}")
        steps = _parse(_named(inner[STEPS])[1]["feature"], STEPS)
        metadata = {key: _parse(each, key) for key, each in inner.items() if key != STEPS}
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    except _OTHER_STRUCTURE as error:
        raise FormatError(f"{path}: expected the features of a TFDS dataset of episodes: {error}") from error
    if isinstance(steps, Feature):
        raise FormatError(f"{path}: expected steps with fields, got a dataset of single values")
    return EpisodeFeatures(steps, metadata)


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
      ValueError: it is no JSON, or larger than any that TFDS writes.
    """
    if path.stat().st_size > _MOST_JSON_BYTES:
        raise ValueError(f"expected at most {_MOST_JSON_BYTES} bytes, got {path.stat().st_size}")
    return json.loads(path.read_text("utf-8"))


def class_names(directory: Path, features: EpisodeFeatures) -> dict[str, list[str]]:
    """The names of the classes of every ClassLabel that has names, by path."""
    found = {}
    all_of_it = {STEPS: features.steps, **features.metadata}
    for path, feature in leaves(all_of_it).items():
        file = directory / f"{path.replace('/', '-')}.labels.txt"
        if feature.num_classes is not None and file.is_file():
            found[path] = [name for name in file.read_text("utf-8").split("\n") if name.strip()]
    return found


def _named(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The class of a feature and its description."""
    name = value.get("type") or value.get("pythonClassName") or value.get("python_class_name") or ""
    if "type" in value:
        content = value["content"]
        content = json.loads(content) if isinstance(content, str) else content
    else:
        content = next((each for each in value.values() if isinstance(each, dict)), {})
        content = json.loads(content["json"]) if "json" in content else content
    return (name.rpartition(".")[2] if name.startswith("tensorflow_datasets.") else name), content


def _inner(content: Mapping[str, Any]) -> Mapping[str, Any]:
    features = content.get("features")
    # In the older form the content is the features themselves, one of which may have the name "content".
    is_message = isinstance(features, dict) and not {"type", "pythonClassName"} & features.keys()
    return features if is_message and features is not None else content


def _parse(value: Mapping[str, Any], place: str) -> Feature | Features:
    name, content = _named(value)
    match name:
        case "FeaturesDict":
            return {key: _parse(each, f"{place}/{key}") for key, each in _inner(content).items()}
        case "Sequence":
            return _within(_parse(content["feature"], place), _length(content.get("length")))
        case "Tensor" | "Scalar" | "BBoxFeature":
            return _tensor(content, place)
        case "Audio" if not (content.get("lazyDecode") or content.get("lazy_decode")):
            return _tensor({**content, "encoding": str(content.get("encoding", "none")).lower()}, place)
        case "Text" if not content.get("use_encoder"):
            return Feature("text")
        case "ClassLabel":
            count = int(content.get("numClasses", content.get("num_classes")) or 0)
            return Feature("numbers", (), np.dtype(np.int64), num_classes=count or None)
        case "Image":
            return _image(content, _shape(content), place)
        case "Video":
            length, *frame = _shape(content)
            return _within(_image(content, tuple(frame), place), length)
    raise SpecError(
        f"{place}: no reader for the feature {name or value}; known are {KNOWN}. Load the dataset with TFDS and write "
        "its episodes with `rlds_kit.logger.EpisodeWriter`"
    )


def _within(feature: Feature | Features, length: Length) -> Feature | Features:
    """A sequence of features becomes a sequence of each leaf, as in TFDS."""
    if isinstance(feature, Feature):
        return replace(feature, levels=(length, *feature.levels))
    return {name: _within(each, length) for name, each in feature.items()}


def _tensor(content: Mapping[str, Any], place: str) -> Feature:
    name, shape, optional = content["dtype"], _shape(content), bool(content.get("optional"))
    if name in _STRINGS:
        return Feature("bytes", shape, optional=optional)
    encoding = str(content.get("encoding") or "none").lower()
    if encoding not in ("none", "bytes", "zlib"):
        raise SpecError(f"{place}: expected a tensor encoded as none, bytes or zlib, got {encoding!r}")
    low, high = (None if content.get(key) is None else float(content[key]) for key in ("minimum", "maximum"))
    return Feature("numbers", shape, _dtype(name, place), encoding, (), optional, low, high)


def _image(content: Mapping[str, Any], shape: tuple[Length, ...], place: str) -> Feature:
    encoding = str(content.get("encodingFormat") or content.get("encoding_format") or "").lower()
    dtype = content.get("dtype", "uint8")
    if len(shape) != _RANK_OF_IMAGES or dtype not in _DTYPE_OF_IMAGES or encoding not in ("", "png", "jpeg"):
        raise SpecError(f"{place}: expected an image (height, width, channels) in PNG or JPEG, got {dict(content)}")
    return Feature("image", shape, np.dtype(dtype), encoding)


def _dtype(name: str, place: str) -> np.dtype[Any]:
    try:
        return dtypes.from_name(name)
    except ValueError as error:
        raise SpecError(f"{place}: {error}") from error


def _shape(content: Mapping[str, Any]) -> tuple[Length, ...]:
    shape = content.get("shape") or ()
    lengths = tuple(map(_length, shape.get("dimensions", ()) if isinstance(shape, dict) else shape))
    if len(lengths) > _MOST_DIMENSIONS or max((length or 0 for length in lengths), default=0) > _LONGEST:
        raise FormatError(f"expected a shape of at most {_MOST_DIMENSIONS} lengths up to {_LONGEST}, got {lengths}")
    return lengths


def _length(length: str | int | None) -> Length:
    return None if length is None or int(length) < 0 else int(length)
