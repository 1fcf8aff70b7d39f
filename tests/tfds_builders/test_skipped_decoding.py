"""Builds as dlimp, and with it Octo and OpenVLA, read them: with TFDS's decoding of steps skipped."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from click.testing import CliRunner

import rlds_kit
from rlds_kit import SpecError
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders import EpisodesBuilder
from rlds_kit.tfds_builders.command import build
from rlds_kit.tfds_builders.encodings import SkippedDecodingWarning, has_signalling_nan, strings_when_skipped
from rlds_kit.tfds_builders.features import episode_features
from rlds_kit.tfds_builders.shards import convert_shards, serially

KEPT = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32")
STORED_AS_BYTES = ("uint64", "float64", "complex64", "complex128", "bfloat16")
SHAPES: dict[str, tuple[int, ...]] = {"scalar": (), "few": (2, 3), "many": (40, 40)}
SIGNALLING = np.array([0x7F800001], np.uint32).view(np.float32)[0]


def array(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Random bits, without signalling NaNs; -0.0, infinity, the smallest number and a NaN with a payload among them."""
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if kind.kind == "b":
        return rng.integers(2, size=shape).astype(bool) if shape else np.bool_(rng.integers(2))
    found = np.frombuffer(rng.bytes(int(np.prod(shape)) * kind.itemsize), kind).reshape(shape).copy()
    flat = found.reshape(-1)
    if dtype in {"float16", "float32"}:
        bits = flat.view(f"u{kind.itemsize}")
        quiet = {"float16": 0x7E01, "float32": 0x7FC00001}[dtype]
        bits[np.isnan(flat)] = quiet
        special = np.array([quiet, 0x8000 << (16 if kind.itemsize == 4 else 0), 1], bits.dtype)
        bits[: len(special)] = special[: len(bits)]
    return found if shape else found[()]


def record(path: Path, dtypes: tuple[str, ...], count: int = 2) -> list[list[dict[str, Any]]]:
    """Records episodes of 5 and 6 actions; returns their observations."""
    rng, truth = np.random.default_rng(0), []
    with EpisodeWriter(path, record_time=False) as writer:
        for number in range(count):
            seen = [
                {"camera": rng.integers(0, 256, (8, 6, 3), np.uint8), "task": "push"}
                | {f"{dtype}_{name}": array(dtype, shape, rng) for dtype in dtypes for name, shape in SHAPES.items()}
                for _ in range(6 + number)
            ]
            with writer.episode(metadata={"score": number / 3}) as episode:
                episode.start(seen[0])
                for row, observation in enumerate(seen[1:], 1):
                    action = np.array([row, -row], np.float32)
                    is_over = row == len(seen) - 1
                    episode.step(action=action, reward=np.float32(row), observation=observation, terminated=is_over)
            truth.append(seen)
    return truth


def skipped(directory: Path) -> list[dict[str, Any]]:
    """The episodes as dlimp reads them: dense steps, not decoded, and the metadata of each repeated."""
    builder = tfds.builder_from_directory(str(directory))
    decoders = {"steps": tfds.decode.SkipDecoding()}
    config = tfds.ReadConfig(skip_prefetch=True, interleave_cycle_length=1, try_autocache=False)
    episodes = builder.as_dataset(split="train", shuffle_files=False, decoders=decoders, read_config=config)

    def broadcast(episode: dict[str, Any]) -> dict[str, Any]:
        steps = episode.pop("steps")
        count = tf.shape(tf.nest.flatten(steps)[0])[0]
        about = tf.nest.map_structure(lambda value: tf.repeat(value, count), episode)
        return {**steps, "traj_metadata": about, "_len": tf.repeat(count, count)}

    return list(episodes.map(broadcast).as_numpy_iterator())


@pytest.mark.filterwarnings("ignore:label.. is deprecated:DeprecationWarning")
def test_every_number_has_its_dtype_shape_and_value(tmp_path: Path) -> None:
    """For every dtype that TFDS stores exactly; images are PNG, which dlimp decodes itself."""
    truth = record(tmp_path / "ours", KEPT)
    convert_shards(tmp_path / "ours", tmp_path / "arms" / "1.0.0", "tfrecord", executor=serially(), shards=1)
    for episode, seen in zip(skipped(tmp_path / "arms" / "1.0.0"), truth, strict=True):
        for name in seen[0]:
            found = episode["observation"][name]
            if name == "camera":
                found = np.stack([tf.io.decode_image(each).numpy() for each in found])
            elif name == "task":
                found = np.array([each.decode() for each in found])
            wanted = np.stack([step[name] for step in seen])
            assert (found.dtype, found.shape, found.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes()), name
        acted = np.array([[row, -row] for row in range(1, len(seen))], np.float32)
        assert episode["action"].dtype == np.float32
        assert episode["action"][:-1].tolist() == acted.tolist()
        assert (episode["reward"].dtype, episode["is_last"].dtype) == (np.float32, np.bool_)
        assert episode["is_last"].tolist() == [False] * (len(seen) - 1) + [True]
        assert episode["traj_metadata"]["score"].dtype == np.float64


@pytest.mark.filterwarnings("ignore:label.. is deprecated:DeprecationWarning")
def test_a_builder_of_tfds_is_read_likewise(tmp_path: Path) -> None:
    """`EpisodesBuilder` writes the same encodings."""
    truth = record(tmp_path / "ours", ("float32", "int16"), count=1)

    class SkippedArms(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        """Arms."""

        VERSION = tfds.core.Version("1.0.0")
        FOLDERS = {"train": tmp_path / "ours"}  # noqa: RUF012  as users write it

    builder = SkippedArms(data_dir=str(tmp_path / "tfds"), file_format="tfrecord")
    builder.download_and_prepare()
    (episode,) = skipped(Path(builder.data_dir))
    for name in ("float32_many", "int16_few", "float32_scalar"):
        assert episode["observation"][name].tobytes() == np.stack([step[name] for step in truth[0]]).tobytes()


def test_what_tfds_would_change_is_bytes_and_is_named_once(tmp_path: Path) -> None:
    """With one warning for all arrays; readers that decode get exact values, which the build itself checks."""
    record(tmp_path / "ours", ("float32", *STORED_AS_BYTES), count=1)
    with pytest.warns(SkippedDecodingWarning) as warned:
        convert_shards(tmp_path / "ours", tmp_path / "odd" / "1.0.0", "tfrecord", executor=serially())
    (warning,) = warned
    named = {f"observation/{dtype}_{shape} ({dtype})" for dtype in STORED_AS_BYTES for shape in SHAPES}
    assert all(each in str(warning.message) for each in named)
    assert "float32" not in str(warning.message).replace("as float32 or int64", "")


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_a_field_with_a_signalling_nan_is_bytes(tmp_path: Path, file_format: Any) -> None:
    """TFDS's own encoding would make it a quiet one; the other fields of the dtype are numbers."""
    with EpisodeWriter(tmp_path / "ours", record_time=False) as writer:
        for value in (np.float32(0), SIGNALLING):
            with writer.episode() as episode:
                episode.start({"odd": np.float32(1), "plain": np.float32("nan")})
                seen = {"odd": value, "plain": np.float32(2)}
                episode.step(action=np.int64(0), reward=np.float32(0), observation=seen, terminated=True)
    features = episode_features(rlds_kit.open(tmp_path / "ours"))
    assert strings_when_skipped(features) == {"observation/odd": "float32"}
    with pytest.warns(SkippedDecodingWarning, match=r"observation/odd \(float32\)"):
        report = convert_shards(tmp_path / "ours", tmp_path / "odd", file_format, executor=serially())
    assert report.episodes == 2  # compared bit for bit after writing


def test_folders_that_need_different_encodings_are_built_together(tmp_path: Path) -> None:
    """One of them has a signalling NaN, so the field is bytes in both."""
    for name, value in (("a", np.float32(1)), ("b", SIGNALLING)):
        with EpisodeWriter(tmp_path / name, record_time=False) as writer, writer.episode() as episode:
            episode.start({"odd": value})
            episode.step(action=np.int64(0), reward=np.float32(0), observation={"odd": value}, terminated=True)

    class TwoFolders(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        """Two."""

        VERSION = tfds.core.Version("1.0.0")
        FOLDERS = {"train": [tmp_path / "a", tmp_path / "b"]}  # noqa: RUF012  as users write it

    builder = TwoFolders(data_dir=str(tmp_path / "tfds"), file_format="tfrecord")
    with pytest.warns(SkippedDecodingWarning, match="observation/odd"):
        builder.download_and_prepare()
    assert builder.info.splits["train"].num_examples == 2


def test_signalling_nans_are_distinguished_from_quiet_ones() -> None:
    """Over all values of float16, and of other dtypes there are none."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    found = [has_signalling_nan(each) for each in every]
    assert [bool(np.isnan(each)) and not int(each.view(np.uint16)) & 0x200 for each in every] == found
    assert sum(found) == 1022
    assert not has_signalling_nan(np.array([np.nan], np.float64))
    assert has_signalling_nan(np.array([1, SIGNALLING], ">f4"))


def test_compression_is_an_option_by_name(tmp_path: Path) -> None:
    """Of a field or a path into it; what cannot be compressed is named with what can."""
    record(tmp_path, ("float32", "int64", "uint32"), count=1)
    dataset = rlds_kit.open(tmp_path)
    steps = episode_features(dataset, compress=["observation/float32_many", "action"])["steps"].feature
    found = {name: each.to_proto().tensor.encoding for name, each in (*steps["observation"].items(), *steps.items())}
    assert (found["float32_many"], found["action"], found["float32_few"]) == ("zlib", "zlib", "none")
    with pytest.raises(SpecError, match=r"compress: expected the names of arrays, got 'observation/camera'; there are"):
        episode_features(dataset, compress=["observation/camera"])
    with pytest.raises(SpecError, match="observation/uint32_few holds uint32"):
        episode_features(dataset, compress=["observation/uint32_few"])


def test_the_command_compresses_and_names_strings(tmp_path: Path) -> None:
    """Both in one run; there is no warning about requested compression."""
    record(tmp_path / "ours", ("float64", "int64"), count=1)
    place = [str(tmp_path / "ours"), str(tmp_path / "made"), "--format", "tfrecord", "--executor", "serial"]
    done = CliRunner().invoke(build, [*place, "--compress", "observation/int64_many"])
    assert done.exit_code == 0, done.output
    assert "observation/float64_few (float64)" in done.stderr
    assert "int64_many" not in done.stderr
    features = tfds.features.FeaturesDict.from_config(str(tmp_path / "made"))
    assert features["steps"].feature["observation"]["int64_many"].to_proto().tensor.encoding == "zlib"


def test_spec_of_many_negative_integers_is_not_taken_for_small(tmp_path: Path) -> None:
    """A negative int8 needs ten bytes in TFDS's own encoding, so an episode may be larger than its values."""
    from rlds_kit.tfds_builders.beam_examples import require_size

    spec = specs.Dict({"observation": specs.Array((1000,), np.int8), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path, spec, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.full(1000, -1, np.int8))
        episode.step(action=1, reward=np.float32(0), observation=np.full(1000, -1, np.int8), terminated=True)
    dataset = rlds_kit.open(tmp_path)
    from rlds_kit.tfds_builders.example import example

    features = episode_features(dataset)
    with pytest.raises(SpecError, match="expected at most 19,000 bytes"):
        require_size(example(dataset.episodes[0], features), features, "x", limit=19_000)
