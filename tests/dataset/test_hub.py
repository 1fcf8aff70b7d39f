"""`rlds_kit.open("hf://...")` from a hub on this machine."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.errors import DamagedError, FormatError, NotADatasetError
from rlds_kit.logger import EpisodeWriter
from tests.hub import Hub, running_hub


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub, and a cache of the test's own."""
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "cache"))
    with running_hub(monkeypatch, tmp_path / "hub") as running:
        yield running


def files_of(directory: Path, score: int) -> dict[str, bytes]:
    """The files of a small dataset, with other files beside them and checksums of all."""
    with EpisodeWriter(directory, record_time=False) as writer, writer.episode(metadata={"score": score}) as episode:
        episode.start(0)
        episode.step(action=1, reward=1.0, observation=1, terminated=True)
    files = {path.name: path.read_bytes() for path in directory.iterdir()} | {"README.md": b"# A card\n"}
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    return files | {"checksums.txt": "".join(lines).encode()}


def scores(location: str) -> list[int]:
    """What tells the datasets of a test from each other."""
    return [episode.metadata["score"] for episode in rlds_kit.open(location).episodes]


def test_opens_a_revision(hub: Hub, tmp_path: Path) -> None:
    """The newest one, a tag, or a commit; with or without `datasets/` before the name."""
    old = hub.add("org/pong", files_of(tmp_path / "old", 1), tag="v1")
    hub.add("org/pong", files_of(tmp_path / "new", 2))
    assert scores("hf://org/pong") == scores("hf://datasets/org/pong") == scores("hf://org/pong@main") == [2]
    assert scores("hf://org/pong@v1") == scores(f"hf://org/pong@{old}") == [1]


def test_reads_a_dataset_where_it_is(hub: Hub, tmp_path: Path) -> None:
    """Without a download: only what is asked for is fetched, and no file gets into the Hub's own cache."""
    sha = hub.add("org/pong", files_of(tmp_path / "old", 1))
    hub.add("org/pong", files_of(tmp_path / "new", 2))
    for location, score in (("hf://org/pong", 2), (f"hf://org/pong@{sha}", 1), ("hf://datasets/org/pong", 2)):
        dataset = rlds_kit.open(location, download=False)
        assert [episode.metadata["score"] for episode in dataset.episodes] == [score]
        assert str(dataset.path).startswith("hf://datasets/org/pong")
    assert list((tmp_path / "hub").rglob("*.riegeli")) == []


def test_downloads_what_is_needed_once(hub: Hub, tmp_path: Path) -> None:
    """Cards and pictures stay where they are, and a second open downloads no file again."""
    hub.add("org/pong", files_of(tmp_path / "data", 1))
    dataset = rlds_kit.open("hf://org/pong")
    assert not (dataset.path / "README.md").exists()
    assert (dataset.path / "checksums.txt").exists()
    hub.requests.clear()
    assert rlds_kit.open("hf://org/pong").path == dataset.path
    assert [each for each in hub.requests if "/resolve/" in each] == []


def test_a_revision_that_was_downloaded_opens_without_the_hub(hub: Hub, tmp_path: Path) -> None:
    """A commit that is in the cache needs no connection."""
    sha = hub.add("org/pong", files_of(tmp_path / "data", 1))
    rlds_kit.open(f"hf://org/pong@{sha}")
    hub.refuse = lambda _method, _path: True
    assert scores(f"hf://org/pong@{sha}") == [1]


def test_what_is_not_there(hub: Hub, tmp_path: Path) -> None:
    """An unknown dataset or revision is no dataset, and the error names what was asked for."""
    hub.add("org/pong", files_of(tmp_path / "data", 1))
    with pytest.raises(NotADatasetError, match="hf://org/other: cannot be downloaded"):
        rlds_kit.open("hf://org/other")
    with pytest.raises(NotADatasetError, match="hf://org/pong@v9: cannot be downloaded"):
        rlds_kit.open("hf://org/pong@v9")
    with pytest.raises(ValueError, match="expected a location such as hf://org/name"):
        rlds_kit.open("hf://pong")
    hub.add("org/empty", {"README.md": b"nothing"})
    with pytest.raises(NotADatasetError):
        rlds_kit.open("hf://org/empty")


def changed(files: dict[str, bytes]) -> dict[str, bytes]:
    """With another last byte of the shard."""
    (shard,) = [name for name in files if name.endswith(".riegeli")]
    return files | {shard: files[shard][:-1] + b"\xff"}


def test_checksums_are_checked(hub: Hub, tmp_path: Path) -> None:
    """A shard that is not what was published is not opened, neither now nor the next time."""
    hub.add("org/pong", changed(files_of(tmp_path / "data", 1)))
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"episodes-.*\.riegeli: does not match its SHA-256 in checksums.txt"):
            rlds_kit.open("hf://org/pong")


def test_checksums_say_what_belongs_to_the_dataset(hub: Hub, tmp_path: Path) -> None:
    """A shard that is missing, or that nobody published, is an error."""
    files = files_of(tmp_path / "data", 1)
    (shard,) = [name for name in files if name.endswith(".riegeli")]
    hub.add("org/less", {name: data for name, data in files.items() if name != shard})
    with pytest.raises(DamagedError, match=f"{shard} is missing, but is in checksums.txt"):
        rlds_kit.open("hf://org/less")
    hub.add("org/more", files | {"episodes-more.riegeli": files[shard]})
    with pytest.raises(DamagedError, match=r"episodes-more.riegeli is in the dataset, but not in checksums.txt"):
        rlds_kit.open("hf://org/more")
    hub.add("org/bad", files | {"checksums.txt": b"abc\n"})
    with pytest.raises(FormatError, match="line 1: expected a SHA-256"):
        rlds_kit.open("hf://org/bad")


def test_checksums_are_not_needed(hub: Hub, tmp_path: Path) -> None:
    """Who copied a dataset there by hand has none."""
    files = files_of(tmp_path / "data", 4)
    del files["checksums.txt"]
    hub.add("org/plain", files)
    assert scores("hf://org/plain") == [4]


def test_layers_are_downloaded_and_checked(hub: Hub, tmp_path: Path) -> None:
    """What was said of the episodes comes with them, and its bytes are compared like those of shards."""
    files_of(tmp_path / "data", 1)
    local = rlds_kit.open(tmp_path / "data")
    local.annotate("review", [layers.tag(local.episodes[0], "good")], source="anna")
    paths = sorted(path for path in (tmp_path / "data").rglob("*") if path.is_file())
    files = {path.relative_to(tmp_path / "data").as_posix(): path.read_bytes() for path in paths}
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    files["checksums.txt"] = "".join(lines).encode()
    hub.add("org/pong", files, tag="good")
    assert rlds_kit.open("hf://org/pong@good").episodes[0].tags == ("good",)
    (name,) = (name for name in files if name.startswith("layers/"))
    files[name] = files[name][:-1] + b"x"
    hub.add("org/pong", files, tag="bad")
    with pytest.raises(DamagedError, match="SHA-256"):
        rlds_kit.open("hf://org/pong@bad")
