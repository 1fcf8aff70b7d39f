"""Episodes written one after the other, as by `rlds.tfds.EpisodeWriter`, and fixes of its faults."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.tfds_builders import EpisodeWriter, generate_config_from_spec
from rlds_kit.tfds_builders.episode_writer import UNFINISHED

STEP = {
    "observation": {"camera": np.zeros((4, 5, 3), np.uint8), "joints": np.zeros(2, np.float32)},
    "action": np.zeros((1,), np.float32),
    "reward": np.float32(0),
    "discount": np.float32(1),
    "is_first": False,
    "is_last": False,
    "is_terminal": False,
}


def episode(number: int, length: int = 3) -> dict[str, Any]:
    """An episode that differs from others."""
    steps = [{**STEP, "reward": np.float32(number + step / 8)} for step in range(length)]
    return {"steps": steps, "episode_id": f"e{number}"}


def config(name: str = "toy") -> Any:
    """The config of such episodes."""
    steps = tf.data.Dataset.from_tensors(STEP)
    spec = {"steps": tf.data.DatasetSpec.from_value(steps), "episode_id": tf.TensorSpec([], tf.string)}
    return generate_config_from_spec(spec, name)


def rewards(path: Path, split: str = "train") -> list[list[float]]:
    """What a reader of TFDS gives, episode by episode."""
    builder = tfds.builder_from_directory(str(path))
    if builder.info.file_format == tfds.core.FileFormat.ARRAY_RECORD:
        return [[float(step["reward"]) for step in each["steps"]] for each in builder.as_data_source(split=split)]
    return [
        [float(step["reward"]) for step in each["steps"].as_numpy_iterator()]
        for each in builder.as_dataset(split=split, shuffle_files=False)
    ]


def expected(*numbers: int) -> list[list[float]]:
    """The rewards of these episodes."""
    return [[number + step / 8 for step in range(3)] for number in numbers]


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_what_is_written_is_read(tmp_path: Path, file_format: str) -> None:
    """All episodes come back in their order, over several shards."""
    with EpisodeWriter(str(tmp_path), config(), max_episodes_per_file=2, file_format=file_format) as writer:
        for number in range(5):
            writer.add_episode(episode(number))
    assert rewards(tmp_path) == expected(0, 1, 2, 3, 4)
    assert tfds.builder_from_directory(str(tmp_path)).info.splits["train"].shard_lengths == [2, 2, 1]


def test_steps_as_a_dataset_and_as_arrays(tmp_path: Path) -> None:
    """Steps may be a `tf.data.Dataset`, dicts, or one dict of arrays."""
    steps = episode(1)["steps"]
    stacked = tf.nest.map_structure(lambda *values: np.stack(values), *steps)
    dataset = tf.data.Dataset.from_tensor_slices(stacked)
    with EpisodeWriter(str(tmp_path), config()) as writer:
        for each in (steps, stacked, dataset):
            writer.add_episode({"steps": each, "episode_id": tf.constant("e")})
    assert rewards(tmp_path) == expected(1, 1, 1)


def test_arrays_of_one_element_are_written(tmp_path: Path) -> None:
    """An action of shape (1,) stays one: the config of the original squeezed it to a scalar that no value fitted."""
    with EpisodeWriter(str(tmp_path), config()) as writer:
        writer.add_episode(episode(0))
    builder = tfds.builder_from_directory(str(tmp_path))
    assert builder.info.features["steps"].feature["action"].shape == (1,)


def test_numbers_of_another_dtype_are_converted_if_nothing_changes(tmp_path: Path) -> None:
    """float64 for float32 is no error where it is the same number."""
    one = episode(0)
    one["steps"] = [{**step, "reward": np.float64(step["reward"])} for step in one["steps"]]
    with EpisodeWriter(str(tmp_path), config()) as writer:
        writer.add_episode(one)
    assert rewards(tmp_path) == expected(0)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("reward", np.float64(0.1), "step 1, reward: expected float32"),
        ("is_last", np.int64(1), "step 1, is_last: expected bool"),
        ("observation", np.zeros(2), "step 1, observation: expected a dict with camera, joints"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, field: str, value: object, message: str) -> None:
    """A value that its feature cannot store is an error that names the step and the field, and nothing is written."""
    one = episode(0)
    one["steps"][1] = {**one["steps"][1], field: value}
    with EpisodeWriter(str(tmp_path), config()) as writer:
        with pytest.raises(ValueError, match=message):
            writer.add_episode(one)
        writer.add_episode(episode(1))
    assert rewards(tmp_path) == expected(1)


def test_missing_and_unknown_fields_are_named(tmp_path: Path) -> None:
    """Metadata that are missing, or have no feature, are an error that names them."""
    with EpisodeWriter(str(tmp_path), config()) as writer:
        with pytest.raises(ValueError, match="episode_id is missing"):
            writer.add_episode({"steps": episode(0)["steps"]})
        with pytest.raises(ValueError, match="score has no feature"):
            writer.add_episode({**episode(0), "score": 1})
        with pytest.raises(ValueError, match="expected steps, got none"):
            writer.add_episode({"episode_id": "e"})


def test_an_exception_keeps_what_was_added(tmp_path: Path) -> None:
    """Leaving the context manager by an exception closes the writer."""
    with pytest.raises(RuntimeError), EpisodeWriter(str(tmp_path), config()) as writer:
        writer.add_episode(episode(0))
        raise RuntimeError
    assert rewards(tmp_path) == expected(0)


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_a_killed_writer_loses_nothing(tmp_path: Path, file_format: str) -> None:
    """After `kill -9` finished shards are read, and a writer that appends finds the episodes of the unfinished one."""
    program = f"""
import os, pathlib, signal, sys
sys.path.insert(0, {str(Path(__file__).parent.parent.parent)!r})
from tests.tfds_builders.test_episode_writer import *
writer = EpisodeWriter({str(tmp_path)!r}, config(), max_episodes_per_file=2, file_format={file_format!r})
for number in range(5):
    writer.add_episode(episode(number))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert rewards(tmp_path) == expected(0, 1, 2, 3)
    with EpisodeWriter(
        str(tmp_path), config(), max_episodes_per_file=2, overwrite=False, file_format=file_format
    ) as writer:
        writer.add_episode(episode(5))
    assert rewards(tmp_path) == expected(0, 1, 2, 3, 4, 5)
    assert list(tmp_path.glob("*.unfinished")) == []


def test_a_torn_record_is_left_out(tmp_path: Path) -> None:
    """Of an episode that a dying machine wrote by half, nothing is read."""
    writer = EpisodeWriter(str(tmp_path), config())
    writer.add_episode(episode(0))
    writer.add_episode(episode(1))
    (unfinished,) = tmp_path.glob("*.unfinished")
    torn = unfinished.read_bytes()[:-10]
    del writer
    unfinished.write_bytes(torn)
    with EpisodeWriter(str(tmp_path), config(), overwrite=False):
        pass
    assert rewards(tmp_path) == expected(0)


def test_overwriting_leaves_nothing_of_the_old_dataset(tmp_path: Path) -> None:
    """Shards of the replaced dataset are removed; other files are not."""
    (tmp_path / "notes.txt").write_text("mine")
    for count in (5, 1):
        with EpisodeWriter(str(tmp_path), config(), max_episodes_per_file=1) as writer:
            for number in range(count):
                writer.add_episode(episode(number))
    assert rewards(tmp_path) == expected(0)
    assert len(list(tmp_path.glob("toy-train.*"))) == 1
    assert (tmp_path / "notes.txt").exists()


def test_appending_to_other_features_is_refused(tmp_path: Path) -> None:
    """A dataset of other features, name or format is not written to."""
    with EpisodeWriter(str(tmp_path), config()) as writer:
        writer.add_episode(episode(0))
    other = config()
    other.action_info = tf.float64
    with pytest.raises(DatasetExistsError, match="other features"):
        EpisodeWriter(str(tmp_path), other, overwrite=False)
    with pytest.raises(DatasetExistsError, match="as array_record"):
        EpisodeWriter(str(tmp_path), config(), overwrite=False, file_format="array_record")
    with pytest.raises(DatasetExistsError, match="expected toy2"):
        EpisodeWriter(str(tmp_path), config("toy2"), overwrite=False)
    assert rewards(tmp_path) == expected(0)


def test_several_splits(tmp_path: Path) -> None:
    """Every split has its own episodes, and `add_episode` wants to know which."""
    with EpisodeWriter(str(tmp_path), config(), split_name=["train", "test"]) as writer:
        writer.add_episode_to_split(episode(0), "train")
        writer.add_episode_to_split(episode(1), "test")
        with pytest.raises(ValueError, match="add_episode_to_split"):
            writer.add_episode(episode(2))
        with pytest.raises(KeyError, match="validation"):
            writer.add_episode_to_split(episode(2), "validation")
    assert (rewards(tmp_path), rewards(tmp_path, "test")) == (expected(0), expected(1))


def test_without_a_split_name_the_directory_gives_it(tmp_path: Path) -> None:
    """As documented for the original."""
    with EpisodeWriter(str(tmp_path / "validation"), config(), split_name=None) as writer:
        writer.add_episode(episode(0))
    assert rewards(tmp_path / "validation", "validation") == expected(0)


@pytest.mark.parametrize(
    "wrong", [{"file_format": "parquet"}, {"split_name": "a-b"}, {"split_name": "all"}, {"max_episodes_per_file": 0}]
)
def test_arguments_are_checked(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """What cannot be written is refused before anything is."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EpisodeWriter(str(tmp_path / "new"), config(), **wrong)
    assert not (tmp_path / "new").exists()


def test_a_closed_writer_takes_nothing(tmp_path: Path) -> None:
    """Closing twice is harmless; adding after it is an error."""
    with EpisodeWriter(str(tmp_path), config()) as writer:
        writer.add_episode(episode(0))
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.add_episode(episode(1))
    assert rewards(tmp_path) == expected(0)


def test_metadata_is_written_once_a_shard(tmp_path: Path) -> None:
    """`dataset_info.json` is not written again for every episode."""
    with EpisodeWriter(str(tmp_path), config()) as writer:
        before = (tmp_path / "dataset_info.json").stat().st_mtime_ns
        for number in range(3):
            writer.add_episode(episode(number))
        assert (tmp_path / "dataset_info.json").stat().st_mtime_ns == before


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
@pytest.mark.parametrize("instant", range(1, 21))
def test_a_writer_killed_at_any_instant_loses_nothing(
    tmp_path: Path, file_format: str, instant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a writer had just done to a file when it died, also while it took over what another one left."""
    options: dict[str, Any] = {"max_episodes_per_file": 3, "file_format": file_format}
    EpisodeWriter(tmp_path, config(), **options).add_episode(episode(0))  # never closed, as if killed
    added = [0]
    with monkeypatch.context() as patched:
        _die_at(instant, patched)
        with pytest.raises(Killed):
            for number in range(1, 20):
                EpisodeWriter(tmp_path, config(), overwrite=False, **options).add_episode(episode(number))
                added.append(number)
    EpisodeWriter(tmp_path, config(), overwrite=False, **options).close()
    # The episode whose `add_episode` did not return may be there or not.
    assert rewards(tmp_path) in (expected(*added), expected(*added, len(added)))
    assert not [path for path in tmp_path.iterdir() if path.suffix == UNFINISHED]


class Killed(BaseException):
    """Stands for the end of the process."""


def _die_at(instant: int, patched: pytest.MonkeyPatch) -> None:
    """Ends the program when it has changed so many files; records that were not flushed are lost."""
    left = [instant]

    def counting(kind: Any, name: str) -> None:
        operation = getattr(kind, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            if left[0] <= 0:
                raise Killed
            done = operation(*arguments, **options)
            left[0] -= 1
            if not left[0]:
                raise Killed
            return done

        patched.setattr(kind, name, counted)

    for kind, names in ((Path, ("replace", "unlink")), (tf.io.TFRecordWriter, ("write", "flush"))):
        for name in names:
            counting(kind, name)
