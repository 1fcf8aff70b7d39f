"""Copies of datasets that are elsewhere."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.errors import DamagedError, DatasetExistsError, NotADatasetError
from rlds_kit.cli import main
from rlds_kit.dataset.download import download
from tests.hub import running_hub
from tests.remote.datasets import record, require_same
from tests.remote.server import Server, serving


def _files(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def test_copies_every_byte_of_a_url(server: Server, recorded: Path, tmp_path: Path, cache: Path) -> None:
    """Shards, layers, description and checksums; every file is compared, and none stays in the cache."""
    seen: list[tuple[int, int | None]] = []
    done = download(server.url, tmp_path / "here", progress=lambda *numbers: seen.append(numbers))
    assert _files(tmp_path / "here") == _files(recorded)
    assert (done.checked, done.files, done.bytes) == (True, len(_files(recorded)) - 1, seen[-1][0])
    assert seen[-1][0] == seen[-1][1]
    assert sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) < done.bytes / 10
    require_same(rlds_kit.open(recorded), rlds_kit.open(tmp_path / "here"))


def test_layers_are_copied(tmp_path: Path) -> None:
    """Also of a directory that is a copy of one here."""
    dataset = rlds_kit.open(record(tmp_path / "there", 1, steps=3))
    dataset.annotate("tags", [layers.tag(dataset.episodes[0], "good")], source="anna")
    done = download(tmp_path / "there", tmp_path / "here")
    assert _files(tmp_path / "here") == _files(tmp_path / "there")
    assert not done.checked
    assert rlds_kit.open(tmp_path / "here").layers == ("tags",)


def test_a_file_that_differs_is_an_error_and_nothing_is_left(recorded: Path, tmp_path: Path) -> None:
    """Neither the directory nor a part of it."""
    there = Path(shutil.copytree(recorded, tmp_path / "there"))
    shard = min(there.glob("*.riegeli"))
    changed = bytearray(shard.read_bytes())
    changed[-1] ^= 1
    shard.write_bytes(changed)
    with serving(there) as server, pytest.raises(DamagedError, match="does not match its SHA-256"):
        download(server.url, tmp_path / "here")
    assert {path.name for path in tmp_path.iterdir()} <= {"there", "cache"}


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    """A destination with files, and a source that is no dataset."""
    record(tmp_path / "there", 1, steps=3)
    with pytest.raises(DatasetExistsError):
        download(tmp_path / "there", tmp_path / "there")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotADatasetError, match="expected a dataset"):
        download(tmp_path / "empty", tmp_path / "here")


def test_a_dataset_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command, with its checksums."""
    pytest.importorskip("huggingface_hub")
    files = _files(record(tmp_path / "there", 2, steps=3))
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    files["checksums.txt"] = "".join(lines).encode()
    with running_hub(monkeypatch, tmp_path / "hub") as hub:
        hub.add("me/noise", files | {"README.md": b"# A card\n"})
        result = CliRunner().invoke(main, ["download", "hf://me/noise", str(tmp_path / "here"), "--json"])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["checked"], found["files"]) == (0, True, len(files) - 1)
    assert _files(tmp_path / "here") == files
