"""`rlds_kit.open` of what lies elsewhere or is of another format."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit.base.cache import CacheError, cache_directory, made_once
from rlds_kit.base.errors import FormatError, NotADatasetError
from rlds_kit.convert import tfds_opener as converter
from rlds_kit.remote.errors import RemoteError
from rlds_kit.storage.whole_directory import new_directory
from tests.convert.tfds_writing import FLAGS, steps_of, write

F = tfds.features
CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def prepare(data_dir: Path, count: int = 3, first: int = 0, **options: Any) -> Path:
    """A dataset of TFDS with a number for each episode, counted from `first`, in two splits."""
    features = {"steps": F.Dataset({"observation": np.float32, "action": np.int32, **FLAGS}), "number": np.int64}
    splits = {}
    for begin, split in ((first, "train"), (first + 1_000, "test")):
        splits[split] = [
            {"steps": [{"observation": np.float32(row), "action": 0, **flags} for row, flags in enumerate(steps_of(5))]}
            | {"number": begin + number}
            for number in range(count)
        ]
    return write(data_dir, features, splits, **options)


def numbers(dataset: rlds_kit.Dataset) -> list[int]:
    """The number of each episode."""
    return [int(episode.metadata["number"]) for episode in dataset.episodes]


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str) -> None:
    """Name, configuration, version and split, in the place that `data_dir` or TFDS's own variable says."""
    prepare(tmp_path / "data", config="small", file_format=file_format)
    whole = rlds_kit.open("tfds:sample/small:1.2.3", split="train", data_dir=tmp_path / "data")
    assert numbers(whole) == [0, 1, 2]
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "data"))
    assert numbers(rlds_kit.open("tfds:sample/small?split=train[1:]+test[:1]")) == [1, 2, 1000]
    assert numbers(rlds_kit.open("tfds:sample:1.*.*", split="all")) == [0, 1, 2, 1000, 1001, 1002]


def test_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that TFDS prepared opens like one of ours, absolute or not, with or without the scheme."""
    path = prepare(tmp_path)
    monkeypatch.chdir(path.parent)
    for location in (path, str(path), f"tfds:{path}", "./1.2.3", "tfds:./1.2.3"):
        assert numbers(rlds_kit.open(location, split="test")) == [1000, 1001, 1002]


def test_second_open_is_immediate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conversion is made once for each split, and again when a file of the source is another one."""
    path = prepare(tmp_path)
    first = rlds_kit.open(path, split="train")
    conversions = []
    convert = converter.convert

    def counted(*given: Any) -> None:
        conversions.append(given)
        convert(*given)

    monkeypatch.setattr(converter, "convert", counted)
    assert rlds_kit.open(path, split="train").path == first.path
    assert rlds_kit.open(path, split="train[:3]").path == first.path, "the same episodes in other words"
    assert conversions == []
    rlds_kit.open(path, split="test")
    assert len(conversions) == 1
    (file,) = path.glob("*-train.*")
    os.utime(file, ns=(0, 0))
    assert rlds_kit.open(path, split="train").path != first.path
    assert len(conversions) == 2


def test_copies_are_distinguished(tmp_path: Path) -> None:
    """Other episodes in files of the same names, sizes and times."""
    paths = [prepare(tmp_path / name, first=first) for name, first in (("one", 10), ("other", 20))]
    for path in paths:
        for file in path.iterdir():
            os.utime(file, ns=(0, 0))
    one, other = ({file.name: file.stat().st_size for file in path.iterdir()} for path in paths)
    assert one == other
    assert [numbers(rlds_kit.open(path, split="train")) for path in paths] == [[10, 11, 12], [20, 21, 22]]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable that says where the cache is."""
    path = prepare(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(CacheError, match=r"file/cache: converted data cannot be stored there .*set RLDS_KIT_CACHE"):
        rlds_kit.open(path, split="train")


def test_all_that_a_dataset_can(tmp_path: Path) -> None:
    """What was converted is a dataset of ours: loaders, views, pickles and commands."""
    path = prepare(tmp_path)
    dataset = rlds_kit.open(path, split="train")
    assert dataset.path.parent == cache_directory()
    batch = next(iter(dataset.windows(2).batches(4, shuffle="global", seed=0)))
    assert batch["observation"].shape == (4, 2)
    assert len(dataset.where(lambda metadata: metadata["number"] > 0).episodes) == 2
    for command in (["info"], ["stats", "--json"], ["plot", "--json"]):
        done = run(["-m", "rlds_kit", command[0], f"tfds:{path}?split=train", *command[1:]])
        assert done.returncode == 0, done.stderr


def run(arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    """Runs Python with these arguments."""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=False)


def test_what_is_not_prepared(tmp_path: Path) -> None:
    """The error says how to prepare it, and where it was looked for."""
    prepare(tmp_path)
    with pytest.raises(NotADatasetError, match=r"'other' is not prepared in .*download_and_prepare"):
        rlds_kit.open("tfds:other", data_dir=tmp_path)
    with pytest.raises(NotADatasetError, match=r"'sample:2.0.0' is not prepared"):
        rlds_kit.open("tfds:sample:2.0.0", data_dir=tmp_path)
    with pytest.raises(NotADatasetError, match=r"with features.json and dataset_info.json"):
        rlds_kit.open(f"tfds:{tmp_path}")
    with pytest.raises(ValueError, match="expected the name of a dataset of TFDS"):
        rlds_kit.open("tfds:a b")


def test_several_configurations_want_a_choice(tmp_path: Path) -> None:
    """Which one is the default only TFDS's own code knows."""
    prepare(tmp_path, config="small")
    prepare(tmp_path, config="large")
    with pytest.raises(ValueError, match="several configurations; say which: sample/large, sample/small"):
        rlds_kit.open("tfds:sample", data_dir=tmp_path)


def test_locations_of_no_known_kind(tmp_path: Path) -> None:
    """Schemes that are not known, and arguments that belong to others, are refused."""
    with pytest.raises(RemoteError, match="nonsense://bucket/x: Protocol not known: nonsense; check the URL"):
        rlds_kit.open("nonsense://bucket/x")
    with pytest.raises(ValueError, match="split and data_dir belong to datasets of TFDS"):
        rlds_kit.open(tmp_path, split="train")
    with pytest.raises(ValueError, match="split and data_dir belong to datasets of TFDS"):
        rlds_kit.open("hf://org/name", split="train")
    with pytest.raises(ValueError, match=r"expected \?split=\.\.\. and nothing else"):
        rlds_kit.open("tfds:sample?shard=1")
    with pytest.raises(NotADatasetError, match="expected a dataset, but it has no shard"):
        rlds_kit.open(tmp_path)


def test_a_failed_conversion_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    """The next open starts anew, and works when the source is whole again."""
    path = prepare(tmp_path)
    (file,) = path.glob("*-train.*")
    whole = file.read_bytes()
    stat = file.stat()
    file.write_bytes(whole[:-20])
    with pytest.raises((FormatError, rlds_kit.DamagedError)):
        rlds_kit.open(path, split="train")
    assert [each.name for each in cache.iterdir() if not each.name.endswith(".lock")] == []
    file.write_bytes(whole)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert numbers(rlds_kit.open(path, split="train")) == [0, 1, 2]


SLOWLY = """
import pathlib, sys, time
import rlds_kit
from rlds_kit.storage.episode_recorder import EpisodeRecorder
extend = EpisodeRecorder.extend
def slowly(self, *given):
    pathlib.Path(sys.argv[2]).touch()
    time.sleep(0.05)
    extend(self, *given)
EpisodeRecorder.extend = slowly
print(rlds_kit.open(sys.argv[1], split="train").path)
"""


def slowly(path: Path, sign: Path) -> "subprocess.Popen[str]":
    """Starts a process that converts slowly and makes the file `sign` when it has begun to write."""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen([sys.executable, "-c", SLOWLY, path, sign], env=env, stdout=subprocess.PIPE, text=True)
    while not sign.exists():
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_a_killed_conversion_is_started_anew(tmp_path: Path, cache: Path) -> None:
    """What `kill -9` left is never taken for a dataset, and is removed by the next conversion."""
    path = prepare(tmp_path, count=20)
    process = slowly(path, tmp_path / "sign")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list(cache.glob(".*.partial-*"))) == 1
    assert numbers(rlds_kit.open(path, split="train")) == list(range(20))
    assert list(cache.glob(".*.partial-*")) == []


def test_two_processes_at_once(tmp_path: Path, cache: Path) -> None:
    """The second one waits for the first and opens what it made."""
    path = prepare(tmp_path, count=4)
    process = slowly(path, tmp_path / "sign")
    dataset = rlds_kit.open(path, split="train")
    output, _ = process.communicate()
    assert (process.returncode, output.strip()) == (0, str(dataset.path))
    assert numbers(dataset) == [0, 1, 2, 3]
    assert [each.name for each in cache.iterdir() if each.is_dir()] == [dataset.path.name]


WITHOUT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"tensorflow", "tensorflow_datasets", "array_record", "google_crc32c"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import rlds_kit
dataset = rlds_kit.open(sys.argv[1], split="train")
print([int(episode.metadata["number"]) for episode in dataset.episodes])
"""


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_without_tensorflow(tmp_path: Path, file_format: str) -> None:
    """Neither TensorFlow, TFDS nor array_record is needed."""
    path = prepare(tmp_path, file_format=file_format)
    done = run(["-c", WITHOUT, str(path)])
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("[0, 1, 2]", "", 0)


def test_made_once(cache: Path) -> None:
    """A directory is made the first time, is there the next, and an error leaves nothing."""

    def fails(path: Path) -> None:
        with new_directory(path) as made:
            (made / "half").touch()
            raise KeyError("broken")

    with pytest.raises(KeyError):
        made_once("key", fails)
    assert made_once("key", Path.mkdir) == cache / "key"
    assert made_once("key", fails) == cache / "key"
    assert not list((cache / "key").iterdir())
