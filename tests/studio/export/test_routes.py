"""Exports of a studio: made in the background, followed, fetched, cancelled, and resumed."""

import io
import json
import os
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit import tfds_builders
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.recorder import Recorder
from rlds_kit.studio.database import episodes, tables
from rlds_kit.studio.export import exports as exports_module
from rlds_kit.studio.export.job import State, read_jobs
from rlds_kit.studio.export_limits import ExportLimits
from tests.studio.database.rows import begin_episode
from tests.studio.replay.studio import Studio, running

SECONDS = 60.0


@pytest.fixture(name="studio")
def a_studio(tmp_path: Path) -> Iterator[Studio]:
    """See `running`."""
    with running(tmp_path) as found:
        yield found


@pytest.fixture(scope="module", name="shared")
def a_shared_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio that tests do not change."""
    with running(tmp_path_factory.mktemp("studio")) as found:
        yield found


def begin(studio: Studio, who: str = "owner", status: int = 202, **body: Any) -> Any:
    """Requests an export."""
    answered = studio.ask(who, "POST", "/api/exports", json=body)
    assert answered.status_code == status, answered.text
    return answered.json().get("export", answered.json().get("error"))


def ended(studio: Studio, export: str, who: str = "owner") -> Any:
    """An export after it has ended."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        found = studio.ask(who, "GET", f"/api/exports/{export}").json()["export"]
        if State(found["state"]).is_over:
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def fetched(studio: Studio, export: str, who: str = "owner") -> bytes:
    """The archive."""
    answered = studio.ask(who, "GET", f"/api/exports/{export}/file")
    assert answered.status_code == 200, answered.text
    content: bytes = answered.content
    return content


def unpacked(archive: bytes, directory: Path) -> Path:
    """The dataset of an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.testzip() is None
        opened.extractall(directory)
    return directory / "episodes"


def test_r36_an_archive_is_made_and_opens(studio: Studio, tmp_path: Path) -> None:
    """This library and TFDS open it; people have their published ids."""
    studio.ask("ann", "POST", f"/api/replay/{studio.episodes['ann']}/annotations", json={"kind": "tag", "text": "good"})
    export = begin(studio, episodes=list(studio.episodes.values()))
    done = ended(studio, export["id"])
    assert (done["state"], done["progress"], done["error"], done["path"]) == ("done", 1.0, "", None)
    assert (done["report"]["episodes"], done["report"]["name"]) == (2, "episodes.zip")
    archive = fetched(studio, export["id"])
    assert len(archive) == done["report"]["bytes"]
    made = rlds_kit.open(unpacked(archive, tmp_path / "out"))
    rows = [studio.run(episodes.get, studio.episodes[who]) for who in ("ann", "bob")]
    assert [each.metadata["public_id"] for each in made.episodes] == [row.public_id for row in rows]
    assert [each.metadata["agent_id"] for each in made.episodes] == [studio.agents["ann"], studio.agents["bob"]]
    assert [each.metadata["tag:good"] for each in made.episodes] == [True, False]
    assert tfds_builders.builder_from_directory(made.path).info.splits["train"].num_examples == 2


def test_personal_data_never_leave(studio: Studio) -> None:
    """The bytes contain no accounts, and no ids of recordings or sessions."""
    for strip in (True, False):
        export = begin(studio, episodes=list(studio.episodes.values()), strip=strip)
        assert ended(studio, export["id"])["state"] == "done"
        archive = fetched(studio, export["id"])
        rows = [studio.run(episodes.get, each) for each in studio.episodes.values()]
        secret = [text for row in rows for text in (row.user_id, row.session_id, row.id, row.study_owner_id)]
        assert not any(text.encode() in archive or bytes.fromhex(text) in archive for text in secret)


def test_r37_a_folder_is_made(studio: Studio) -> None:
    """Designers receive its path; its files can be fetched one by one."""
    export = begin(studio, filter={}, archive=False, name="reach-2")
    done = ended(studio, export["id"])
    assert done["path"].endswith("reach-2")
    assert len(rlds_kit.open(done["path"]).episodes) == 2
    files = studio.ask("owner", "GET", f"/api/exports/{export['id']}/files").json()["files"]
    assert "dataset.json" in {each["name"] for each in files}
    for each in files:
        content = studio.ask("owner", "GET", f"/api/exports/{export['id']}/files/{each['name']}").content
        assert content == (Path(done["path"]) / each["name"]).read_bytes()
        assert len(content) == each["bytes"]
    assert studio.ask("owner", "GET", f"/api/exports/{export['id']}/file").status_code == 404
    other = begin(studio, "reviewer", filter={}, archive=False)
    assert ended(studio, other["id"], "reviewer")["path"] is None


def test_a_download_that_broke_off_is_taken_up(studio: Studio) -> None:
    """With ranges, as browsers and curl request them."""
    export = begin(studio, filter={})
    ended(studio, export["id"])
    whole, path = fetched(studio, export["id"]), f"/api/exports/{export['id']}/file"
    etag = studio.ask("owner", "GET", path).headers["etag"]
    headers = {"x-who": "owner", "range": "bytes=1000-", "if-range": etag}
    rest = studio.client.get(path, headers=headers)
    assert (rest.status_code, rest.content) == (206, whole[1000:])
    assert rest.headers["content-range"] == f"bytes 1000-{len(whole) - 1}/{len(whole)}"
    other = studio.client.get(path, headers={**headers, "if-range": '"another"'})
    assert (other.status_code, other.content) == (200, whole)
    assert studio.client.get(path, headers={"x-who": "owner", "range": "bytes=99999999-"}).status_code == 416


def test_r14_filters_take_only_completed_episodes_by_default(studio: Studio) -> None:
    """Statuses, tags and people are those of the table of episodes."""
    studio.ask("bob", "POST", f"/api/replay/{studio.episodes['bob']}/annotations", json={"kind": "tag", "text": "good"})

    def counted(who: str = "owner", **wanted: Any) -> int:
        return int(begin(studio, who, filter=wanted)["episodes"])

    study = studio.run(episodes.get, studio.episodes["ann"]).study_id
    assert counted() == counted(study=study) == counted("reviewer") == 2
    assert counted(tag="good") == counted(user=studio.agents["bob"]) == 1
    assert counted("ann", user="me") == counted("ann") == 1
    for wanted in ({"status": ["rejected"]}, {"study": "0" * 32}, {"tag": "none"}):
        assert begin(studio, status=400, filter=wanted)["where"] == "filter"
    assert begin(studio, "designer", status=400, filter={})["where"] == "filter"


@pytest.mark.parametrize(("who", "status"), [("ann", 202), ("bob", 403), ("designer", 403), ("nobody", 401)])
def test_r35_episodes_of_others_cannot_be_exported(who: str, status: int, studio: Studio) -> None:
    begin(studio, who, status, episodes=[studio.episodes["ann"]])
    if who != "nobody":
        begin(studio, who, 403, episodes=[studio.episodes["ann"], studio.episodes["bob"]])


def test_an_export_is_its_owners(studio: Studio) -> None:
    """The response to others does not reveal that it exists."""
    export = begin(studio, filter={})
    ended(studio, export["id"])
    for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/file"), ("GET", "/files"), ("POST", "/again")]:
        for who, status in (("reviewer", 404), ("ann", 404), ("nobody", 401)):
            assert studio.ask(who, method, f"/api/exports/{export['id']}{path}").status_code == status
    assert studio.ask("reviewer", "GET", "/api/exports").json()["exports"] == []
    assert [each["id"] for each in studio.ask("owner", "GET", "/api/exports").json()["exports"]] == [export["id"]]


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"episodes": []}, "episodes"),
    ({"episodes": ["../../studio.db"]}, "episodes.0"),
    ({"episodes": ["ffffffffffffffffffffffffffffffff\n"]}, "episodes.0"),
    ({"episodes": [7]}, "episodes.0"),
    ({"episodes": ["f" * 32], "filter": {}}, ""),
    ({"filter": {"study": "' or 1=1"}}, "filter.study"),
    ({"filter": {"status": ["recording"]}}, "filter.status.0"),
    ({"filter": {"page": 3}}, "filter.page"),
    ({"filter": {}, "name": "../up"}, "name"),
    ({"filter": {}, "name": ".hidden"}, "name"),
    ({"filter": {}, "name": "a" * 81}, "name"),
    ({"filter": {}, "name": "a\n"}, "name"),
    ({"filter": {}, "archive": "yes"}, "archive"),
    ({"filter": {}, "end_tags": "x"}, "end_tags"),
    ({"filter": {}, "end_tags": [""]}, "end_tags.0"),
    ({"filter": {}, "format": "pickle"}, "format"),
    ({"filter": {}, "directory": "/etc"}, "directory"),
]


@pytest.mark.parametrize(("body", "where"), HOSTILE)
def test_what_makes_no_sense_is_refused(body: dict[str, Any], where: str, shared: Studio) -> None:
    assert begin(shared, status=400, **body)["where"] == where
    assert shared.ask("owner", "GET", "/api/exports").json()["exports"] == []


def test_files_that_are_not_of_the_export_cannot_be_named(studio: Studio) -> None:
    export = begin(studio, filter={}, archive=False)
    ended(studio, export["id"])
    for name in ("../job.json", "..%2Fjob.json", "%2e%2e/job.json", "/etc/passwd", "nothing"):
        answered = studio.ask("owner", "GET", f"/api/exports/{export['id']}/files/{name}")
        assert answered.status_code == 404
        assert b"owner" not in answered.content
    for export_id in ("..", "..%2F..", "0" * 32, "x"):
        assert studio.ask("owner", "GET", f"/api/exports/{export_id}/file").status_code == 404


def test_unknown_and_open_episodes_are_refused(studio: Studio) -> None:
    begin(studio, status=404, episodes=["f" * 32])
    session = studio.run(episodes.get, studio.episodes["ann"]).session_id

    def play(connection: Any) -> str:
        from rlds_kit.studio.database import sessions

        return begin_episode(connection, sessions.get(connection, session))

    assert "being played" in begin(studio, status=409, episodes=[studio.run(play)])["message"]


def test_what_is_not_on_the_disk_is_left_out_and_reported(studio: Studio) -> None:
    """The report has its public id; if no episode is on the disk, the export fails."""
    session = studio.run(episodes.get, studio.episodes["ann"])

    def add(connection: Any) -> str:
        from rlds_kit.studio.database import sessions
        from rlds_kit.trials.engine.phase import Status

        lost = tables.new_id()
        visit = sessions.get(connection, session.session_id)
        episodes.begin(connection, lost, "f" * 32, 7, visit, 1, "study/environment")
        episodes.finish(connection, lost, Status.COMPLETED, "", 5, 1.0)
        return lost

    lost = studio.run(add)
    report = ended(studio, begin(studio, filter={})["id"])["report"]
    assert (report["episodes"], report["left_out"]) == (2, ["f" * 32])
    failed = ended(studio, begin(studio, episodes=[lost])["id"])
    assert (failed["state"], failed["can_retry"]) == ("failed", False)
    assert "nothing to export" in failed["error"]
    refused = studio.ask("owner", "POST", f"/api/exports/{failed['id']}/again")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "final")


def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes processes of exports wait like long ones until they are killed."""
    started = exports_module._started

    async def waiting(directory: Path) -> Any:
        (directory / "request.json").rename(directory / "asked.json")
        os.mkfifo(directory / "request.json")
        return await started(directory)

    monkeypatch.setattr(exports_module, "_started", waiting)


def until_running(studio: Studio, export: str, who: str = "owner") -> None:
    """Waits for its process."""
    until = time.monotonic() + SECONDS
    while studio.ask(who, "GET", f"/api/exports/{export}").json()["export"]["state"] != "running":
        assert time.monotonic() < until
        time.sleep(0.02)


def test_r36_an_export_is_cancelled_cleanly(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its entry remains; a waiting one is cancelled, too; the next one is made."""
    with monkeypatch.context() as patch:
        slow(patch)
        running_one, waiting = begin(studio, filter={})["id"], begin(studio, filter={})["id"]
        until_running(studio, running_one)
        for each in (waiting, running_one):
            answered = studio.ask("owner", "DELETE", f"/api/exports/{each}").json()["export"]
            assert answered["state"] == "cancelled"
    assert ended(studio, begin(studio, filter={})["id"])["state"] == "done"
    for each in (waiting, running_one):
        assert ended(studio, each)["state"] == "cancelled"
        assert [path.name for path in (tmp_path / "exports" / each).iterdir()] == ["job.json"]
        assert studio.ask("owner", "GET", f"/api/exports/{each}/file").status_code == 409
        studio.ask("owner", "DELETE", f"/api/exports/{each}")
        assert not (tmp_path / "exports" / each).exists()
        assert studio.ask("owner", "GET", f"/api/exports/{each}").status_code == 404


def test_what_is_deleted_while_an_export_waits_is_not_in_it(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report has its public id; if no other episode was chosen, the export fails."""
    gone = studio.run(episodes.get, studio.episodes["ann"])
    with monkeypatch.context() as patch:
        slow(patch)
        first = begin(studio, filter={})["id"]
        until_running(studio, first)
        waiting, alone = begin(studio, filter={})["id"], begin(studio, episodes=[gone.id])["id"]
        studio.run(episodes.remove, gone.id)
    studio.ask("owner", "DELETE", f"/api/exports/{first}")
    report = ended(studio, waiting)["report"]
    assert (report["episodes"], report["left_out"]) == (1, [gone.public_id])
    archive = fetched(studio, waiting)
    assert gone.public_id.encode() not in archive
    failed = ended(studio, alone)
    assert (failed["state"], "nothing to export" in failed["error"]) == ("failed", True)


def test_what_is_deleted_while_an_export_is_made_is_not_in_it(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """The export is made again without the episode before it can be downloaded."""
    gone, started = studio.run(episodes.get, studio.episodes["bob"]), exports_module._started

    async def late(directory: Path) -> Any:
        monkeypatch.setattr(exports_module, "_started", started)
        await studio.client.app.state.database.run(episodes.remove, gone.id)  # type: ignore[attr-defined]  # Starlette's
        return await started(directory)

    monkeypatch.setattr(exports_module, "_started", late)
    done = begin(studio, filter={})["id"]
    report = ended(studio, done)["report"]
    assert (report["episodes"], report["left_out"]) == (1, [gone.public_id])
    assert gone.public_id.encode() not in fetched(studio, done)


def test_calling_off_twice_at_any_time_does_no_harm(studio: Studio) -> None:
    """The next export is made."""
    for pause in (0.0, 0.01, 0.05, 0.2):
        export = begin(studio, filter={})["id"]
        time.sleep(pause)
        for _ in range(3):
            studio.ask("owner", "DELETE", f"/api/exports/{export}")
        assert studio.ask("owner", "GET", f"/api/exports/{export}").status_code == 404
    assert ended(studio, begin(studio, filter={})["id"])["state"] == "done"


def test_an_export_that_is_done_is_deleted_with_its_files(studio: Studio, tmp_path: Path) -> None:
    """When its owner requests it."""
    export = begin(studio, filter={})["id"]
    ended(studio, export)
    studio.ask("owner", "DELETE", f"/api/exports/{export}")
    assert list((tmp_path / "exports").iterdir()) == []


def test_a_server_that_died_takes_its_exports_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running and waiting ones are resumed; finished ones are still there."""
    with running(tmp_path) as studio:
        done = begin(studio, filter={})["id"]
        ended(studio, done)
        with monkeypatch.context() as patch:
            slow(patch)
            left = [begin(studio, filter={})["id"] for _ in range(2)]
            until_running(studio, left[0])
    for each in left:
        asked = tmp_path / "exports" / each / "asked.json"
        if asked.exists():
            asked.replace(asked.with_name("request.json"))
    assert [job.state for job in read_jobs(tmp_path / "exports")] == [State.DONE, State.RUNNING, State.WAITING]
    with running(tmp_path, studio) as again:
        assert [ended(again, each)["state"] for each in left] == ["done", "done"]
        assert fetched(again, done)[:2] == b"PK"


def test_a_process_that_is_killed_is_reported_and_can_be_resumed(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        slow(patch)
        export = begin(studio, filter={})["id"]
        until_running(studio, export)
        exports = next(
            route.endpoint.__self__.exports
            for route in studio.client.app.router.routes  # type: ignore[attr-defined]
            if route.path == "/api/exports"
        )
        while exports._process is None:
            time.sleep(0.01)
        os.kill(exports._process.pid, signal.SIGKILL)
        failed = ended(studio, export)
    assert (failed["state"], "died (-9)" in failed["error"], failed["can_retry"]) == ("failed", True, True)
    asked = tmp_path / "exports" / export / "asked.json"
    asked.replace(asked.with_name("request.json"))
    assert studio.ask("owner", "POST", f"/api/exports/{export}/again").status_code == 202
    assert ended(studio, export)["state"] == "done"
    assert studio.ask("owner", "POST", f"/api/exports/{export}/again").status_code == 409


def test_one_person_cannot_fill_the_queue(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person's exports do not prevent those of others."""
    exports_of(studio)._limits = ExportLimits(waiting=1)
    slow(monkeypatch)
    begin(studio, filter={})
    assert begin(studio, status=429, filter={})["code"] == "too_many"
    begin(studio, "reviewer", filter={})


@pytest.mark.thorough
def test_exports_of_one_person_do_not_hold_up_those_of_another(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person with the longest wait is next, however many exports others have."""
    made: list[str] = []
    started = exports_module._started

    async def noted(directory: Path) -> Any:
        made.append(directory.name)
        return await started(directory)

    with monkeypatch.context() as patch:
        slow(patch)
        blocking = begin(studio, "ann", filter={})["id"]
        until_running(studio, blocking, "ann")
        many = [begin(studio, "ann", filter={})["id"] for _ in range(4)]
        own = [begin(studio, filter={})["id"] for _ in range(2)]
        reviewed = begin(studio, "reviewer", filter={})["id"]
    monkeypatch.setattr(exports_module, "_started", noted)
    studio.ask("ann", "DELETE", f"/api/exports/{blocking}")
    for who, ids in (("ann", many), ("owner", own), ("reviewer", [reviewed])):
        assert [ended(studio, each, who)["state"] for each in ids] == ["done"] * len(ids)
    assert made == [own[0], reviewed, many[0], own[1], *many[1:]]


def test_exports_are_limited_and_expire(studio: Studio, tmp_path: Path) -> None:
    """Number and time are limited; an expired export is deleted with its files, without any request."""
    exports = exports_of(studio)
    exports._limits = ExportLimits(stored=2, days=3)
    for _ in range(2):
        done = ended(studio, begin(studio, filter={})["id"])
    assert "delete some first" in begin(studio, status=429, filter={})["message"]
    begin(studio, "reviewer", filter={})
    later = done["expires_ns"]
    assert 3 * 86400 * 10**9 <= later - done["created_ns"] < 4 * 86400 * 10**9
    exports._clock = lambda: later - 1
    assert done["id"] in [each["id"] for each in studio.ask("owner", "GET", "/api/exports").json()["exports"]]
    exports._clock = lambda: later
    assert studio.ask("owner", "GET", "/api/exports").json()["exports"] == []
    assert not (tmp_path / "exports" / done["id"]).exists()
    begin(studio, filter={})


def test_what_expired_while_the_studio_was_closed_is_deleted(tmp_path: Path) -> None:
    """It is deleted at the next start."""
    with running(tmp_path) as studio:
        done = ended(studio, begin(studio, filter={})["id"])
    studio.now = lambda: done["expires_ns"]
    with running(tmp_path, studio) as again:
        assert not (tmp_path / "exports" / done["id"]).exists()
        assert again.ask("owner", "GET", f"/api/exports/{done['id']}").status_code == 404


def test_participants_make_no_folders(studio: Studio) -> None:
    """They would fill the studio's disk with data that they cannot fetch as one file."""
    assert begin(studio, "ann", 403, filter={}, archive=False)["code"] == "forbidden"
    begin(studio, "ann", filter={})


def test_studies_that_do_not_fit_are_refused_by_name(studio: Studio) -> None:
    """At once, by the names of the studies: ids would not help a person, and a second try would fail, too."""
    session = studio.run(episodes.get, studio.episodes["ann"])
    other = studio.directory / ("a" * 32) / ("b" * 32)
    with Recorder(
        other, specs.Dict({"observation": specs.Array((7,), "float32")}), about={"name": "Far: Cart"}
    ) as recorder:
        recorded = recorder.start_episode(metadata={})
        recorded.append({"observation": np.zeros(7, np.float32)})
        recorded.end(EpisodeEnd.TERMINATED, terminated=True, truncated=False, metadata={})

    def add(connection: Any) -> str:
        from rlds_kit.studio.database import sessions
        from rlds_kit.trials.engine.phase import Status

        visit = sessions.get(connection, session.session_id)
        episodes.begin(connection, recorded.id.hex, "e" * 32, 8, visit, 1, f"{'a' * 32}/{'b' * 32}")
        episodes.finish(connection, recorded.id.hex, Status.COMPLETED, "", 5, 1.0)
        return recorded.id.hex

    studio.run(add)
    error = begin(studio, status=400, filter={})
    assert (error["code"], error["where"]) == ("differ", "filter")
    assert "Far: Cart" in error["message"]
    assert "aaaa" not in error["message"]
    assert "Choose one study" in error["message"]
    assert studio.ask("owner", "GET", "/api/exports").json()["exports"] == []


def exports_of(studio: Studio) -> Any:
    """Of the server."""
    routes = studio.client.app.router.routes  # type: ignore[attr-defined]  # Starlette's
    return next(route.endpoint.__self__.exports for route in routes if route.path == "/api/exports")


def test_jobs_that_are_none_are_passed_over(tmp_path: Path) -> None:
    """Any other files in the directory are ignored."""
    for name, text in (("0" * 32, "{"), ("1" * 32, json.dumps({"id": "2" * 32})), ("2" * 32, "[]"), ("x", "{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.json").write_text(text)
    (tmp_path / ("3" * 32)).mkdir()
    assert read_jobs(tmp_path) == []
    assert read_jobs(tmp_path / "none") == []
