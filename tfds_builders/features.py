"""What TensorFlow Datasets is told of episodes: the features of a recorded dataset, bit for bit or refused.

A `tf.train.Example` knows int64, float32 and bytes only. So the default encoding of `tfds.features.Tensor` rounds
float64, changes NaNs, and stores every integer of an array in up to ten bytes. Here each array is stored as its own
bytes; what is left to the default are numbers that it keeps exactly.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit import Dataset, Episode
from rlds_kit import spec as specs
from rlds_kit.errors import SpecError
from rlds_kit.feed.columns import column
from rlds_kit.feed.episodes import END
from rlds_kit.feed.metadata import metadata_columns
from rlds_kit.feed.step_arrays import OBSERVATION_VALID
from rlds_kit.loader.layout import Leaf, layout
from rlds_kit.loader.source import Source
from rlds_kit.rlds_types import EPISODE_ID, STEPS
from rlds_kit.spec.describe import describe_spec
from rlds_kit.stacking import spec_at
from rlds_kit.step import FLAGS, OBSERVATION, STEP_INDEX
from rlds_kit.storage import leaf as leaves
from rlds_kit.tfds_builders.tfds_extra import tfds

IMAGE_CHANNELS: Final = (1, 3, 4)
"""Of arrays `[height, width, channels]` of uint8 that are images. TensorFlow reads no PNG of two channels."""
ZLIB_BYTES: Final = 1024
"""Arrays from this size on are compressed; in smaller ones there is little to find."""
REFUSED: Final = "leave the field out: name the others in `select`"


def episode_features(
    dataset: Dataset, *, metadata: Sequence[str] | None = None, observation_valid: bool = False
) -> Any:  # tfds.features.FeaturesDict
    """The features of a dataset's episodes, of the same names, dtypes and shapes as `dataset.as_tf_dataset()` has.

    An image is an array of uint8 `[height, width, channels]` with 1, 3 or 4 channels, and becomes `Image`, stored as
    PNG. Text becomes `Text`, and every other array a `Tensor` that is stored as its bytes. TFDS has no tuples: a tuple
    or a list becomes a dict with the keys "0", "1" and so on, the one difference from `as_tf_dataset`.

    Args:
      dataset: `select` says which fields.
      metadata: keys of episode metadata, which stand beside "steps"; None has all that there are.
      observation_valid: whether steps have that field, as in `as_tf_dataset`. Data that lack final observations need
        it.

    Raises:
      SpecError: TFDS cannot hold a field or a key of metadata exactly; the message names it.

    >>> episode_features(rlds_kit.open("data/pong"))["steps"]["observation"]  # doctest: +SKIP
    Image(shape=(210, 160, 3), dtype=uint8)
    """
    chosen = metadata_keys(dataset.episodes) if metadata is None else metadata
    columns = metadata_columns(dataset.episodes, chosen)
    return features_of(dataset.source(), columns, observation_valid=observation_valid)


def features_of(source: Source, metadata: Mapping[str, np.ndarray], *, observation_valid: bool) -> Any:
    """The features of episodes.

    Args:
      source: says what steps hold.
      metadata: `[episodes, ...]` by key.
      observation_valid: whether steps have that field.

    Raises:
      SpecError: TFDS cannot hold a field or a key of metadata exactly.
    """
    if taken := sorted(metadata.keys() & {STEPS, EPISODE_ID, END}):
        raise SpecError(f"{source.name}: metadata {taken} have names that an episode uses itself; leave them out")
    facts = {name: _fact(name, found) for name, found in metadata.items()}
    text = {EPISODE_ID: tfds.features.Text(), END: tfds.features.Text()}
    steps = tfds.features.Dataset(step_features(source, observation_valid=observation_valid))
    features = tfds.features.FeaturesDict({STEPS: steps, **text, **facts})
    _require_distinct(source.name, features.get_serialized_info())
    return features


def metadata_keys(episodes: Iterable[Episode]) -> tuple[str, ...]:
    """The keys of metadata that some episode has, sorted.

    Raises:
      SpecError: one of them is no text.
    """
    found: set[object] = {key for episode in episodes for key in episode.metadata}
    for key in found:
        if not isinstance(key, str):
            raise SpecError(f"expected metadata with keys that are text, got {key!r}; name others in `metadata`")
    return tuple(sorted(key for key in found if isinstance(key, str)))


def step_features(source: Source, *, observation_valid: bool = False) -> dict[str, Any]:  # of feature connectors
    """The features of a step, by the names of fields.

    Args:
      source: whose fields.
      observation_valid: whether steps have that field.

    Raises:
      SpecError: TFDS cannot hold a field exactly.
    """
    names = [name for name in source.fields if name not in FLAGS]
    if STEP_INDEX in source.spec.fields and STEP_INDEX not in names:
        names.append(STEP_INDEX)
    flags = [*FLAGS, OBSERVATION_VALID] if observation_valid and OBSERVATION in names else FLAGS
    if taken := sorted({*names} & {*flags}):
        raise SpecError(f"{source.name} has a field {taken[0]!r} of its own; leave it out with `select`")
    found = {name: _field(source, layout(source.spec, name, {})) for name in names}
    return found | {name: tfds.features.Tensor(shape=(), dtype=np.bool_) for name in flags}


def without_tuples(nest: Any) -> Any:
    """Dicts in place of tuples and lists.

    >>> without_tuples({"a": ("b", ["c"])})
    {'a': {'0': 'b', '1': {'0': 'c'}}}
    """
    match nest:
        case dict():
            return {key: without_tuples(item) for key, item in nest.items()}
        case tuple() | list():
            return {str(index): without_tuples(item) for index, item in enumerate(nest)}
    return nest


def _field(source: Source, found: Sequence[Leaf]) -> Any:  # a feature connector
    nest = leaves.nest({leaf.below: _Held(_leaf(source, leaf)) for leaf in found})
    return _released(without_tuples(nest))


class _Held:
    """Keeps a feature apart from the nest it is in: some are dicts themselves."""

    def __init__(self, feature: Any) -> None:
        self.feature = feature


def _released(nest: Any) -> Any:
    if isinstance(nest, _Held):
        return nest.feature
    return tfds.features.FeaturesDict({key: _released(item) for key, item in nest.items()})


def _leaf(source: Source, leaf: Leaf) -> Any:
    described = column(source.name, source.spec, leaf)
    if described.spec is not None:
        return array_feature(described.spec.shape, described.spec.dtype, f"{source.name}: {leaf.path}", REFUSED)
    return _text(is_text=isinstance(spec_at(source.spec, leaf.path), specs.Text))


def _fact(name: str, found: np.ndarray) -> Any:
    if found.dtype == object:
        return _text(is_text=all(isinstance(value, str) for value in found))
    return array_feature(found.shape[1:], found.dtype, f"metadata {name!r}", "name the others in `metadata`")


def _text(*, is_text: bool) -> Any:
    return tfds.features.Text() if is_text else tfds.features.Tensor(shape=(), dtype=np.object_)


def array_feature(shape: Sequence[int | None], dtype: np.dtype[Any], place: str, remedy: str) -> Any:
    """The feature of an array that comes back bit for bit, out of TensorFlow and out of NumPy.

    Args:
      shape: None for a dimension that is not known.
      dtype: of numbers, or fixed-width text.
      place: what to call the array in a message.
      remedy: what to do where TFDS cannot hold it.

    Raises:
      SpecError: TFDS cannot hold it.

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
    if dtype == np.uint32 or (not shape and dtype.kind in "biu" and dtype != np.uint64):
        return _plain(shape, dtype)
    if dtype == np.uint8 and is_known and not is_empty and len(shape) == 3 and shape[-1] in IMAGE_CHANNELS:
        return tfds.features.Image(shape=shape, dtype=np.uint8, encoding_format="png")
    is_small = is_known and dtype.itemsize * int(np.prod([size or 0 for size in shape])) < ZLIB_BYTES
    return tfds.features.Tensor(shape=shape, dtype=dtype, encoding="bytes" if is_small else "zlib")


def _plain(shape: Sequence[int | None], dtype: np.dtype[Any]) -> Any:
    return tfds.features.Tensor(shape=shape, dtype=dtype)


def _reason(shape: tuple[int | None, ...], dtype: np.dtype[Any]) -> str:
    """Why an array cannot be held; empty where it can."""
    is_plain = dtype.kind in "US" or dtype == np.uint32
    if is_plain and None in shape:
        return "stores text and uint32 as bytes of no array, so their shape must be known"
    if is_plain and 0 in shape:
        return "ends the process when it reads text or uint32 without elements"
    if shape.count(None) == 1 and 0 in shape:
        return "forgets an unknown length where there are no elements"
    return ""


def _require_distinct(name: str, serialized: Any) -> None:
    """A stored example is flat: the paths of two features must not be the same text."""
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
