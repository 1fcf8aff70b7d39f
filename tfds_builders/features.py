"""The TFDS features of a recorded dataset: exact, or an error.

An array is stored in TFDS's own encoding if that is exact, else as its bytes; see `encodings`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit import Dataset
from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.rlds_types import EPISODE_ID, STEPS
from rlds_kit.base.step import FLAGS, OBSERVATION, STEP_INDEX
from rlds_kit.loader.columns import column
from rlds_kit.loader.episodes import END
from rlds_kit.loader.layout import Leaf, layout
from rlds_kit.loader.metadata import Metadata, metadata_keys
from rlds_kit.loader.source import Source
from rlds_kit.loader.step_arrays import OBSERVATION_VALID
from rlds_kit.spec.describe import describe_spec
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage.stacking import spec_at
from rlds_kit.tfds_builders.encodings import (
    Encoding,
    has_signalling_nan,
    is_below,
    is_exact,
    require_arrays,
    signalling_fields,
)
from rlds_kit.tfds_builders.tfds_extra import tfds

IMAGE_CHANNELS: Final = (1, 3, 4)
"""Numbers of channels of uint8 arrays `[height, width, channels]` that are images. TensorFlow reads no PNG of two
channels."""
REFUSED: Final = "leave the field out: name the others in `select`"


def episode_features(
    dataset: Dataset,
    *,
    metadata: Sequence[str] | None = None,
    observation_valid: bool = False,
    compress: Collection[str] = (),
) -> Any:  # tfds.features.FeaturesDict
    """Makes the features of a dataset's episodes, with the names, dtypes and shapes of `dataset.as_tf_dataset()`.

    An image is an array of uint8 `[height, width, channels]` with 1, 3 or 4 channels, and becomes `Image`, stored as
    PNG. Text becomes `Text`, and every other array a `Tensor` in TFDS's own encoding, or as its bytes where that
    encoding would change it; all float16 and float32 fields are read for this check. TFDS has no tuples: a tuple or a
    list becomes a dict with the keys "0", "1" and so on, which is the only difference from `as_tf_dataset`.

    Args:
      dataset: `select` chooses fields.
      metadata: keys of episode metadata to include beside "steps"; None: all.
      observation_valid: whether steps have that field, as in `as_tf_dataset`. Required for data that lack
        final observations.
      compress: fields, or paths into them, whose arrays are stored compressed with zlib. Readers that skip decoding get
        strings instead.

    Raises:
      SpecError: TFDS cannot store a field or a key of metadata exactly, or `compress` names no array; the message names
        it.

    >>> episode_features(rlds_kit.open("data/pong"))["steps"]["observation"]  # doctest: +SKIP
    Image(shape=(210, 160, 3), dtype=uint8)
    """
    source = dataset.source()
    chosen = metadata_keys(dataset.episodes, source.metadata) if metadata is None else metadata
    columns = Metadata(dataset.episodes, chosen, source.metadata).examples
    changed = signalling_fields(dataset.episodes, source)
    return features_of(source, columns, observation_valid=observation_valid, changed=changed, compress=compress)


def features_of(
    source: Source,
    metadata: Mapping[str, np.ndarray],
    *,
    observation_valid: bool,
    changed: Collection[str] = (),
    compress: Collection[str] = (),
) -> Any:
    """The features of episodes.

    Args:
      source: of the steps, with their spec.
      metadata: `[n, ...]` by key: those of all episodes, or an example of their dtype and shape.
      observation_valid: whether steps have that field.
      changed: paths of arrays that TFDS's own encoding would change, whatever their dtype.
      compress: as for `episode_features`.

    Raises:
      SpecError: TFDS cannot hold a field or a key of metadata exactly, or `compress` names no array.
    """
    if taken := sorted(metadata.keys() & {STEPS, EPISODE_ID, END}):
        raise SpecError(f"{source.name}: metadata {taken} have names that an episode uses itself; leave them out")
    facts = {name: _fact(name, found) for name, found in metadata.items()}
    text = {EPISODE_ID: tfds.features.Text(), END: tfds.features.Text()}
    each = step_features(source, observation_valid=observation_valid, changed=changed, compress=compress)
    steps = tfds.features.Dataset(each)
    features = tfds.features.FeaturesDict({STEPS: steps, **text, **facts})
    _require_distinct(source.name, features.get_serialized_info())
    return features


def step_features(
    source: Source,
    *,
    observation_valid: bool = False,
    changed: Collection[str] = (),
    compress: Collection[str] = (),
) -> dict[str, Any]:  # of feature connectors
    """The features of a step, by the names of fields.

    Args:
      source: of the fields.
      observation_valid: whether steps have that field.
      changed: as for `features_of`.
      compress: as for `episode_features`.

    Raises:
      SpecError: TFDS cannot store a field exactly, or `compress` names no array.
    """
    names = [name for name in source.fields if name not in FLAGS]
    if STEP_INDEX in source.spec.fields and STEP_INDEX not in names:
        names.append(STEP_INDEX)
    flags = [*FLAGS, OBSERVATION_VALID] if observation_valid and OBSERVATION in names else FLAGS
    if taken := sorted({*names} & {*flags}):
        raise SpecError(f"{source.name} has a field {taken[0]!r} of its own; leave it out with `select`")
    layouts = {name: layout(source.spec, name, {}) for name in names}
    encode = Encode(frozenset(changed), frozenset(compress))
    found = {name: _field(source, leaves_of, encode) for name, leaves_of in layouts.items()}
    require_arrays(source.name, compress, encode.arrays)
    return found | {name: tfds.features.Tensor(shape=(), dtype=np.bool_) for name in flags}


def without_tuples(nest: Any) -> Any:
    """Converts tuples and lists to dicts.

    >>> without_tuples({"a": ("b", ["c"])})
    {'a': {'0': 'b', '1': {'0': 'c'}}}
    """
    match nest:
        case dict():
            return {key: without_tuples(item) for key, item in nest.items()}
        case tuple() | list():
            return {str(index): without_tuples(item) for index, item in enumerate(nest)}
    return nest


class Encode:
    """Chooses the encoding of arrays, and collects their paths."""

    def __init__(self, changed: frozenset[str], compress: frozenset[str]) -> None:
        self._changed, self._compress = changed, compress
        self.arrays: set[str] = set()

    def feature(self, shape: Sequence[int | None], dtype: np.dtype[Any], path: str, place: str, remedy: str) -> Any:
        """The feature of the array at a path; `place` and `remedy` as for `array_feature`."""
        encoding: Encoding | None = "bytes" if path in self._changed else None
        encoding = "zlib" if any(is_below(path, name) for name in self._compress) else encoding
        made = array_feature(shape, dtype, place, remedy, encoding=encoding)
        if type(made) is tfds.features.Tensor and made.np_dtype != np.dtype(object):
            self.arrays.add(path)
        return made


def _field(source: Source, found: Sequence[Leaf], encode: Encode) -> Any:  # a feature connector
    nest = leaves.nest({leaf.below: _Held(_leaf(source, leaf, encode)) for leaf in found})
    return _released(without_tuples(nest))


class _Held:
    """Wraps a feature, to distinguish it from the nest around it: some features are dicts."""

    def __init__(self, feature: Any) -> None:
        self.feature = feature


def _released(nest: Any) -> Any:
    if isinstance(nest, _Held):
        return nest.feature
    return tfds.features.FeaturesDict({key: _released(item) for key, item in nest.items()})


def _leaf(source: Source, leaf: Leaf, encode: Encode) -> Any:
    described = column(source.name, source.spec, leaf)
    if described.spec is not None:
        held, place = described.spec, f"{source.name}: {leaf.path}"
        return encode.feature(held.shape, held.dtype, leaf.path, place, REFUSED)
    return _text(is_text=isinstance(spec_at(source.spec, leaf.path), specs.Text))


def _fact(name: str, found: np.ndarray) -> Any:
    if found.dtype == object:
        return _text(is_text=all(isinstance(value, str) for value in found))
    remedy = "name the others in `metadata`"
    is_changed = has_signalling_nan(found)
    return fact_feature(found.shape[1:], found.dtype, f"metadata {name!r}", remedy, is_changed=is_changed)


def fact_feature(
    shape: Sequence[int | None], dtype: np.dtype[Any], place: str, remedy: str, *, is_changed: bool = True
) -> Any:
    """The feature of an array of episode metadata.

    Args:
      shape: as for `array_feature`.
      dtype: likewise.
      place: likewise.
      remedy: likewise.
      is_changed: whether TFDS's own encoding may change values of float16 and float32.
    """
    # Without TensorFlow, TFDS returns a single number of an episode as Python's int or float, without its dtype.
    is_lost = not shape and dtype not in (np.bool_, np.int64)
    is_lost |= is_changed and dtype.kind == "f"
    return array_feature(shape, dtype, place, remedy, encoding="bytes" if is_lost else None)


def _text(*, is_text: bool) -> Any:
    return tfds.features.Text() if is_text else tfds.features.Tensor(shape=(), dtype=np.object_)


def array_feature(
    shape: Sequence[int | None], dtype: np.dtype[Any], place: str, remedy: str, *, encoding: Encoding | None = None
) -> Any:
    """A feature of TFDS for an array that is read back bit for bit, as a tensor and as a NumPy array.

    Args:
      shape: None for an unknown dimension.
      dtype: of numbers, or fixed-width text.
      place: of the array, for messages.
      remedy: what to do if TFDS cannot store it, for messages.
      encoding: None: TFDS's own where it is exact except for signalling NaNs, otherwise the array's bytes.

    Raises:
      SpecError: TFDS cannot store it.

    >>> array_feature((84, 84, 1), np.dtype("uint8"), "observation", "leave it out")
    Image(shape=(84, 84, 1), dtype=uint8)
    """
    shape, dtype = tuple(shape), dtype.newbyteorder("=")
    is_known, is_empty = None not in shape, 0 in shape
    reason = _reason(shape, dtype)
    if reason:
        held = describe_spec(specs.Array(shape, dtype))
        raise SpecError(f"{place} holds {held}, and TensorFlow Datasets {reason}; {remedy}")
    if dtype.kind in "US":
        return tfds.features.Text() if dtype.kind == "U" and not shape else _plain(shape, np.dtype(object))
    if dtype == np.uint8 and is_known and not is_empty and len(shape) == 3 and shape[-1] in IMAGE_CHANNELS:
        return tfds.features.Image(shape=shape, dtype=np.uint8, encoding_format="png")
    if dtype == np.uint32:  # TensorFlow cannot read its bytes
        if encoding == "zlib":
            raise SpecError(
                f"{place} holds uint32, which TensorFlow reads in TFDS's own encoding only; do not compress it"
            )
        return _plain(shape, dtype)
    own: Encoding = "none" if is_exact(dtype, shape) else "bytes"
    return tfds.features.Tensor(shape=shape, dtype=dtype, encoding=encoding or own)


def _plain(shape: Sequence[int | None], dtype: np.dtype[Any]) -> Any:
    return tfds.features.Tensor(shape=shape, dtype=dtype)


def _reason(shape: tuple[int | None, ...], dtype: np.dtype[Any]) -> str:
    """The reason why TFDS cannot store an array; empty if it can."""
    is_plain = dtype.kind in "US" or dtype == np.uint32
    if is_plain and None in shape:
        return "stores text and uint32 as bytes of no array, so their shape must be known"
    if is_plain and 0 in shape:
        return "ends the process when it reads text or uint32 without elements"
    if shape.count(None) == 1 and 0 in shape:
        return "forgets an unknown length where there are no elements"
    return ""


def _require_distinct(name: str, serialized: Any) -> None:
    """Checks that paths of features are unique as text, because a stored example is flat."""
    seen: set[str] = set()
    for path in _paths(serialized):
        if path in seen:
            raise SpecError(f"{name}: two fields would both be stored as {path!r}; leave one out with `select`")
        seen.add(path)


def _paths(nest: Any, above: str = "") -> Iterator[str]:
    if not isinstance(nest, Mapping):
        yield above
        return
    for key, item in nest.items():
        yield from _paths(item, f"{above}/{key}" if above else key)
