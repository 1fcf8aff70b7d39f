"""`rlds-kit view`: access, and the start."""

import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

import rlds_kit
from rlds_kit.studio.command import view
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.viewer import Viewer, application
from tests.studio.replay.datasets import ORIGIN, PORT, TOKEN, get, record, viewing
from tests.studio.studio_process import PATIENCE


@contextmanager
def stranger(directory: Path, **headers: str) -> Iterator[TestClient]:
    """A client without the token."""
    app = application(Collection(rlds_kit.open(directory)), "ann", TOKEN, PORT)
    with TestClient(app, base_url=ORIGIN, headers=headers) as client:
        yield client


def test_about_says_what_is_looked_at(tmp_path: Path) -> None:
    record(tmp_path)
    with viewing(tmp_path) as client:
        found = get(client, "/api/about")
    wanted = {"v": 1, "mode": "view", "dataset": tmp_path.name, "path": str(tmp_path), "source": "ann"}
    assert found == wanted


def test_a_dataset_is_called_by_its_name(tmp_path: Path) -> None:
    """The folder of a published dataset is named by a hash, which means nothing to a person."""
    record(tmp_path)
    file = tmp_path / "dataset.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": "Falling balls"}))
    with viewing(tmp_path) as client:
        assert get(client, "/api/about")["dataset"] == "Falling balls"


def test_r34_a_dataset_that_no_studio_knows_is_replayed_and_tagged(tmp_path: Path) -> None:
    """With any recorder; RLDS Creator refuses tags there."""
    record(tmp_path)
    with viewing(tmp_path) as client:
        for row in get(client, "/api/episodes")["episodes"]:
            assert get(client, f"/api/replay/{row['id']}/step/1")["fields"]
            added = client.post(f"/api/replay/{row['id']}/annotations", json={"kind": "tag", "text": "mine"})
            assert added.status_code == 201
    assert [each.tags for each in rlds_kit.open(tmp_path).episodes] == [("mine",), ("mine",)]


def test_without_the_token_nothing_is_shown(tmp_path: Path) -> None:
    """Except the page itself, which is not secret."""
    episode, _ = record(tmp_path)
    with stranger(tmp_path, origin=ORIGIN) as client:
        for path in ("/api/about", "/api/episodes", f"/api/replay/{episode}", f"/api/replay/{episode}/image/0"):
            for token in ("", "?token=", "?token=wrong", "?token=%C3%A9"):
                assert client.get(path + token).status_code == 403
        assert client.post(f"/api/replay/{episode}/annotations", json={"kind": "tag", "text": "x"}).status_code == 403
        assert client.get("/").status_code == 200
        assert client.get("/page/..%2F..%2Fsecret").status_code == 404
        assert "set-cookie" not in client.get("/?token=wrong").headers
    assert rlds_kit.open(tmp_path).layers == ()


def test_the_link_becomes_a_cookie_that_scripts_cannot_read(tmp_path: Path) -> None:
    """And that browsers do not send with requests of other sites."""
    record(tmp_path)
    with stranger(tmp_path) as client:
        cookie = client.get(f"/?token={TOKEN}").headers["set-cookie"]
        assert client.get("/api/about").status_code == 200
    assert cookie == f"rlds_kit_view_{PORT}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", ""])
def test_other_names_of_the_server_are_refused(host: str, tmp_path: Path) -> None:
    """Another site could point its own name at this server."""
    record(tmp_path)
    with viewing(tmp_path) as client:
        assert client.get("/api/about", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", f"https://127.0.0.1:{PORT}"])
def test_pages_of_others_change_nothing(origin: str, tmp_path: Path) -> None:
    episode, _ = record(tmp_path)
    body = {"kind": "tag", "text": "x"}
    with viewing(tmp_path) as client:
        answered = client.post(f"/api/replay/{episode}/annotations", json=body, headers={"origin": origin})
        assert answered.status_code == 403
    assert rlds_kit.open(tmp_path).layers == ()


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("DELETE", "/api/episodes", 405)])
def test_unknown_paths_have_an_error_in_json(method: str, path: str, status: int, tmp_path: Path) -> None:
    record(tmp_path)
    with viewing(tmp_path) as client:
        answered = client.request(method, path)
    assert (answered.status_code, answered.json()["error"]["where"]) == (status, path)


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The real server; its link."""
    viewer, ready = Viewer(Collection(rlds_kit.open(directory)), "ann"), threading.Event()
    thread = threading.Thread(target=viewer.run, args=(ready.set,), daemon=True)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield viewer.url
    finally:
        viewer.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_the_link_that_is_printed_opens(tmp_path: Path) -> None:
    """On this machine only; the server ends when it is stopped."""
    record(tmp_path)
    with serving(tmp_path) as url:
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url.replace("/?", "/api/about?")) as answered:  # noqa: S310  the server above
            assert json.load(answered)["dataset"] == tmp_path.name
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)  # noqa: S310


def test_the_handlers_of_the_program_stay_open(tmp_path: Path) -> None:
    """A program that opens a dataset in the viewer can still write to its log."""
    record(tmp_path / "dataset")
    handler = logging.FileHandler(tmp_path / "log")
    with serving(tmp_path / "dataset"):
        assert handler.stream is not None
    handler.close()


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    record(tmp_path)
    with serving(tmp_path) as url:
        port = url.rpartition(":")[2].partition("/")[0]
        done = CliRunner().invoke(view, [str(tmp_path), "--port", port, "--no-browser"])
    assert isinstance(done.exception, OSError)


def test_view_needs_a_dataset(tmp_path: Path) -> None:
    done = CliRunner().invoke(view, [str(tmp_path / "none"), "--no-browser"])
    assert isinstance(done.exception, rlds_kit.base.errors.NotADatasetError)
