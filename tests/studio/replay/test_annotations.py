"""Annotations of episodes: added, retracted, sent to all open pages, and stored as layers."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import rlds_kit
from rlds_kit import layers
from rlds_kit.dataset.dataset import open_dataset
from rlds_kit.layers import Kind
from rlds_kit.studio.replay import review
from rlds_kit.studio.replay.collection import Collection
from tests.studio.replay.datasets import get, record, recording, reviewing, viewing
from tests.studio.studio_process import wait_for


def say(client: TestClient, episode: str, status: int = 201, **body: Any) -> Any:
    """Adds an annotation."""
    answered = client.post(f"/api/replay/{episode}/annotations", json=body)
    assert answered.status_code == status, answered.text
    return answered.json()


def of_kind(found: Any, kind: str) -> list[Any]:
    """Values and steps of the annotations of a kind."""
    return [[each["value"], each["steps"]] for each in found["annotations"] if each["kind"] == kind]


def test_r32_tags_of_episodes_and_steps_are_layers_of_the_dataset(tmp_path: Path) -> None:
    """Other programs can read the annotations of the page."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path, "ann") as client:
        say(client, episode, kind="tag", text="good")
        found = say(client, episode, kind="tag", text=" crash ", steps=[3, 5])
        assert of_kind(found, "tag") == [["good", None], ["crash", [3, 5]]]
        assert get(client, f"/api/replay/{episode}")["annotations"] == found["annotations"]
    first = rlds_kit.open(tmp_path).episodes[0]
    assert first.tags == ("crash", "good")
    assert {each.source for each in first.annotations("review")} == {"ann"}
    assert first.annotations()[1].steps == range(3, 5)


def test_r33_notes_survive(tmp_path: Path) -> None:
    """Text is stored unchanged."""
    episode, _ = record(tmp_path)
    text = "The gripper slipped.\n  “Twice” <b>é</b> 🤖"
    with viewing(tmp_path) as client:
        say(client, episode, kind="note", text=text)
    with viewing(tmp_path) as client:
        assert of_kind(get(client, f"/api/replay/{episode}/annotations"), "note") == [[text, None]]


def test_rewards_are_given_to_steps(tmp_path: Path) -> None:
    """They amend the dataset when it is read as amended, and do not change recorded data."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        found = say(client, episode, kind="reward", value=-1, steps=[2, 4], confidence=0.5)
        assert of_kind(found, "reward") == [[-1.0, [2, 4]]]
        say(client, episode, kind="return", value=7.5)
        assert say(client, episode, 400, kind="reward", value=1, steps=[10, 12])["error"]["where"] == "steps"
        assert say(client, episode, 400, kind="reward", value=1)["error"]["where"] == "steps"
    dataset = rlds_kit.open(tmp_path)
    assert dataset.as_amended("review").episodes[0]["reward"][:5].tolist() == [0.0, 1.0, -1.0, -1.0, 4.0]
    assert dataset.episodes[0]["reward"][2] == 2.0
    assert dataset.layer("review").returns(dataset.episodes[0]) == {"ann": 7.5}


def test_r32_a_tag_that_is_there_is_refused(tmp_path: Path) -> None:
    """Also if the steps with the tag extend further; the tag can be added to other steps."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        say(client, episode, kind="tag", text="a")
        say(client, episode, kind="tag", text="a", steps=[2, 6])
        for steps in (None, [2, 6], [3, 4]):
            error = say(client, episode, 409, kind="tag", text="a", steps=steps)["error"]
            assert error["code"] == "duplicate"
            assert "ann added it" in error["message"]
        assert len(of_kind(say(client, episode, kind="tag", text="a", steps=[5, 8]), "tag")) == 3


def test_taking_back_is_for_the_author(tmp_path: Path) -> None:
    """A second retraction is refused; retracted annotations stay in the history."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        (tag,) = say(client, episode, kind="tag", text="a")["annotations"]
        path = f"/api/replay/{episode}/annotations/{tag['id']}"
        assert client.delete(path).json()["annotations"] == []
        assert client.delete(path).status_code == 404
        say(client, episode, kind="tag", text="a")
    layer = rlds_kit.open(tmp_path).layer("review")
    assert [each.kind for each in layer.history()] == [Kind.TAG, Kind.RETRACTION, Kind.TAG]


def test_a_note_is_replaced_in_one_deed(tmp_path: Path) -> None:
    """Both parts are done, or none; a tag may be moved to other steps."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        (note,) = say(client, episode, kind="note", text="one")["annotations"]
        found = say(client, episode, kind="note", text="two", replaces=note["id"])
        assert of_kind(found, "note") == [["two", None]]
        assert (
            say(client, episode, 404, kind="note", text="three", replaces=note["id"])["error"]["where"] == "annotation"
        )
        tag = say(client, episode, kind="tag", text="a", steps=[2, 6])["annotations"][-1]
        found = say(client, episode, kind="tag", text="a", steps=[3, 5], replaces=tag["id"])
        assert of_kind(found, "tag") == [["a", [3, 5]]]
        assert of_kind(found, "note") == [["two", None]]


def test_what_other_layers_say_is_shown(tmp_path: Path) -> None:
    """With the name of the layer; annotations can be retracted there."""
    episode, _ = record(tmp_path)
    dataset = rlds_kit.open(tmp_path)
    dataset.annotate("model", [layers.tag(dataset.episodes[0], "slow", 3)], source="critic")
    with viewing(tmp_path) as client:
        (found,) = get(client, f"/api/replay/{episode}/annotations")["annotations"]
        assert (found["layer"], found["source"]) == ("model", "critic")
        say(client, episode, kind="tag", text="fast", replaces=found["id"])
    assert dataset.episodes[0].tags == ("fast",)


MALFORMED: list[tuple[dict[str, Any] | list[Any] | str, str]] = [
    ({"kind": "tag"}, "text"),
    ({"v": 2, "kind": "tag", "text": "a"}, "v"),
    ({"kind": "tag", "text": "  "}, "text"),
    ({"kind": "tag", "text": 7}, "text"),
    ({"kind": "tag", "text": "x" * 201}, "text"),
    ({"kind": "tag", "text": "a\0b"}, "text"),
    ({"kind": "tag", "text": "\ud800"}, "text"),
    ({"kind": "note", "text": "x" * 20_001}, "text"),
    ({"kind": "field", "text": "x"}, "kind"),
    ({"kind": None, "text": "x"}, "kind"),
    ({"kind": "tag", "text": "x", "steps": [5, 3]}, "steps"),
    ({"kind": "tag", "text": "x", "steps": [-1, 3]}, "steps"),
    ({"kind": "tag", "text": "x", "steps": [0, 13]}, "steps"),
    ({"kind": "tag", "text": "x", "steps": [0, 10**400]}, "steps"),
    ({"kind": "tag", "text": "x", "steps": [0.0, 1.0]}, "steps"),
    ({"kind": "tag", "text": "x", "steps": [True, 2]}, "steps"),
    ({"kind": "tag", "text": "x", "steps": 3}, "steps"),
    ({"kind": "tag", "text": "x", "confidence": 2}, "confidence"),
    ({"kind": "tag", "text": "x", "confidence": True}, "confidence"),
    ({"kind": "reward", "value": "1", "steps": [0, 1]}, "value"),
    ({"kind": "reward", "value": 10**400, "steps": [0, 1]}, "value"),
    ({"kind": "return", "value": 1, "steps": [0, 1]}, "steps"),
    ({"kind": "tag", "text": "x", "source": "bob"}, ""),
    ({"kind": "tag", "text": "x", "layer": "../../etc"}, ""),
    ([], ""),
    ("tag", ""),
]


@pytest.mark.parametrize(("body", "where"), MALFORMED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(body: Any, where: str, tmp_path: Path) -> None:
    """The error names the wrong part."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        answered = client.post(f"/api/replay/{episode}/annotations", content=json.dumps(body))
        assert (answered.status_code, answered.json()["error"]["where"]) == (400, where)
    assert rlds_kit.open(tmp_path).layers == ()


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"\xff", 400), (b"[" * 200_000, 400), (b" " * 300_000, 413)]
)
def test_bodies_that_are_no_json_are_refused(body: bytes, status: int, tmp_path: Path) -> None:
    """Also very deeply nested and very long ones."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        assert client.post(f"/api/replay/{episode}/annotations", content=body).status_code == status


def test_nan_is_no_reward(tmp_path: Path) -> None:
    """Python's JSON accepts it; the layer must not."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client:
        body = b'{"kind": "reward", "value": NaN, "steps": [0, 1]}'
        assert client.post(f"/api/replay/{episode}/annotations", content=body).status_code == 400


def test_r28_many_episodes_get_a_tag_together(tmp_path: Path) -> None:
    """Episodes that already have it are counted, not refused; an unknown episode cancels the whole request."""
    ids = record(tmp_path, (3,) * 5)
    with viewing(tmp_path) as client:
        say(client, ids[0], kind="tag", text="good")
        say(client, ids[1], kind="tag", text="good", steps=[0, 1])
        answered = client.post("/api/annotations", json={"episodes": [*ids[:3], ids[2]], "text": " good "})
        assert (answered.status_code, answered.json()) == (201, {"v": 1, "added": 2, "had": 1})
        unknown = "00000000-0000-0000-0000-000000000007"
        for bad in ([*ids, unknown], [], ["../x"], ids * 300, None, [1]):
            refused = client.post("/api/annotations", json={"episodes": bad, "text": "bad"})
            assert refused.status_code in {400, 404}
    dataset = rlds_kit.open(tmp_path)
    assert [each.tags for each in dataset.episodes] == [("good",), ("good",), ("good",), (), ()]
    assert len(list((tmp_path / "layers" / "review").iterdir())) == 1  # one page, one file


def test_r32_two_people_see_each_others_tags_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message has all valid annotations, so a lost one does not matter; pages are notified at once."""
    monkeypatch.setattr(review, "UPDATE_SECONDS", 3600.0)
    episode, other = record(tmp_path)
    with viewing(tmp_path) as client, reviewing(client, episode) as one, reviewing(client, episode) as two:
        for page in (one, two):
            assert page.receive_json() == {"v": 1, "type": "length", "length": 12, "end": "terminated"}
            assert page.receive_json() == {"v": 1, "type": "annotations", "annotations": [], "problems": []}
        two.send_text("nobody listens")
        two.send_bytes(b"\xff")
        say(client, other, kind="tag", text="elsewhere")
        found = say(client, episode, kind="tag", text="seen")
        for page in (one, two):
            assert page.receive_json()["annotations"] == found["annotations"]
        client.delete(f"/api/replay/{episode}/annotations/{found['annotations'][0]['id']}")
        assert one.receive_json()["annotations"] == []


def test_what_others_write_is_seen_soon(tmp_path: Path) -> None:
    """The command line and other servers write to the same layers while the recording continues."""
    both = recording(tmp_path)
    with both as (writer, episode), viewing(tmp_path) as client, reviewing(client, str(episode.id)) as page:
        assert page.receive_json()["length"] == 4
        assert page.receive_json()["annotations"] == []
        rlds_kit.open(tmp_path).annotate("model", [layers.tag(episode.id, "slow", 3)], source="critic")
        assert of_kind(page.receive_json(), "tag") == [["slow", [3, 4]]]
        episode.step(0, 1.0, None, terminated=True)
        writer.flush()
        assert page.receive_json() == {"v": 1, "type": "length", "length": 5, "end": "terminated"}


@pytest.mark.parametrize("episode", ["", "x", "00000000-0000-0000-0000-000000000007", "../../x"])
def test_a_socket_of_no_episode_is_closed(episode: str, tmp_path: Path) -> None:
    record(tmp_path)
    with viewing(tmp_path) as client, pytest.raises(WebSocketDisconnect) as caught, reviewing(client, episode):
        pass
    assert caught.value.code == 4403
    assert "expected the address" not in caught.value.reason


def test_r32_tags_of_many_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    """And of several equal ones, one is stored."""
    episode, _ = record(tmp_path)
    with viewing(tmp_path) as client, ThreadPoolExecutor(8) as pool:

        def add(number: int) -> int:
            body = {"kind": "tag", "text": f"label {number % 20}"}
            return client.post(f"/api/replay/{episode}/annotations", json=body).status_code

        codes = list(pool.map(add, range(40)))
    assert sorted(codes) == [201] * 20 + [409] * 20
    assert len(rlds_kit.open(tmp_path).episodes[0].tags) == 20


def test_a_damaged_layer_hides_nothing_else(tmp_path: Path) -> None:
    """The damage is reported; other layers and the episode are shown."""
    episode, _ = record(tmp_path)
    dataset = rlds_kit.open(tmp_path)
    dataset.annotate("model", [layers.tag(dataset.episodes[0], "slow", 3)], source="critic")
    dataset.annotate("other", [layers.tag(dataset.episodes[0], "fine")], source="ann")
    (file,) = (tmp_path / "layers" / "model").iterdir()
    data = bytearray(file.read_bytes())
    data[-20:-10] = bytes(10)
    file.write_bytes(data)
    with viewing(tmp_path) as client:
        found = get(client, f"/api/replay/{episode}")
        assert [each["value"] for each in found["annotations"]] == ["fine"]
        assert "model" in " ".join(found["problems"])
        assert get(client, "/api/episodes")["episodes"][0]["tags"] == ["fine"]


def test_an_episode_can_be_tagged_before_and_after_it_ends(tmp_path: Path) -> None:
    """Annotations that were added during the recording are valid."""
    with recording(tmp_path) as (writer, episode), viewing(tmp_path) as client:
        say(client, str(episode.id), kind="tag", text="early", steps=[1, 3])
        episode.step(0, 1.0, None, terminated=True)
        writer.flush()
        wait_for(lambda: get(client, f"/api/replay/{episode.id}")["end"] == "terminated")
        say(client, str(episode.id), kind="tag", text="late", steps=[4, 5])
    (annotated,) = rlds_kit.open(tmp_path).episodes
    assert annotated.tags == ("early", "late")
    assert annotated.annotations()[1].digest == annotated.content_digest


def test_a_collection_lets_its_files_go(tmp_path: Path) -> None:
    """And many threads can use it again meanwhile."""
    episode, _ = record(tmp_path)
    collection = Collection(open_dataset(tmp_path, include_open=True))
    about = collection.dataset.episodes[0]
    threads = [threading.Thread(target=collection.number, args=(about.id,)) for _ in range(8)]
    for each in threads:
        each.start()
    with collection.annotating:
        collection.say("review", [layers.tag(about, "a")], "ann")
    collection.close()
    with collection.annotating:
        collection.say("review", [layers.tag(about, "b")], "ann")
    collection.close()
    for each in threads:
        each.join()
    assert str(about.id) == episode
    assert collection.labels() == {about.id: {"a", "b"}}
