"""Datasets on other file systems, in other processes, and by the commands."""

import json
import multiprocessing
import os
import pickle
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from click.testing import CliRunner

import rlds_kit
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.cli import main
from rlds_kit.convert.conversion import convert
from rlds_kit.logger import EpisodeWriter
from rlds_kit.remote.errors import NotLocalError, RemoteChangedError, RemoteError
from rlds_kit.remote.path import RemotePath
from rlds_kit.tools.compare.datasets import diff
from rlds_kit.tools.edit import filter as filtered
from rlds_kit.tools.edit import merge
from rlds_kit.tools.publish.errors import PublishError
from rlds_kit.tools.publish.publishing import publish
from rlds_kit.tools.upkeep import finding
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.statistics import statistics
from rlds_kit.tools.upkeep.verify import verify
from tests.remote.datasets import SPEC, record, require_same
from tests.remote.server import Server

REWARD = "reward"


@pytest.fixture
def memory(recorded: Path) -> Iterator[str]:
    """The dataset in a file system of fsspec's that lists its files."""
    system = fsspec.filesystem("memory")
    for path in recorded.iterdir():
        system.pipe(f"/copies/noise/{path.name}", path.read_bytes())
    yield "memory://copies/noise"
    system.rm("/copies", recursive=True)


def test_memory(recorded: Path, memory: str) -> None:
    """A file system that lists its files needs no checksums.txt."""
    fsspec.filesystem("memory").rm("/copies/noise/checksums.txt")
    here, there = rlds_kit.open(recorded), rlds_kit.open(memory)
    require_same(here, there)
    assert here.description == there.description != {}
    assert str(there.path) == memory
    require_same(here, rlds_kit.open(there.path))
    require_same(here, rlds_kit.open(memory + "/"))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("folder", ["", "data/noise/"])
def test_zip(recorded: Path, tmp_path: Path, folder: str, compression: int) -> None:
    """An archive is a file system, wherever in it the dataset is."""
    with zipfile.ZipFile(tmp_path / "noise.zip", "w", compression) as archive:
        for path in recorded.iterdir():
            archive.write(path, f"{folder}{path.name}")
    there = rlds_kit.open(f"zip://{folder}::{(tmp_path / 'noise.zip').as_uri()}")
    require_same(rlds_kit.open(recorded), pickle.loads(pickle.dumps(there)))  # noqa: S301  our own


def test_an_archive_on_a_web_server(recorded: Path, tmp_path: Path) -> None:
    """A chain of file systems."""
    with zipfile.ZipFile(tmp_path / "noise.zip", "w") as archive:
        for path in recorded.iterdir():
            archive.write(path, path.name)
    fsspec.filesystem("memory").pipe("/noise.zip", (tmp_path / "noise.zip").read_bytes())
    require_same(rlds_kit.open(recorded), rlds_kit.open("zip://::memory://noise.zip"))
    fsspec.filesystem("memory").rm("/noise.zip")


def test_files_of_this_machine_are_local(recorded: Path) -> None:
    """`file://` is another way to write a path."""
    there = rlds_kit.open(recorded.as_uri())
    assert there.path == recorded
    assert not isinstance(there.path, RemotePath)
    with pytest.raises(ValueError, match="storage_options and cache_bytes belong to URLs"):
        rlds_kit.open(recorded, storage_options={"anon": True})
    with pytest.raises(ValueError, match="split and data_dir belong to datasets of TFDS"):
        rlds_kit.open("memory://noise", split="train")


def test_refresh_lists_again(tmp_path: Path) -> None:
    """New shards come with `refresh`; one that is another file now is an error."""
    system = fsspec.filesystem("memory")
    for path in record(tmp_path / "a", 1, steps=20).iterdir():
        system.pipe(f"/growing/{path.name}", path.read_bytes())
    before = rlds_kit.open("memory://growing")
    for path in record(tmp_path / "b", 1, first=5, steps=20).glob("episodes-*"):
        system.pipe(f"/growing/{path.name}", path.read_bytes())
    assert [episode.metadata["number"] for episode in before.refresh().episodes] == [0, 1, 5, 6]
    assert len(before.episodes) == 2
    system.pipe(f"/growing/{before.shards()[0].name}", b"something else")
    with pytest.raises(RemoteChangedError, match="open it again"):
        before.refresh()
    with pytest.raises(RemoteChangedError, match="changed while it was being read"):
        before.episodes[0]["observation"]
    system.rm("/growing", recursive=True)


def first_batch(dataset: rlds_kit.Dataset, pipe: "multiprocessing.connection.Connection | None" = None) -> np.ndarray:
    """What a worker reads."""
    batch = next(iter(dataset.windows(4).batches(8, shuffle="global", seed=1)))
    observations: np.ndarray = batch["observation"]
    if pipe is not None:
        pipe.send(int(observations.sum()))
    return observations


@pytest.mark.parametrize("method", sorted({"spawn", "fork"} & set(multiprocessing.get_all_start_methods())))
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_workers_read_too(recorded: Path, server: Server, method: str) -> None:
    """A dataset that was read already goes to forked and to spawned processes."""
    there = rlds_kit.open(server.url, cache_bytes=0)
    assert len(there.episodes[0][REWARD]) == 130
    context: Any = multiprocessing.get_context(method)
    mine, theirs = context.Pipe()
    process = context.Process(target=first_batch, args=(there, theirs))
    process.start()
    assert mine.poll(60)
    assert mine.recv() == int(first_batch(rlds_kit.open(recorded)).sum())
    process.join()
    assert process.exitcode == 0


def test_verify_statistics_and_diff(recorded: Path, memory: str, server: Server) -> None:
    """What reads a directory reads a URL."""
    for url in (memory, server.url):
        report = verify(url)
        assert (report.ok, report.episodes, report.steps) == (True, 8, 1040)
        assert statistics(url).returns == statistics(recorded).returns
        assert diff(rlds_kit.open(recorded), rlds_kit.open(url)).equal


def test_commands(recorded: Path, server: Server) -> None:
    """`info`, `verify`, `stats`, `diff` and `plot` take URLs."""

    def run(*arguments: str) -> dict[str, object]:
        done = CliRunner().invoke(main, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        content: dict[str, object] = json.loads(done.stdout)
        return content

    here, there = run("info", str(recorded)), run("info", server.url)
    assert there.pop("path") == server.url
    assert here.pop("path") == str(recorded)
    assert here == there
    assert run("verify", server.url)["ok"]
    assert run("stats", server.url)["steps"] == 1040
    assert run("diff", str(recorded), server.url)["equal"]
    assert run("plot", server.url)


def test_errors_of_commands_are_messages(server: Server) -> None:
    done = CliRunner().invoke(main, ["info", f"{server.url}/nothing"])
    assert done.exit_code == 1
    assert "checksums.txt is not there" in done.output


def test_edits_read_urls(recorded: Path, memory: str, tmp_path: Path) -> None:
    """New datasets are made from remote ones."""
    filtered(memory, tmp_path / "some", "number >= 6")
    assert [episode.metadata["number"] for episode in rlds_kit.open(tmp_path / "some").episodes] == [6, 7]
    merge([memory], tmp_path / "merged")
    rechunk(memory, tmp_path / "rechunked")
    for copy in ("merged", "rechunked"):
        require_same(rlds_kit.open(recorded), rlds_kit.open(tmp_path / copy))


def test_conversions_read_urls(recorded: Path, memory: str, server: Server, tmp_path: Path) -> None:
    """Those of ours; what else lies there is to be copied first."""
    urls: list[str | Path] = [memory, server.url, rlds_kit.open(memory).path]
    for number, url in enumerate(urls):
        report = convert(url, tmp_path / f"{number}", "minari", allow_loss=True)
        assert (report.episodes, report.steps) == (8, 1040)
    expected = convert(recorded, tmp_path / "expected", "minari", allow_loss=True)
    assert report.content_digest == expected.content_digest
    with pytest.raises(NotADatasetError, match="of other formats nothing is read from URLs: copy the dataset to this"):
        convert("memory://copies", tmp_path / "other", "minari")


def test_nothing_is_written_to_urls(
    recorded: Path, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, before anything is made; also where a `Path` has swallowed a slash."""
    monkeypatch.chdir(tmp_path)
    there = rlds_kit.open(memory).path
    for url in ("s3://bucket/noise", memory, Path("s3://bucket/noise")):
        for write in (
            lambda url=url: EpisodeWriter(url, SPEC),
            lambda url=url: rechunk(recorded, url),
            lambda url=url: repair(recorded, url),
            lambda url=url: merge([recorded], url),
        ):
            with pytest.raises(NotLocalError, match=r"://.*datasets are written to directories.*rlds-kit publish"):
                write()
    for change in (
        lambda: (there / "new").write_text("hello"),
        (there / "dataset.json").unlink,
        lambda: (there / "dataset.json").open("r+b"),
        (there / "new").mkdir,
        lambda: (there / "dataset.json").rename("other"),
        lambda: Path(there),
        lambda: os.listdir(there),  # noqa: PTH208  the point is that it fails
    ):
        with pytest.raises(NotLocalError, match="which can only be read; copy the dataset to a directory"):
            change()
    with pytest.raises(PublishError, match="is a URL; copy the dataset to a directory, and publish that"):
        publish(memory, tmp_path / "published")
    assert list(tmp_path.glob("*:*")) == []
    assert list((tmp_path).glob("published")) == []


def test_what_is_not_there(memory: str) -> None:
    with pytest.raises(NotADatasetError, match="memory://copies/none: expected a dataset"):
        rlds_kit.open("memory://copies/none")
    with pytest.raises(RemoteError, match="nonsense://x: Protocol not known"):
        rlds_kit.open("nonsense://x")
    with pytest.raises(MissingExtraError, match=r"gs://bucket/noise: .*install gcsfs"):
        rlds_kit.open("gs://bucket/noise")
    with pytest.raises(FileNotFoundError, match="is not there"):
        (rlds_kit.open(memory).path / "missing.txt").read_text()


def test_a_remote_directory_is_read_only(memory: str) -> None:
    """Its `stat` has no size and no time; one link means that the number of its subdirectories is unknown."""
    found = rlds_kit.open(memory).path.stat()
    assert tuple(found) == (stat.S_IFDIR | 0o555, 0, 0, 1, 0, 0, 0, 0, 0, 0)


def test_paths_behave_like_paths(memory: str) -> None:
    """As far as reading goes."""
    path = rlds_kit.open(memory).path
    file = path / "dataset.json"
    assert (path.name, file.name, file.stem, file.suffix, file.parent) == (
        "noise",
        "dataset.json",
        "dataset",
        ".json",
        path,
    )
    assert len({file, path / "dataset.json", path}) == 2
    assert file != path
    assert path < file
    assert [path.is_dir(), path.is_file(), file.is_dir(), file.is_file(), file.exists(), (path / "x").exists()] == [
        *(True, False),
        *(False, True),
        *(True, False),
    ]
    with file.open() as stream:
        assert json.load(stream) == json.loads(file.read_bytes())
    with file.open("rb") as stream:
        assert stream.seek(-2, os.SEEK_END) == file.stat().st_size - 2
        assert stream.read() == file.read_bytes()[-2:]
    assert sorted(path.iterdir()) == sorted(path.rglob("*")) == sorted(path.glob("*"))
    assert finding.require_dataset(path) is path
