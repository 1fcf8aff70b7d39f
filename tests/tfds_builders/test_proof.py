"""What was written is compared with the source, whatever happens in between."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import rlds_kit
from rlds_kit.base.errors import DamagedError
from rlds_kit.tfds_builders import EpisodesBuilder, ProofError
from rlds_kit.tfds_builders.example_digest import example_digests
from rlds_kit.tfds_builders.proof import prove
from tests.tfds_builders.recordings import record

CHECKOUT = Path(__file__).parent.parent.parent


class Toy(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
    """A builder whose data is set by each test."""

    VERSION = tfds.core.Version("1.0.0")


def builder_of(path: Path, kind: type[Toy] = Toy) -> Any:
    """A builder of the recording in `path/data`, which writes to `path/out`."""
    builder: Any = kind(data_dir=path / "out")
    builder.FOLDERS = {"train": path / "data"}
    return builder


def nothing_is_left(path: Path) -> bool:
    """Whether there is no dataset, not even a part of one."""
    return not [file for file in (path / "out" / "toy").rglob("*") if file.is_file()]


Records = Iterable[tuple[Any, bytes]]


def tampering(change: Callable[[list[tuple[Any, bytes]]], list[tuple[Any, bytes]]]) -> type[Toy]:
    """A builder whose files differ from its input."""

    class Writer(tfds.core.writer.ExampleWriter):  # type: ignore[misc]  # TFDS has no types
        def write(self, path: Any, examples: Records) -> Any:
            return super().write(path, iter(change(list(examples))))

    class Tampered(Toy, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        name = "toy"

        def _example_writer(self) -> Any:
            return Writer(file_format=self.info.file_format)

    return Tampered


def with_other_reward(records: list[tuple[Any, bytes]]) -> list[tuple[Any, bytes]]:
    """One bit of one reward of one episode is another."""
    key, data = records[1]
    example = tf.train.Example.FromString(data)
    values = example.features.feature["steps/reward"].float_list.value
    values[2] = np.nextafter(np.float32(values[2]), np.float32(np.inf))
    return [records[0], (key, example.SerializeToString()), *records[2:]]


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_a_changed_value_fails_the_build(tmp_path: Path, file_format: str) -> None:
    """The error names split, episode and field, and nothing is left."""
    dataset = rlds_kit.open(record(tmp_path / "data"))
    builder = builder_of(tmp_path, tampering(with_other_reward))
    with pytest.raises(
        ProofError, match=r"split 'train': episode '(.*)' was written with other values of steps/reward"
    ) as no:
        builder.download_and_prepare(file_format=file_format)
    assert any(str(episode.id) in str(no.value) for episode in dataset.episodes)
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_a_lost_episode_fails_the_build(tmp_path: Path, file_format: str) -> None:
    """So does a writer that forgets one."""
    record(tmp_path / "data")
    builder = builder_of(tmp_path, tampering(lambda records: records[:-1]))
    with pytest.raises(ProofError, match="split 'train'"):
        builder.download_and_prepare(file_format=file_format)
    assert nothing_is_left(tmp_path)


def test_an_episode_twice_fails_the_build(tmp_path: Path) -> None:
    record(tmp_path / "data")
    builder = builder_of(tmp_path, tampering(lambda records: [records[0], *records[:-1]]))
    with pytest.raises(ProofError, match="split 'train': episode"):
        builder.download_and_prepare()
    assert nothing_is_left(tmp_path)


def test_files_that_cannot_be_read_fail_the_build(tmp_path: Path) -> None:
    """For any error of the reader."""
    record(tmp_path / "data")
    builder = builder_of(tmp_path, tampering(lambda records: [(key, data[: len(data) // 2]) for key, data in records]))
    with pytest.raises(ProofError, match="cannot be read back"):
        builder.download_and_prepare()
    assert nothing_is_left(tmp_path)


def test_a_corrupted_input_shard_fails_with_its_name(tmp_path: Path) -> None:
    """And with what is damaged in it."""
    path = record(tmp_path / "data", 6)
    (shard,) = path.glob("episodes-*.riegeli")
    content = bytearray(shard.read_bytes())
    where = content.find(rlds_kit.open(path).episodes[3].metadata["player"].encode())
    content[where + 400] ^= 255
    shard.write_bytes(content)
    with pytest.raises(DamagedError, match=shard.name):
        builder_of(tmp_path).download_and_prepare()
    assert nothing_is_left(tmp_path)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {checkout!r})
from tests.tfds_builders import test_proof
from rlds_kit.tfds_builders import DatasetSource

reads = []
original = DatasetSource.episodes
def slow(self, part):
    for episode in original(self, part):
        reads.append(episode.key)
        if len(reads) == {stop}:
            print("here", flush=True)
            import time; time.sleep(600)
        yield episode
DatasetSource.episodes = slow
test_proof.builder_of(Path({path!r})).download_and_prepare()
"""


@pytest.mark.thorough
@pytest.mark.parametrize("stop", [2, 5], ids=["while writing", "while proving"])
def test_a_killed_build_starts_again(tmp_path: Path, stop: int) -> None:
    """After `kill -9` there is no dataset; the next build makes it and removes what the killed one left."""
    record(tmp_path / "data")
    program = KILLED.format(checkout=str(CHECKOUT), path=str(tmp_path), stop=stop)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert any(b"here" in line for line in process.stdout)
        left = list((tmp_path / "out" / "toy").glob("incomplete.*"))
        assert len(left) == 1
        _other_builds_are_left_alone(tmp_path, left[0])
        process.send_signal(signal.SIGKILL)
    assert left[0].exists()
    builder_of(tmp_path).download_and_prepare()
    assert [path.name for path in (tmp_path / "out" / "toy").iterdir()] == ["1.0.0"]
    assert builder_of(tmp_path).info.splits["train"].num_examples == 3
    assert not list((tmp_path / "out").rglob(".rlds_kit*"))


def _other_builds_are_left_alone(path: Path, directory: Path) -> None:
    """A build beside one that is under way does not take its directory away."""
    other = builder_of(path)
    with pytest.raises(ProofError):
        builder_of(path, tampering(lambda records: records[:-1])).download_and_prepare()
    assert other.info.splits == {}
    assert directory.exists()


def test_only_some_episodes_are_proved_where_only_some_are_wanted(tmp_path: Path) -> None:
    """`--max_examples_per_split` is no loss."""
    record(tmp_path / "data")
    builder = builder_of(tmp_path)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(max_examples_per_split=2))
    assert builder.info.splits["train"].num_examples == 2


def digests(**fields: bytes) -> dict[str, bytes]:
    """Digests of eight bytes."""
    return {name: value.ljust(8) for name, value in fields.items()}


def test_episodes_of_equal_content() -> None:
    """Two of them must be written twice."""
    twins = [("a", digests(reward=b"1")), ("b", digests(reward=b"1"))]
    assert prove("train", twins, twins) == 2
    with pytest.raises(ProofError, match="1 are missing"):
        prove("train", twins, twins[:1])
    with pytest.raises(ProofError, match="no episode of the source is left"):
        prove("train", twins[:1], twins)


def test_the_most_similar_episode_is_named() -> None:
    """The one that shares the most fields with what was found."""
    source = [(key, digests(a=key, b=b"same", c=key)) for key in (b"x", b"y", b"z")]
    named = [(key.decode(), found) for key, found in source]
    with pytest.raises(ProofError, match="episode 'y' was written with other values of c than"):
        prove("train", named, [("?", digests(a=b"y", b=b"same", c=b"?"))])


FEATURES = tfds.features.FeaturesDict(
    {"steps": tfds.features.Dataset({"value": tfds.features.Tensor(shape=(None,), dtype=np.float64), "tag": np.str_})}
)


@settings(max_examples=40)
@given(st.lists(arrays.arrays(np.float64, st.integers(0, 3)), min_size=1, max_size=4), st.data())
def test_a_digest_depends_on_values_only(values: list[np.ndarray], data: Any) -> None:
    """However steps are cut into stretches it is the same; another length or one more step changes it."""

    def rows(items: list[np.ndarray]) -> np.ndarray:
        made = np.empty(len(items), object)
        made[:] = items
        return made

    def digest(parts: list[list[np.ndarray]]) -> dict[str, bytes]:
        steps = [{"value": rows(part) if part else [], "tag": ["t"] * len(part)} for part in parts]
        return example_digests({"steps": iter(steps)}, FEATURES)

    cut = data.draw(st.integers(0, len(values)))
    assert digest([values]) == digest([values[:cut], values[cut:]])
    assert digest([values])["steps/value"] != digest([[*values, np.zeros(0)]])["steps/value"]
    changed = [value.copy() for value in values]
    at = data.draw(st.integers(0, len(values) - 1))
    changed[at] = np.append(changed[at], 1.0)
    assert digest([values])["steps/value"] != digest([changed])["steps/value"]


def test_dense_and_single_steps_have_one_digest() -> None:
    """So what tf.data gives in batches and what a data source gives step by step compare."""
    features = tfds.features.FeaturesDict(
        {
            "steps": tfds.features.Dataset({"a": tfds.features.Tensor(shape=(2,), dtype=np.int16), "b": np.str_}),
            "c": np.bool_,
        }
    )
    values, tags = np.arange(6, dtype=np.int16).reshape(3, 2), np.array([b"x", b"yy", b""], object)

    def one_by_one() -> Iterator[dict[str, Any]]:
        for value, tag in zip(values, tags, strict=True):
            yield {"a": [value], "b": [tag.decode()]}

    dense = example_digests({"steps": {"a": values, "b": tags}, "c": True}, features)
    assert dense == example_digests({"steps": one_by_one(), "c": np.True_}, features)
    assert dense != example_digests({"steps": {"a": values.astype(np.int32), "b": tags}, "c": True}, features)
