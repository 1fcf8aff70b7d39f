"""Converts an episode to the argument of `features.encode_example`: dense arrays with the values of all readers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlds_kit import Episode
from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.rlds_types import EPISODE_ID, STEPS
from rlds_kit.base.step import FLAGS
from rlds_kit.loader.columns import plain
from rlds_kit.loader.episodes import END, WholeEpisodes
from rlds_kit.loader.last_step import LastStep, with_last_step
from rlds_kit.loader.metadata import metadata_columns
from rlds_kit.loader.source import Source
from rlds_kit.loader.step_arrays import OBSERVATION_VALID, StepArrays
from rlds_kit.spec.describe import describe_value
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_table import table_of
from rlds_kit.tfds_builders.features import without_tuples
from rlds_kit.tfds_builders.tfds_extra import tfds


def example(episode: Episode, features: Any, last_step: LastStep = "zeros") -> dict[str, Any]:
    """An episode as a nest of arrays for `features.encode_example`.

    Args:
      episode: of a dataset, not a part of one.
      features: the result of `episode_features` for the dataset; only these fields and metadata are read.
      last_step: as for `as_tf_dataset`.

    Returns:
      `{"steps": {field: [T, ...], ...}, "episode_id": bytes, "end": bytes, ...}` with the values of `as_tf_dataset`:
        undefined ones are zeros. A field whose shape changes is an object array `[T]` of arrays.

    Raises:
      DamagedError: a step is damaged.
      SpecError: a value does not fit its feature, or the episode lacks metadata.

    >>> features.encode_example(example(dataset.episodes[0], features))  # doctest: +SKIP
    """
    steps = features[STEPS].feature
    source = with_last_step(_source(episode, steps), last_step)
    table = WholeEpisodes([episode], source)
    arrays = StepArrays(table, observation_valid=OBSERVATION_VALID in steps, last_step=last_step)
    stacked = without_tuples(arrays.steps(0, range(int(source.lengths[0]))))
    _require_fit(stacked, steps, "")
    of_episode = {EPISODE_ID: str(episode.id), END: "" if episode.end is None else episode.end.value}
    names = [name for name in features if name not in (STEPS, *of_episode)]
    facts = {name: _fact(name, found[0], features[name]) for name, found in metadata_columns([episode], names).items()}
    return {STEPS: stacked, **{name: text.encode() for name, text in of_episode.items()}, **facts}


def _source(episode: Episode, steps: Any) -> Source:
    """Reads one episode, with the features of the whole dataset."""
    entry, reader = episode._entry, episode._reader()  # noqa: SLF001  an episode does not know its dataset
    declared = episode._declared.fields  # noqa: SLF001
    names = [name for name in steps if name not in (*FLAGS, OBSERVATION_VALID)]
    fields = {name: declared.get(name) or spec_of(steps[name]) for name in names}
    return Source(
        name=f"episode {episode.id}",
        entries=Entries([table_of([entry])]),
        numbers=np.zeros(1, np.int64),
        ended=np.array([episode.end is not None]),
        reader=lambda _: reader,
        spec=specs.Dict(fields),
        fields=(*names, *FLAGS),
    )


def _require_fit(nest: Any, feature: Any, path: str) -> None:
    """Checks dtypes, because TFDS would cast scalars without an error."""
    if isinstance(nest, dict):
        for key, item in nest.items():
            place = f"{path}/{key}" if path else key
            if key not in feature:
                raise SpecError(
                    f"{place}: the features have no such field; take the episode from what they were made of"
                )
            _require_fit(item, feature[key], place)
    elif nest.dtype != object:
        info = feature.get_tensor_info()
        if nest.dtype != info.np_dtype or nest.shape[1:] != info.shape:
            raise SpecError(f"{path}: expected {info.np_dtype} {info.shape}, got {describe_value(nest[:1])} of steps")


def _fact(name: str, found: Any, feature: Any) -> Any:
    """Metadata in the dtype that represents those of all episodes."""
    if isinstance(found, str | bytes):
        return plain(np.array(found, object), name)[()]
    info = feature.get_tensor_info()
    cast = np.asarray(found).astype(info.np_dtype)
    if cast.shape != info.shape or not np.array_equal(cast.astype(found.dtype), found, equal_nan=True):
        raise SpecError(f"metadata {name!r}: expected {info.np_dtype} {info.shape}, got {describe_value(found)}")
    return cast


def spec_of(feature: Any) -> specs.Spec:
    """The spec of the values of a feature, as they are read.

    A `Dataset` or a `Sequence` becomes the spec of many elements, stacked as TFDS stacks them; `feature["steps"]` of an
    episode therefore is a `Sequence` whose `element` is the spec of a step. Arrays of text of any length are `Any`.

    Args:
      feature: a `tfds.features.FeatureConnector`.

    Raises:
      SpecError: no spec describes its values.

    >>> camera = tfds.features.Image(shape=(64, 64, 3))
    >>> spec_of(tfds.features.FeaturesDict({"camera": camera, "task": tfds.features.Text()}))
    Dict({'camera': Array((64, 64, 3), uint8), 'task': Text()})
    """
    match feature:
        case tfds.features.FeaturesDict():
            return specs.Dict({key: spec_of(item) for key, item in feature.items()})
        case tfds.features.Dataset():
            return specs.Sequence(spec_of(feature.feature))
        case tfds.features.Sequence():
            return _stacked(spec_of(feature.feature), feature)
        case tfds.features.ClassLabel() if feature.num_classes:
            return specs.Array((), np.int64, num_values=feature.num_classes)
        case tfds.features.Text() if not feature.shape:
            return specs.Text()
    return _array(feature, feature.get_tensor_info())


def _stacked(element: specs.Spec, feature: Any) -> specs.Spec:
    if isinstance(element, specs.Array):
        (length, *_) = feature.shape
        return specs.Array((length, *element.shape), element.dtype)
    return specs.Sequence(element, stacked=True)


def _array(feature: Any, info: Any) -> specs.Spec:
    if isinstance(info, Mapping):
        raise SpecError(f"{feature!r} gives a dict that no spec describes; leave it out")
    if info.np_dtype != np.dtype(object):
        return specs.Array(info.shape, info.np_dtype)
    return specs.Any() if info.shape else specs.Bytes()
