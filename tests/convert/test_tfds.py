"""Datasets written by the real TFDS, read without it: against what was written, and against what TFDS itself reads."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.errors import DamagedError, FormatError, NotADatasetError, SpecError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.convert import conversion, formats
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.protocol import PartReader
from rlds_kit.convert.tfds.directory import open_directory
from rlds_kit.convert.tfds.episodes import episodes
from rlds_kit.convert.tfds.features import FILE, spec_of
from rlds_kit.convert.tfds_opener import convert
from rlds_kit.storage.array_rows import ArrayRows
from tests.convert.tfds_writing import FLAGS, steps_of, write

F = tfds.features
DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
STRINGS = ("", "a\0b", "ü✓", "long " * 50)


def converted(path: Path, target: Path, split: str = "all") -> rlds_kit.Dataset:
    """A dataset of ours with the episodes of a prepared one."""
    convert(open_directory(path), split, target)
    return rlds_kit.open(target)


def values_of(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers of a dtype, including its extremes; floats rounded to float32, because TFDS stores only that."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        found = rng.normal(size=shape).astype(np.float16)
        special = np.array([np.nan, -0.0, np.inf, np.finfo(np.float16).tiny], np.float16)[: found.size]
        found.reshape(-1)[: len(special)] = special
        return found.astype(dtype)
    limits = np.iinfo(dtype)
    found = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    found.reshape(-1)[:1] = limits.min
    found.reshape(-1)[1:2] = limits.max
    return found


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are bit for bit the same, of the same dtype and shape; nests element by element."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, str | bytes):
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(is_same(a, b) for a, b in zip(one, other, strict=True))
    one, other = np.asarray(one), np.asarray(other)
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def of_every_kind() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Features of every kind that is known, and three episodes."""
    numbers: dict[str, Any] = {}
    for dtype in DTYPES:
        as_numpy = np.dtype(dtype).type
        numbers[f"{dtype}_scalar"] = F.Scalar(as_numpy)
        numbers[f"{dtype}_plain"] = F.Tensor(shape=(2, 3), dtype=as_numpy)
        numbers[f"{dtype}_bytes"] = F.Tensor(shape=(2, 3), dtype=as_numpy, encoding="bytes")
        numbers[f"{dtype}_zlib"] = F.Tensor(shape=(None, None, 1), dtype=as_numpy, encoding="zlib")
        numbers[f"{dtype}_sequence"] = F.Sequence(as_numpy)
    others = {
        "text": F.Text(),
        "string": F.Scalar(np.str_),
        "strings": F.Tensor(shape=(2,), dtype=np.str_),
        "texts": F.Sequence(F.Text()),
        "label": F.ClassLabel(names=["left", "right"]),
        "box": F.BBoxFeature(),
        "png": F.Image(shape=(5, 4, 3), encoding_format="png"),
        "grey": F.Image(shape=(5, 4, 1)),
        "grey_alpha": F.Image(shape=(5, 4, 2), encoding_format="png"),
        "alpha": F.Image(shape=(None, None, 4), encoding_format="png"),
        "deep": F.Image(shape=(5, 4, 1), dtype=np.uint16, encoding_format="png"),
        "deep_colour": F.Image(shape=(5, 4, 3), dtype=np.uint16, encoding_format="png"),
        "depth": F.Image(shape=(5, 4, 1), dtype=np.float32),
        "images": F.Sequence(F.Image(shape=(5, 4, 3))),
        "video": F.Video(shape=(2, 5, 4, 3)),
        "pairs": F.Sequence({"number": np.int32, "name": F.Text()}),
        "fixed": F.Sequence(F.Tensor(shape=(2,), dtype=np.float32), length=3),
        "ragged": F.Sequence(F.Sequence(np.int16)),
        "nest": F.FeaturesDict({"inner": {"x": np.float32}, "walker/height": np.float32}),
    }
    features = {
        "steps": F.Dataset({"observation": numbers | others, **FLAGS}),
        "facts": numbers | others,
        "score": np.int32,
    }
    made: list[dict[str, Any]] = [{"facts": values(seed), "score": seed} for seed in (100, 200, 300)]
    for seed, episode in enumerate(made, 1):
        episode["steps"] = [
            {"observation": values(10 * seed + row), **flags} for row, flags in enumerate(steps_of(seed + 1))
        ]
    return features, made


def values(seed: int) -> dict[str, Any]:
    """One value for each feature of `of_every_kind`."""
    rng = np.random.default_rng(seed)
    numbers: dict[str, Any] = {}
    for dtype in DTYPES:
        numbers[f"{dtype}_scalar"] = values_of(dtype, (1,), seed)[0]
        numbers[f"{dtype}_plain"] = values_of(dtype, (2, 3), seed)
        numbers[f"{dtype}_bytes"] = values_of(dtype, (2, 3), seed + 1)
        numbers[f"{dtype}_zlib"] = values_of(dtype, (seed % 3, 4, 1), seed)
        numbers[f"{dtype}_sequence"] = values_of(dtype, (seed % 4,), seed)
    pixels = {
        "uint8": rng.integers(0, 256, (5, 4, 4), np.uint8),
        "uint16": rng.integers(0, 65536, (5, 4, 3), np.uint16),
    }
    frames = rng.integers(0, 256, (2, 5, 4, 3), np.uint8)
    return numbers | {
        "text": STRINGS[seed % 4],
        "string": STRINGS[(seed + 1) % 4],
        "strings": np.array([STRINGS[seed % 4], "b"], object),
        "texts": list(STRINGS[: seed % 4]),
        "label": seed % 2,
        "box": F.BBox(0.25, 0.5, 0.75, 1.0),
        "png": pixels["uint8"][..., :3],
        "grey": pixels["uint8"][..., :1],
        "grey_alpha": pixels["uint8"][..., :2],
        "alpha": pixels["uint8"],
        "deep": pixels["uint16"][..., :1],
        "deep_colour": pixels["uint16"],
        "depth": values_of("float32", (5, 4, 1), seed),
        "images": [frames[0]] * (seed % 3),
        "video": frames,
        "pairs": [{"number": number, "name": str(number)} for number in range(seed % 3)],
        "fixed": rng.normal(size=(3, 2)).astype(np.float32),
        "ragged": [list(range(length)) for length in range(seed % 4)],
        "nest": {"inner": {"x": np.float32(seed)}, "walker/height": np.float32(-seed)},
    }


def given(name: str, value: Any) -> Any:
    """A value of `values` as it comes back."""
    match name:
        case "string":
            return value.encode()
        case "strings":
            return tuple(each.encode() for each in value)
        case "texts":
            return tuple(value)
        case "label":
            return np.int64(value)
        case "box":
            return np.array([0.25, 0.5, 0.75, 1.0], np.float32)
        case "images":
            return np.array(value, np.uint8).reshape(-1, 5, 4, 3)
        case "pairs":
            return {
                "number": np.array([pair["number"] for pair in value], np.int32),
                "name": tuple(pair["name"] for pair in value),
            }
        case "ragged":
            return tuple(np.array(row, np.int16) for row in value)
    return value


@pytest.fixture(scope="module", params=["tfrecord", "array_record"])
def everything(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with every feature, in both formats."""
    features, made = of_every_kind()
    return write(tmp_path_factory.mktemp("every"), features, {"train": made}, file_format=request.param)


def test_every_feature_comes_back(everything: Path, tmp_path: Path) -> None:
    """All dtypes, encodings, images, text and sequences, of steps and of episodes, bit for bit as they were given."""
    dataset = converted(everything, tmp_path / "ours")
    assert len(dataset.episodes) == 3
    for episode in dataset.episodes:
        number = int(episode.metadata["score"]) // 100
        assert episode.length == number + 1
        for row, step in enumerate(episode.steps):
            for name, value in values(10 * number + row).items():
                assert is_same(given(name, value), step["observation"][name]), name
        for name, value in values(100 * number).items():
            assert is_same(given(name, value), episode.metadata["facts"][name]), name


@pytest.mark.parametrize(
    ("file_format", "more"), [("tfrecord", ("uint8_zlib",)), ("array_record", ("int32_sequence",))]
)
def test_agrees_with_tfds(tmp_path: Path, file_format: str, more: tuple[str, ...]) -> None:
    """TFDS itself reads the same values from the same files, where it can, through tf.data or as a data source."""
    paths = ("bool_plain", "uint16_plain", "int64_scalar", "float16_plain", "float64_plain", "float64_bytes", *more)
    paths += ("png", "deep_colour", "grey", "alpha", "box", "label")
    every, made = of_every_kind()
    features = {name: every["facts"][name] for name in paths}
    for episode in made:
        del episode["facts"]
        episode["steps"] = [
            {"observation": {name: step["observation"][name] for name in paths}} | {name: step[name] for name in FLAGS}
            for step in episode["steps"]
        ]
    episode_features = {"steps": F.Dataset({"observation": features, **FLAGS}), "score": np.int32}
    path = write(tmp_path, episode_features, {"train": made}, file_format=file_format)
    builder = tfds.builder_from_directory(path)
    is_source = file_format == "array_record"
    theirs = builder.as_data_source("train") if is_source else tfds.as_numpy(builder.as_dataset(split="train"))
    count = 0
    for ours, other in zip(episodes(open_directory(path)), theirs, strict=True):
        assert ours.metadata["score"] == other["score"]
        for row, step in enumerate(other["steps"]):
            for name in paths:
                assert np.array_equal(
                    ours.columns[f"observation/{name}"][row], step["observation"][name], equal_nan=True
                ), name
                count += 1
    assert count == len(paths) * (2 + 3 + 4)


def test_spec(everything: Path) -> None:
    """Shapes, dtypes, classes, and what is text."""
    spec = spec_of(open_directory(everything).features.steps).fields["observation"]
    assert isinstance(spec, specs.Dict)
    assert spec.fields["label"] == specs.Array((), np.int64, num_values=2)
    assert spec.fields["uint8_zlib"] == specs.Array((None, None, 1), np.uint8)
    assert spec.fields["images"] == specs.Array((None, 5, 4, 3), np.uint8)
    assert spec.fields["fixed"] == specs.Array((3, 2), np.float32)
    assert spec.fields["ragged"] == specs.Sequence(specs.Array((None,), np.int16))
    assert (spec.fields["text"], spec.fields["string"]) == (specs.Text(), specs.Bytes())


def test_what_is_known_of_the_dataset_is_kept(everything: Path, tmp_path: Path) -> None:
    """Name, version, split, citation, licence, names of classes, and what the source has lost."""
    dataset = converted(everything, tmp_path / "ours", "train")
    assert dataset.metadata["citation"] == "@misc{sample}"
    assert dataset.metadata["licence"] == dataset.description["licence"] == "CC-BY-4.0"
    source = dataset.metadata["source"]
    assert (source["name"], source["version"], source["split"]) == ("sample:1.2.3", "1.2.3", "train")
    assert source["urls"] == ["https://sample.example"]
    assert source["lossy_at_the_source"]["facts/float64_plain"] == "float64 stored as float32"
    assert "facts/float64_bytes" not in source["lossy_at_the_source"]
    assert dataset.metadata["class_names"]["steps/observation/label"] == ["left", "right"]
    place = dataset.episodes[1].provenance["source"]
    assert (place["split"], place["record"]) == ("train", 1)


def test_jpeg_is_reported_as_lossy(tmp_path: Path) -> None:
    """JPEG is decoded as TFDS decodes it without TensorFlow, and the dataset says that it was JPEG, declared or not."""
    frame = np.full((16, 16, 3), 100, np.uint8)
    frame[4:8, 4:8] = 200
    file = tmp_path / "frame.jpg"
    import cv2

    cv2.imwrite(str(file), frame)
    features = {
        "steps": F.Dataset(
            {"a": F.Image(shape=(16, 16, 3), encoding_format="jpeg"), "b": F.Image(shape=(16, 16, 3)), **FLAGS}
        )
    }
    steps = [{"a": frame, "b": str(file), **flags} for flags in steps_of(2)]
    path = write(tmp_path, features, {"train": [{"steps": steps}]}, file_format="array_record")
    dataset = converted(path, tmp_path / "ours")
    assert dataset.metadata["source"]["lossy_at_the_source"] == {"steps/a": "jpeg", "steps/b": "jpeg"}
    (theirs,) = tfds.builder_from_directory(path).as_data_source("train")
    for ours, other in zip(dataset.episodes[0].steps, theirs["steps"], strict=True):
        assert np.array_equal(ours["a"], other["a"])
        assert np.abs(ours["b"].astype(int) - frame).max() < 20


def transitions_features(**more: Any) -> dict[str, Any]:
    """Features of a small environment."""
    step = {"observation": F.Tensor(shape=(2,), dtype=np.float32), "action": np.int32, "reward": np.float32}
    return {"steps": F.Dataset({**step, "discount": np.float32, **FLAGS}), **more}


def filled(steps: list[dict[str, Any]], *, last_action: int = 0, last_reward: float = 0.0) -> dict[str, Any]:
    """An episode with actions and rewards from 1 on, but on the last step."""
    for row, step in enumerate(steps):
        is_end = row == len(steps) - 1
        step["observation"] = np.array([row, -row], np.float32)
        step["action"] = np.int32(last_action if is_end else row + 1)
        step["reward"] = np.float32(last_reward if is_end else row + 1)
        step["discount"] = np.float32(1)
    return {"steps": steps}


def test_as_rlds_says(tmp_path: Path) -> None:
    """RL Unplugged and what EnvLogger recorded: nothing is defined on a last step, which is padded with zeros."""
    made = [filled(steps_of(4)), filled(steps_of(3, is_terminal=False))]
    dataset = converted(write(tmp_path, transitions_features(), {"train": made}), tmp_path / "ours")
    first, second = dataset.episodes
    assert (first.end, second.end) == (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)
    assert (first.length, second.length) == (4, 3)
    assert first["action"].tolist() == [1, 2, 3, 0]
    assert first.mask("action").tolist() == first.mask("discount").tolist() == [True, True, True, False]
    assert first.mask("observation").all()
    assert dataset.metadata["source"]["last_steps"]["terminal"] == "no action"


def test_last_steps_with_actions(tmp_path: Path) -> None:
    """Open X-Embodiment: the last step has a real action; no observation after it is invented."""
    features = transitions_features(episode_metadata={"file_path": F.Text(), "episode_id": np.int32})
    steps = features["steps"].feature
    features["steps"] = F.Dataset(
        {**steps, "language_instruction": F.Text(), "language_embedding": F.Tensor(shape=(4,), dtype=np.float32)}
    )
    made = [
        filled(steps_of(3), last_action=7, last_reward=1)
        | {"episode_metadata": {"file_path": "a.pkl", "episode_id": 0}},
        filled(steps_of(2), last_action=0, last_reward=0)
        | {"episode_metadata": {"file_path": "b.pkl", "episode_id": 1}},
    ]
    for episode in made:
        for step in episode["steps"]:
            step |= {"language_instruction": "pick up", "language_embedding": np.ones(4, np.float32)}
    dataset = converted(write(tmp_path, features, {"train": made}), tmp_path / "ours")
    first, second = dataset.episodes
    assert first["action"].tolist() == [1, 2, 7, 0]
    assert first.mask("action").tolist() == first.mask("observation").tolist() == [True, True, True, False]
    assert first.mask("language_instruction").tolist() == [True, True, True, False]
    assert first.metadata["episode_metadata"] == {"file_path": "a.pkl", "episode_id": 0}
    assert second.mask("action").tolist() == [True, True, False], "what one of them holds, all of their kind do"
    assert first.end is second.end is EpisodeEnd.TERMINATED
    batch = next(iter(dataset.transitions().batches(8)))
    assert batch["reward"].shape == (5,)
    assert batch["valid"]["next_observation"].sum() == 3


def test_time_limits_of_d4rl(tmp_path: Path) -> None:
    """Terminal episodes were given a dummy of a final step, episodes that timed out end with a real action."""
    made = [filled(steps_of(3)), filled(steps_of(3, is_terminal=False), last_action=9, last_reward=0.5)]
    dataset = converted(write(tmp_path, transitions_features(), {"train": made}), tmp_path / "ours")
    terminal, timed_out = dataset.episodes
    assert terminal.mask("action").tolist() == [True, True, False]
    assert (timed_out["action"].tolist(), timed_out["reward"].tolist()) == ([1, 2, 9, 0], [1, 2, 0.5, 0])
    assert timed_out.mask("observation").tolist() == [True, True, True, False]
    assert (terminal.end, timed_out.end) == (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)
    described = dataset.metadata["source"]["last_steps"]
    assert (described["terminal"], described["not terminal"]) == ("no action", "an action")


def test_an_episode_without_an_end(tmp_path: Path) -> None:
    """Where no step is the last, the action of the last stored one counts, and the episode is INTERRUPTED."""
    made = [filled(steps_of(3, is_last=False, is_terminal=False))]
    dataset = converted(write(tmp_path, transitions_features(), {"train": made}), tmp_path / "ours")
    (episode,) = dataset.episodes
    assert episode.end is EpisodeEnd.INTERRUPTED
    assert episode.mask("action").tolist() == [True, True, True, False]


def test_flags_in_the_middle_are_kept(tmp_path: Path) -> None:
    """Flags that the place of a step does not explain are fields of their own."""
    steps = steps_of(4)
    steps[1]["is_terminal"] = True
    dataset = converted(
        write(tmp_path, transitions_features(), {"train": [filled(steps), filled(steps_of(2))]}), tmp_path / "ours"
    )
    odd, plain = dataset.episodes
    assert odd["recorded_is_terminal"].tolist() == [False, True, False, True]
    assert odd["is_terminal"].tolist() == [False, False, False, True]
    assert "recorded_is_terminal" not in plain.fields


def test_episodes_without_steps_are_named(tmp_path: Path) -> None:
    """They cannot be stored, and that is reported."""
    made = [filled(steps_of(2)), {"steps": []}, filled(steps_of(3))]
    dataset = converted(write(tmp_path, transitions_features(), {"train": made}), tmp_path / "ours")
    assert dataset.lengths() == [2, 3]
    assert dataset.metadata["source"]["episodes_without_steps"] == ["sample-train.tfrecord-00000-of-00001, record 1"]


def test_optional_features(tmp_path: Path) -> None:
    """Metadata that an episode lacks is not there, rather than a number that stands for nothing."""
    features = transitions_features(seed=F.Scalar(np.int64, optional=True))
    made = [filled(steps_of(2)) | {"seed": 5}, filled(steps_of(2)) | {"seed": None}]
    dataset = converted(write(tmp_path, features, {"train": made}), tmp_path / "ours")
    assert [episode.metadata for episode in dataset.episodes] == [{"seed": 5}, {}]


def test_splits_and_shards(tmp_path: Path) -> None:
    """A slice over several files gives the episodes that TFDS gives, in the order of the files."""
    features = transitions_features(number=np.int64)
    made = {
        "train": [filled(steps_of(2)) | {"number": number} for number in range(11)],
        "test": [filled(steps_of(2)) | {"number": 100 + number} for number in range(4)],
    }
    path = write(tmp_path, features, made, shards=3)
    builder = tfds.builder_from_directory(path)
    ordered = tfds.ReadConfig(interleave_cycle_length=1)
    for split in (
        "train",
        "test",
        "train[:50%]",
        "train[3:-2]",
        "train[-1shard:]+test[:1]",
        "train[1shard]",
        "train[90%:]",
    ):
        theirs = [int(each["number"]) for each in builder.as_dataset(split=split, read_config=ordered)]
        ours = [int(each.metadata["number"]) for each in episodes(open_directory(path), split)]
        assert ours == theirs, split


def test_several_splits_want_a_choice(tmp_path: Path) -> None:
    """So that test data are not used for training by accident."""
    made = {"train": [filled(steps_of(2))], "test": [filled(steps_of(2))]}
    directory = open_directory(write(tmp_path, transitions_features(), made))
    with pytest.raises(ValueError, match="has the splits train, test: say which"):
        next(episodes(directory))
    assert len(list(episodes(directory, "all"))) == 2


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_any_episodes_are_read_without_those_before_them(tmp_path: Path, file_format: str) -> None:
    """Over the bounds of files and splits, with the same values."""
    made = {
        split: [filled(steps_of(2)) | {"number": first + number} for number in range(5)]
        for first, split in ((0, "train"), (100, "test"))
    }
    path = write(tmp_path, transitions_features(number=np.int64), made, shards=2, file_format=file_format)
    reader = formats.recognised(path).open(path)
    assert isinstance(reader, PartReader)
    sizes = reader.weigh(lambda _: None)
    whole = [content_of(each) for each in reader]
    assert len(reader) == len(sizes) == len(whole) == len(set(whole)) == 10
    for begin, end in ((0, 3), (2, 8), (4, 6), (9, 10), (5, 5)):
        assert [content_of(each) for each in reader.read(begin, end)] == whole[begin:end]


def test_episodes_are_weighed_by_their_steps(tmp_path: Path) -> None:
    """Not by the size of their records, which says little of the time where frames are compressed."""
    made = [filled(steps_of(length)) | {"text": "x" * size} for length, size in ((2, 0), (6, 0), (2, 5_000))]
    path = write(tmp_path, transitions_features(text=F.Text()), {"train": made})
    reader = formats.recognised(path).open(path)
    assert isinstance(reader, PartReader)
    one, three, other = reader.weigh(lambda _: None)
    assert one == other
    assert abs(three - 3 * one) <= 3  # they are rounded


def test_converted_as_any_other_format(tmp_path: Path) -> None:
    """Several workers give the same result as `rlds_kit.open` with one; losses at the source are reported."""
    features = transitions_features(weight=F.Scalar(np.float64))
    made = [filled(steps_of(3)) | {"weight": number} for number in range(6)]
    path = write(tmp_path, features, {"train": made}, shards=2)
    report = conversion.convert(path, tmp_path / "by-two", workers=2, part_bytes=200)
    assert (report.source_format, report.episodes, report.steps) == ("tfds", 6, 18)
    assert report.lossy_at_the_source == {"weight": "float64 stored as float32"}
    ours = converted(path, tmp_path / "ours")
    assert rlds_kit.open(tmp_path / "by-two").content_digest == ours.content_digest
    assert rlds_kit.open(tmp_path / "by-two").metadata["source"] == {**ours.metadata["source"], "split": "all"}


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A dataset of six episodes in three files."""
    return write(tmp_path, transitions_features(), {"train": [filled(steps_of(3)) for _ in range(6)]}, shards=3)


def test_a_damaged_file_is_named(prepared: Path, tmp_path: Path) -> None:
    """Nothing is left of the conversion that stopped at it."""
    file = prepared / "sample-train.tfrecord-00001-of-00003"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedError, match=rf"{file.name}.*byte"):
        convert(open_directory(prepared), None, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_damaged_array_record_is_named(tmp_path: Path) -> None:
    """Every chunk of an ArrayRecord file has a hash."""
    path = write(tmp_path, transitions_features(), {"train": [filled(steps_of(200))]}, file_format="array_record")
    (file,) = path.glob("*.array_record-*")
    data = bytearray(file.read_bytes())
    data[300] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedError, match=rf"{file.name}.*bytes \d+ to \d+"):
        list(episodes(open_directory(path)))
    file.write_bytes(data[:70_000])
    with pytest.raises(DamagedError, match=rf"{file.name}: expected an ArrayRecord file with its index"):
        list(episodes(open_directory(path)))


def test_a_file_cut_between_records_is_found(prepared: Path) -> None:
    """Whole records that are missing at the end match every checksum, but not the number that the dataset says."""
    files = sorted(prepared.glob("*.tfrecord-*"))
    first = files[0].read_bytes()
    length = int.from_bytes(first[:8], "little") + 16
    files[0].write_bytes(first[:length])
    with pytest.raises(
        FormatError, match=rf"{files[0].name}: expected 2 episodes, as dataset_info.json says, but there are 1"
    ):
        list(episodes(open_directory(prepared)))
    files[0].write_bytes(first * 2)
    with pytest.raises(FormatError, match=r"expected 2 episodes, as dataset_info.json says, but there are"):
        list(episodes(open_directory(prepared)))
    files[0].unlink()
    with pytest.raises(NotADatasetError, match=f"{files[0].name}: dataset_info.json names this file"):
        list(episodes(open_directory(prepared)))


def test_what_is_written_is_compared(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that changes on its way to the disk fails the conversion."""
    from rlds_kit.storage.episode_recorder import EpisodeRecorder

    extend = EpisodeRecorder.extend

    def faulty(self: EpisodeRecorder, observed: ArrayRows, acted: ArrayRows) -> None:
        columns = {**acted.columns, "reward": acted.columns["reward"] + np.float32(1)}
        extend(self, observed, ArrayRows(columns, acted.length))

    monkeypatch.setattr(EpisodeRecorder, "extend", faulty)
    with pytest.raises(FormatError, match=r"episode 0 of what was written is not what was read"):
        convert(open_directory(prepared), None, tmp_path / "ours")


@pytest.mark.parametrize(
    ("feature", "named"),
    [
        (F.Translation(["en", "fr"]), "facts: no reader for the feature Translation"),
        (F.LabeledImage(labels=3, shape=(4, 4, 1)), "facts: no reader for the feature LabeledImage"),
        (F.Dataset({"x": np.int32}), "facts: no reader for the feature Dataset"),
    ],
)
def test_unknown_features_are_named(prepared: Path, feature: Any, named: str) -> None:
    """Nothing is guessed about features that have no reader."""
    features = F.FeaturesDict({"steps": F.Dataset(FLAGS), "facts": feature})
    features.save_config(prepared)
    with pytest.raises(SpecError, match=named):
        open_directory(prepared)


def test_features_in_the_older_form(everything: Path, tmp_path: Path) -> None:
    """Datasets of older versions of TFDS describe their features otherwise: the same spec comes out."""
    path = tmp_path / "old"
    shutil.copytree(everything, path)
    before = open_directory(path).features
    features = F.FeaturesDict.from_config(str(everything))
    (path / FILE).write_text(json.dumps(older(features)))
    assert open_directory(path).features == before


def older(feature: Any) -> Any:
    """A feature as TFDS 4.2 wrote it: a tree of types and contents."""
    kind = f"{type(feature).__module__}.{type(feature).__qualname__}"
    match feature:
        case F.FeaturesDict():
            return {"type": kind, "content": {name: older(each) for name, each in feature.items()}}
        case F.Video():
            return {"type": kind, "content": {"shape": list(feature.shape), "encoding_format": "png"}}
        case F.Sequence() | F.Dataset():
            return {"type": kind, "content": {"feature": older(feature.feature), "length": feature._length}}
    from google.protobuf.json_format import MessageToDict

    message = feature.to_json_content()
    content = MessageToDict(message, preserving_proto_field_name=True)
    if "shape" in content:
        content["shape"] = [None if int(size) < 0 else int(size) for size in content["shape"].get("dimensions", ())]
    return {"type": kind, "content": content}


def test_a_dataset_of_no_episodes_is_refused(prepared: Path) -> None:
    """A dataset without steps is not one of RLDS, which the error states."""
    F.FeaturesDict({"image": F.Image()}).save_config(prepared)
    with pytest.raises(FormatError, match=r"features.json.*expected a feature 'steps' of kind Dataset"):
        open_directory(prepared)
    (prepared / FILE).write_text("{")
    with pytest.raises(FormatError, match=r"features.json: expected the features of a TFDS dataset"):
        open_directory(prepared)
    with pytest.raises(NotADatasetError, match="expected a dataset prepared by TFDS"):
        open_directory(prepared.parent)


def test_own_exports_come_back(tmp_path: Path) -> None:
    """`observation_valid` and `end`, which this library writes, restore a missing final observation and the end."""
    features = transitions_features(end=F.Text())
    features["steps"] = F.Dataset({**features["steps"].feature, "observation_valid": np.bool_})
    lacks = filled(steps_of(3, is_terminal=False)) | {"end": "interrupted"}
    whole = filled(steps_of(3)) | {"end": "terminated"}
    for row in range(3):
        lacks["steps"][row]["observation_valid"] = row < 2
        whole["steps"][row]["observation_valid"] = True
    dataset = converted(write(tmp_path, features, {"train": [lacks, whole]}), tmp_path / "ours")
    found, other = dataset.episodes
    assert other.mask("observation").all()
    assert "observation_valid" not in other.fields
    assert found.end is EpisodeEnd.INTERRUPTED
    assert found.mask("observation").tolist() == found.mask("action").tolist() == [True, True, False]
    assert "observation_valid" not in found.fields


def test_lone_surrogates_come_back(tmp_path: Path) -> None:
    """Text that UTF-8 has no bytes for, as our builders write it."""
    text = "a\ud800b"
    episode = filled(steps_of(2)) | {"note": text.encode("utf-8", "surrogatepass")}
    path = write(tmp_path, transitions_features(note=F.Text()), {"train": [episode]})
    (found,) = converted(path, tmp_path / "ours").episodes
    assert found.metadata["note"] == text


@pytest.mark.parametrize("file", [FILE, "dataset_info.json"])
def test_metadata_that_are_too_large_are_not_read(tmp_path: Path, file: str) -> None:
    """A file of any size may be called so; what TFDS writes has some kilobytes."""
    made = write(tmp_path, {"steps": F.Dataset(FLAGS)}, {"train": [{"steps": steps_of(2)}]})
    with (made / file).open("r+b") as opened:
        opened.truncate((1 << 26) + 1)
    with pytest.raises(FormatError, match=rf"{re.escape(str(made / file))}: .*at most 67108864 bytes, got 67108865"):
        open_directory(made)
