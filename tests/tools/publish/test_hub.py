"""Publishing to the Hugging Face hub: one commit, continuation after an interruption, and verification."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.tools.publish import NotPublishableError, PublishError, publish
from tests.hub import Hub, Repository
from tests.tools.publish.recording import ABOUT, record

# How huggingface_hub 2.4 calls its library for HTTP.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

ROOT = Path(rlds_kit.__file__).parent.parent
PUBLISH = """
import sys
from rlds_kit.tools.publish import publish
from tests.tools.publish.recording import ABOUT
publish(sys.argv[1], "hf://org/grid", ABOUT)
"""


def uploads(hub: Hub) -> list[str]:
    """Digests of the large files that were sent, in order."""
    return [request.rpartition("/")[2] for request in hub.requests if request.startswith("PUT ")]


def test_published_dataset_opens(tmp_path: Path, hub: Hub) -> None:
    """By its name, from the hub; all files are in one commit after the empty one."""
    directory = record(tmp_path / "d", shards=2)
    found = publish(directory, "hf://org/grid", ABOUT)
    repository = hub.repositories["org/grid"]
    there = {path: hashlib.sha256(data).hexdigest() for path, data in repository.files().items()}
    assert there.pop(".gitattributes")
    assert there == {path: digest for path, (_, digest) in found.files.items()}
    assert len(repository.commits) == 2
    assert found.sent is not None
    assert found.sent.revision == repository.refs["main"]
    assert rlds_kit.open("hf://org/grid").content_digest == rlds_kit.open(directory).content_digest


def test_card_says_how_to_load_it_from_there(tmp_path: Path, hub: Hub) -> None:
    """With the address it was published to."""
    publish(record(tmp_path / "d"), "hf://org/grid", ABOUT)
    assert 'rlds_kit.open("hf://org/grid")' in hub.repositories["org/grid"].files()["README.md"].decode()


def test_branch_is_made(tmp_path: Path, hub: Hub) -> None:
    directory = record(tmp_path / "d")
    publish(directory, "hf://datasets/org/grid@v2", ABOUT)
    publish(directory, "hf://datasets/org/grid@v2", ABOUT)
    repository = hub.repositories["org/grid"]
    assert set(repository.files()) == {".gitattributes"}
    assert "dataset.json" in repository.files("v2")
    assert len(rlds_kit.open("hf://org/grid@v2").episodes) == 3


def test_second_time_nothing_is_sent(tmp_path: Path, hub: Hub) -> None:
    """No file, and no commit."""
    directory = record(tmp_path / "d")
    publish(directory, "hf://org/grid", ABOUT)
    sent, commits = len(uploads(hub)), len(hub.repositories["org/grid"].commits)
    again = publish(directory, "hf://org/grid", ABOUT).sent
    assert again is not None
    assert again.written == []
    assert (len(uploads(hub)), len(hub.repositories["org/grid"].commits)) == (sent, commits)


def test_another_dataset_is_replaced_only_on_request(tmp_path: Path, hub: Hub) -> None:
    """In one commit; files that are not ours stay."""
    publish(record(tmp_path / "a"), "hf://org/grid", ABOUT)
    other = record(tmp_path / "b")
    with pytest.raises(NotPublishableError, match="another dataset"):
        publish(other, "hf://org/grid", ABOUT)
    publish(other, "hf://org/grid", ABOUT, replace_other=True)
    files = hub.repositories["org/grid"].files()
    assert [path for path in files if path.endswith(".riegeli")] == [each.name for each in other.glob("*.riegeli")]
    assert ".gitattributes" in files
    assert rlds_kit.open("hf://org/grid").content_digest == rlds_kit.open(other).content_digest


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_upload_goes_on(tmp_path: Path, hub: Hub) -> None:
    """Killed after two of its files: they are not visible, and the next run does not send them again."""
    directory = record(tmp_path / "d", shards=4)
    process: list[subprocess.Popen[bytes]] = []

    def kill_at_the_third(method: str, _path: str) -> bool:
        if method == "PUT" and len(uploads(hub)) > 2:
            process[0].kill()
            process[0].wait()
            return True
        return False

    hub.refuse = kill_at_the_third
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process.append(subprocess.Popen([sys.executable, "-c", PUBLISH, str(directory)], env=env))
    assert process[0].wait() == -signal.SIGKILL
    assert set(hub.repositories["org/grid"].files()) == {".gitattributes"}
    hub.refuse = lambda _method, _path: False
    before = uploads(hub)
    publish(directory, "hf://org/grid", ABOUT)
    after = uploads(hub)[len(before) :]
    assert set(before[:2]).isdisjoint(after)
    assert before[2] in after
    assert rlds_kit.open("hf://org/grid").content_digest == rlds_kit.open(directory).content_digest


def test_commit_that_fails_shows_nothing(tmp_path: Path, hub: Hub) -> None:
    directory = record(tmp_path / "d")
    hub.refuse = lambda _method, path: "/commit/" in path
    with pytest.raises(PublishError, match="run the same command again"):
        publish(directory, "hf://org/grid", ABOUT)
    assert set(hub.repositories["org/grid"].files()) == {".gitattributes"}


def test_hub_that_spoils_a_file_is_found_out(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it lists after the commit is compared with what was sent."""
    make = Repository.commit
    monkeypatch.setattr(
        Repository,
        "commit",
        lambda self, files, branch="main": make(
            self, {path: data.replace(b"Grid", b"Grit") for path, data in files.items()}, branch
        ),
    )
    with pytest.raises(PublishError, match="the hub has another"):
        publish(record(tmp_path / "d"), "hf://org/grid", ABOUT)


def test_hub_that_refuses(tmp_path: Path, hub: Hub) -> None:
    """One error, with the destination and the message of the hub."""
    hub.refuse = lambda _method, _path: True
    with pytest.raises(PublishError, match=r"^hf://org/grid: (.|\n)*refused by the test"):
        publish(record(tmp_path / "d"), "hf://org/grid", ABOUT)
