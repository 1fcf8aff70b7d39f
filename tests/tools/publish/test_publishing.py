"""Publishing to folders and file systems: the written files, completeness, and continuation after an interruption."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit.tools.publish import About, NotPublishableError, PublishError, publish
from rlds_kit.tools.upkeep.verify import verify
from tests.tools.publish.recording import ABOUT, record

ROOT = Path(rlds_kit.__file__).parent.parent
KILLED_AT_RENAME = """
import os, pathlib, signal, sys
from rlds_kit.tools.publish import publish
from tests.tools.publish.recording import ABOUT
rename, left = pathlib.Path.replace, [int(sys.argv[3])]
def replace(self, target):
    if self.name.endswith(".partial"):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
pathlib.Path.replace = replace
publish(sys.argv[1], sys.argv[2], ABOUT)
"""


def files(folder: Path) -> dict[str, bytes]:
    """Content of every file by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_published_folder_is_a_dataset(tmp_path: Path) -> None:
    """It opens, is whole, and has equal episodes; the original is untouched."""
    directory = record(tmp_path / "d", shards=2)
    before = files(directory)
    found = publish(directory, tmp_path / "out", ABOUT)
    copy = rlds_kit.open(tmp_path / "out")
    assert (found.episodes, found.steps) == (len(copy.episodes), len(copy.steps)) == (6, 42)
    assert copy.content_digest == rlds_kit.open(directory).content_digest
    assert verify(tmp_path / "out").ok
    assert files(directory) == before


def test_layout(tmp_path: Path) -> None:
    """The dataset's own files, and the pages about it; nothing else of its folder."""
    directory = record(tmp_path / "d")
    (directory / "notes.txt").write_text("mine")
    publish(directory, tmp_path / "out", ABOUT)
    names = set(files(tmp_path / "out"))
    pages = {"README.md", "croissant.json", "checksums.txt", "card/returns.png", "card/actions.png", "card/frames.png"}
    assert names == {"dataset.json", *(path.name for path in directory.glob("*-*")), *pages}


def test_dataset_json_has_licence_and_citation(tmp_path: Path) -> None:
    """What was given; the rest is as it was."""
    directory = record(tmp_path / "d")
    publish(directory, tmp_path / "out", ABOUT)
    before, after = (json.loads((each / "dataset.json").read_text("utf-8")) for each in (directory, tmp_path / "out"))
    assert (after["licence"], after["citation"], after["name"]) == (ABOUT.licence, ABOUT.citation, "Grid")
    assert {key: after[key] for key in ("format", "version", "spec", "environment", "metadata")} == {
        key: before[key] for key in ("format", "version", "spec", "environment", "metadata")
    }


def test_dataset_without_dataset_json_gets_one(tmp_path: Path) -> None:
    directory = record(tmp_path / "d")
    (directory / "dataset.json").unlink()
    publish(directory, tmp_path / "out", ABOUT)
    content = json.loads((tmp_path / "out/dataset.json").read_text("utf-8"))
    assert (content["licence"], "observation" in content["spec"]) == ("CC-BY-4.0", True)


def test_sha256sum_agrees(tmp_path: Path) -> None:
    """The program itself checks every file but the list."""
    publish(record(tmp_path / "d"), tmp_path / "out", ABOUT)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "checksums.txt"], cwd=tmp_path / "out", capture_output=True, check=False
    )
    assert done.returncode == 0
    listed = {line.split("  ")[1] for line in (tmp_path / "out/checksums.txt").read_text().splitlines()}
    assert listed == set(files(tmp_path / "out")) - {"checksums.txt"}


def test_layers_are_published_if_they_are_allowed(tmp_path: Path) -> None:
    """Annotations name their authors, so they must be allowed; other files in layers are not published."""
    directory = record(tmp_path / "d")
    dataset = rlds_kit.open(directory)
    dataset.annotate("tags", [layers.tag(dataset.episodes[0], "good")], source="anna")
    (directory / "layers/tags/notes.txt").write_text("private")
    with pytest.raises(NotPublishableError, match="--allow-field layers/tags/source"):
        publish(directory, tmp_path / "out", ABOUT)
    publish(directory, tmp_path / "out", ABOUT, allowed=["layers/tags"])
    published = rlds_kit.open(tmp_path / "out")
    assert published.episodes[0].tags == ("good",)
    assert not (tmp_path / "out/layers/tags/notes.txt").exists()


def test_second_time_nothing_is_written(tmp_path: Path) -> None:
    directory = record(tmp_path / "d")
    first = publish(directory, tmp_path / "out", ABOUT).sent
    second = publish(directory, tmp_path / "out", ABOUT).sent
    assert first is not None
    assert second is not None
    assert (second.written, second.bytes, sorted(second.unchanged)) == ([], 0, sorted(first.written))


def test_what_was_changed_is_written_again(tmp_path: Path) -> None:
    """Size alone is not believed; nothing else is touched."""
    directory = record(tmp_path / "d")
    publish(directory, tmp_path / "out", ABOUT)
    shard = next((tmp_path / "out").glob("*.riegeli"))
    shard.write_bytes(bytes(shard.stat().st_size))
    sent = publish(directory, tmp_path / "out", ABOUT).sent
    assert sent is not None
    assert sent.written == [shard.name, "checksums.txt"]
    assert verify(tmp_path / "out").ok


def test_grown_dataset_is_published_over_the_old_one(tmp_path: Path) -> None:
    """The new shard is added, pages are replaced, and what is no page any more is removed."""
    directory = record(tmp_path / "d")
    publish(directory, tmp_path / "out", ABOUT)
    (tmp_path / "out/card/old.png").write_bytes(b"x")
    (tmp_path / "out/LICENSE").write_text("kept")
    record(directory)
    sent = publish(directory, tmp_path / "out", ABOUT).sent
    assert sent is not None
    assert sent.removed == ["card/old.png"]
    assert len(rlds_kit.open(tmp_path / "out").episodes) == 6
    assert (tmp_path / "out/LICENSE").read_text() == "kept"


def test_another_dataset_is_not_replaced_by_default(tmp_path: Path) -> None:
    """With `replace_other`, none of its files remain."""
    publish(record(tmp_path / "a"), tmp_path / "out", ABOUT)
    other = record(tmp_path / "b")
    before = files(tmp_path / "out")
    with pytest.raises(NotPublishableError, match="another dataset"):
        publish(other, tmp_path / "out", ABOUT)
    assert files(tmp_path / "out") == before
    publish(other, tmp_path / "out", ABOUT, replace_other=True)
    assert rlds_kit.open(tmp_path / "out").content_digest == rlds_kit.open(other).content_digest
    assert len(list((tmp_path / "out").glob("*.riegeli"))) == 1


def test_a_page_of_the_user_is_not_replaced_by_default(tmp_path: Path) -> None:
    """An existing README does not count as an old card."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/README.md").write_text("mine")
    with pytest.raises(NotPublishableError, match=r"README.md, and no shard of this dataset"):
        publish(record(tmp_path / "d"), tmp_path / "out", ABOUT)
    assert (tmp_path / "out/README.md").read_text() == "mine"


@pytest.mark.parametrize(("to", "message"), [("d/out", "in the dataset"), ("d", "in the dataset"), (".", "around")])
def test_folder_must_be_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, message: str) -> None:
    """A copy within the dataset would be part of it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PublishError, match=message):
        publish(record(tmp_path / "d"), to, ABOUT)


@pytest.mark.parametrize("scheme", ["file://", "local://"])
def test_folder_must_be_apart_by_whatever_name(tmp_path: Path, scheme: str) -> None:
    """A URL may name the dataset's own folder; nothing in it is changed."""
    directory = record(tmp_path / "d")
    before = files(directory)
    with pytest.raises(PublishError, match="in the dataset"):
        publish(directory, f"{scheme}{directory}", ABOUT, replace_other=True)
    assert files(directory) == before


def test_file_in_the_way(tmp_path: Path) -> None:
    """A file is no folder."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(PublishError, match="is a file"):
        publish(record(tmp_path / "d"), tmp_path / "out", ABOUT)


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    """It reports the files that would be written."""
    found = publish(record(tmp_path / "d"), tmp_path / "out", ABOUT, dry_run=True)
    assert found.sent is None
    assert {"README.md", "checksums.txt"} <= found.files.keys()
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("renames", [0, 1, 3, 6])
def test_killed_work_goes_on(tmp_path: Path, renames: int) -> None:
    """Killed after any number of files, it is not marked as complete; the next run reuses existing files."""
    directory = record(tmp_path / "d", shards=3)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = [str(directory), str(tmp_path / "out"), str(renames)]
    done = subprocess.run([sys.executable, "-c", KILLED_AT_RENAME, *arguments], env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out/checksums.txt").exists()
    sent = publish(directory, tmp_path / "out", ABOUT).sent
    assert sent is not None
    assert len(sent.unchanged) == renames
    assert (tmp_path / "out/checksums.txt").exists()
    assert rlds_kit.open(tmp_path / "out").content_digest == rlds_kit.open(directory).content_digest
    assert not [name for name in files(tmp_path / "out") if name.endswith(".partial")]


@pytest.mark.thorough
def test_mark_is_taken_away_before_anything_changes(tmp_path: Path) -> None:
    """Killed while a complete copy is brought up to date, the copy does not pass for complete."""
    directory = record(tmp_path / "d")
    publish(directory, tmp_path / "out", ABOUT)
    record(directory)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-c", KILLED_AT_RENAME, str(directory), str(tmp_path / "out"), "0"], env=env, check=False
    )
    assert not (tmp_path / "out/checksums.txt").exists()


def test_url_of_a_file(tmp_path: Path) -> None:
    publish(record(tmp_path / "d"), (tmp_path / "an out").as_uri(), ABOUT)
    assert verify(tmp_path / "an out").ok


def test_file_system_in_memory(tmp_path: Path) -> None:
    """Any URL that fsspec can write to; existing files are reused, and read back."""
    url = f"memory://{tmp_path.name}/grid"
    directory = record(tmp_path / "d", shards=2)
    first = publish(directory, url, ABOUT)
    store = fsspec.filesystem("memory")
    there = {path.split("/grid/")[1]: store.cat(path) for path in store.find(f"{tmp_path.name}/grid")}
    assert {path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in there.items()} == first.files
    second = publish(directory, url, ABOUT).sent
    assert second is not None
    assert second.written == []
    with pytest.raises(NotPublishableError, match="another dataset"):
        publish(record(tmp_path / "other"), url, ABOUT)


def test_store_that_spoils_data_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written is read back."""
    from fsspec.implementations.memory import MemoryFile

    write = MemoryFile.write
    monkeypatch.setattr(MemoryFile, "write", lambda self, data: write(self, bytes(data).replace(b"Grid", b"Grit")))
    with pytest.raises(PublishError, match="reads back as"):
        publish(record(tmp_path / "d"), f"memory://{tmp_path.name}/spoilt", ABOUT)


@pytest.mark.parametrize("url", ["nosuch://x/y", "hf://onlyname", "hf://a/b/c", ""])
def test_unknown_places_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(PublishError, match=r"expected|give a folder"):
        publish(record(tmp_path / "d"), url, ABOUT)


def test_what_dataset_json_says_need_not_be_given(tmp_path: Path) -> None:
    """Licence and citation may have been recorded."""
    directory = record(tmp_path / "d")
    text = (directory / "dataset.json").read_text("utf-8")
    text = text.replace('"licence": ""', '"licence": "MIT"').replace('"citation": ""', '"citation": "Us"')
    (directory / "dataset.json").write_text(text, "utf-8")
    publish(directory, tmp_path / "out", About(name="Other"))
    content = json.loads((tmp_path / "out/dataset.json").read_text("utf-8"))
    assert (content["licence"], content["citation"], content["name"]) == ("MIT", "Us", "Other")
