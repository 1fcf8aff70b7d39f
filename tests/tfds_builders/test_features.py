"""The features of a recorded dataset, and the way back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import SpecError
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders.example import spec_of
from rlds_kit.tfds_builders.features import array_feature, episode_features, without_tuples
from tests.tfds_builders.every_dtype import DTYPES, IMAGES, REFUSED, SHAPES, record


def recorded(directory: Path, observation: object, metadata: dict[str, Any] | None = None, count: int = 1) -> Any:
    """Episodes of one action whose observations are all the same."""
    with EpisodeWriter(directory, record_time=False) as writer:
        for _ in range(count):
            with writer.episode(metadata=metadata or {}) as episode:
                episode.start(observation)
                episode.step(action=np.int64(0), reward=0.5, observation=observation, terminated=True)
    return rlds_kit.open(directory)


def feature_of(shape: tuple[int | None, ...], dtype: str) -> Any:
    """The feature of an array called x."""
    return array_feature(shape, np.dtype(dtype), "x", "leave it out")


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_are_stored_as_png(channels: int) -> None:
    """Of uint8, with a number of channels that TensorFlow reads."""
    feature = feature_of((8, 6, channels), "uint8")
    assert isinstance(feature, tfds.features.Image)
    assert (feature.shape, feature.encoding_format) == ((8, 6, channels), "png")


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((8, 6, 2), "uint8"), ((8, 6), "uint8"), ((8, 6, 3), "uint16"), ((None, 6, 3), "uint8"), ((0, 6, 3), "uint8")],
)
def test_other_arrays_are_no_images(shape: tuple[int | None, ...], dtype: str) -> None:
    """Two channels are no PNG that TensorFlow reads, and an image without elements is none either."""
    assert type(feature_of(shape, dtype)) is tfds.features.Tensor


def test_arrays_have_the_encoding_of_tfds_where_it_keeps_them() -> None:
    """For any size; arrays that it would change, or cannot store in a step, are stored as bytes."""
    kept = (((17,), "float32"), ((40, 40), "int32"), ((), "int8"), ((), "float16"), ((3,), "bool"), ((2,), "uint32"))
    stored = (((17,), "float64"), ((), "uint64"), ((2,), "complex64"), ((None, 3), "float32"), ((3, 0), "int16"))
    assert {feature_of(*what).to_proto().tensor.encoding for what in kept} == {"none"}
    assert {feature_of(*what).to_proto().tensor.encoding for what in stored} == {"bytes"}


@pytest.mark.parametrize("shape", [(None, 2), (0,)])
def test_uint32_of_such_a_shape_is_refused(shape: tuple[int | None, ...]) -> None:
    """TensorFlow has no way to read it."""
    with pytest.raises(SpecError, match=r"x holds uint32 .*; leave it out"):
        feature_of(shape, "uint32")


def test_an_unknown_length_of_nothing_is_refused() -> None:
    """Its length could not be determined afterwards."""
    with pytest.raises(SpecError, match=r"x holds float32 \(\?, 0\).* forgets"):
        feature_of((None, 0), "float32")


def test_every_field_has_a_feature(tmp_path: Path) -> None:
    """Nests, tuples, images, text, bytes and metadata are shaped as episodes are."""
    record(tmp_path)
    features = episode_features(rlds_kit.open(tmp_path))
    assert features.keys() == {"steps", "episode_id", "end", "score", "n", "won", "task", "raw", "weights"}
    steps = features["steps"].feature
    assert steps.keys() == {"observation", "action", "reward", "discount", "is_first", "is_last", "is_terminal"}
    observation = steps["observation"]
    assert observation.keys() == {*DTYPES, *IMAGES, "pair", "text", "raw"}
    assert {name: observation["float16"][name].shape for name in SHAPES} == SHAPES
    assert observation["uint32"].keys() == {name for name in SHAPES if ("uint32", name) not in REFUSED}
    assert isinstance(observation["pair"]["1"]["0"], tfds.features.Text)
    assert [features[name].np_dtype for name in ("score", "n", "won")] == [np.float64, np.int64, np.bool_]


def test_features_survive_their_json(tmp_path: Path) -> None:
    """TFDS writes them beside the data, and reads them back without us."""
    record(tmp_path)
    features = episode_features(rlds_kit.open(tmp_path))
    read = tfds.features.FeaturesDict.from_json(features.to_json())
    assert read.get_tensor_info() == features.get_tensor_info()
    assert read.get_serialized_info() == features.get_serialized_info()


def test_what_was_selected_has_features(tmp_path: Path) -> None:
    record(tmp_path)
    steps = episode_features(rlds_kit.open(tmp_path).select("reward", "observation/float64/few"), metadata=["n"])[
        "steps"
    ]
    assert steps.feature.keys() == {"reward", "observation", "is_first", "is_last", "is_terminal"}
    assert steps.feature["observation"].keys() == {"float64"}


def test_a_field_that_may_be_none_is_refused_by_name(tmp_path: Path) -> None:
    """The message says what to do."""
    spec = specs.Dict(
        {"observation": specs.Dict({"hint": specs.Optional(specs.Text())}), "action": specs.Array((), "int64")}
    )
    with EpisodeWriter(tmp_path, spec, record_time=False) as writer, writer.episode() as episode:
        episode.start({"hint": None})
        episode.step(action=1, reward=0.0, observation={"hint": "left"}, terminated=True)
    with pytest.raises(SpecError, match=r"observation/hint is None or missing at some steps.*select"):
        episode_features(rlds_kit.open(tmp_path))


@pytest.mark.parametrize("value", [{"a": 1}, [[1], [2, 3]], 2**70])
def test_metadata_that_is_no_array_is_refused_by_name(tmp_path: Path, value: object) -> None:
    """Unless other keys are chosen."""
    dataset = recorded(tmp_path, 0.5, {"kept": "text", "odd": value})
    with pytest.raises(SpecError, match="metadata 'odd'"):
        episode_features(dataset)
    assert "kept" in episode_features(dataset, metadata=["kept"])


def test_metadata_called_steps_are_refused(tmp_path: Path) -> None:
    """There would be two of that name."""
    with pytest.raises(SpecError, match=r"metadata \['steps'\]"):
        episode_features(recorded(tmp_path, 0.5, {"steps": 3}))


def test_two_paths_that_read_the_same_are_refused(tmp_path: Path) -> None:
    """A stored example has one list of names."""
    dataset = recorded(tmp_path, {"a/b": np.float32(1), "a": {"b": np.float32(2)}})
    with pytest.raises(SpecError, match="'steps/observation/a/b'"):
        episode_features(dataset)


def test_steps_say_whether_they_have_an_observation(tmp_path: Path) -> None:
    """If requested."""
    dataset = recorded(tmp_path, 0.5)
    assert "observation_valid" not in episode_features(dataset)["steps"].feature
    assert "observation_valid" in episode_features(dataset, observation_valid=True)["steps"].feature


def test_the_way_back_gives_the_spec(tmp_path: Path) -> None:
    """Of dtypes, shapes and kinds; bounds and names are lost, and a tuple remains a dict."""
    record(tmp_path)
    dataset = rlds_kit.open(tmp_path)
    step = spec_of(episode_features(dataset)["steps"].feature)
    assert isinstance(step, specs.Dict)
    flat, wanted = (_flattened(each) for each in (step.fields["observation"], dataset.spec.fields["observation"]))
    assert {**wanted, "pair/1/1": flat["pair/1/1"]} == flat  # TFDS has no text of a fixed width


def _flattened(spec: specs.Spec, path: str = "") -> dict[str, specs.Spec]:
    items: dict[str, specs.Spec] = {}
    match spec:
        case specs.Dict(fields):
            items = dict(fields)
        case specs.Tuple(parts) | specs.List(parts):
            items = {str(index): part for index, part in enumerate(parts)}
        case _:
            return {path: spec}
    below = [_flattened(item, f"{path}/{key}" if path else key) for key, item in items.items()]
    return {key: leaf for part in below for key, leaf in part.items()}


def test_the_way_back_from_features_of_others() -> None:
    """What other datasets of TFDS are made of."""
    features = tfds.features
    assert spec_of(features.ClassLabel(num_classes=3)) == specs.Array((), np.int64, num_values=3)
    assert spec_of(features.Sequence(np.float32, length=4)) == specs.Array((4,), np.float32)
    assert spec_of(features.Sequence({"a": np.int8})) == specs.Sequence(
        specs.Dict({"a": specs.Array((), np.int8)}), True
    )
    assert spec_of(features.BBoxFeature()) == specs.Array((4,), np.float32)
    assert spec_of(features.Video(shape=(None, 8, 8, 3))) == specs.Array((None, 8, 8, 3), np.uint8)
    assert spec_of(features.Dataset({"a": np.int8})) == specs.Sequence(specs.Dict({"a": specs.Array((), np.int8)}))


def test_tuples_become_dicts() -> None:
    assert without_tuples(({"a": [1]},)) == {"0": {"a": {"0": 1}}}
