"""The replay in a studio: who may see and annotate which episodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.websockets import WebSocketDisconnect

import rlds_kit
from rlds_kit import layers
from rlds_kit.studio.database import episodes, tokens
from tests.studio.replay.studio import Studio, running


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


WHO = {"ann": 200, "bob": 403, "owner": 200, "designer": 403, "reviewer": 200, "nobody": 401}


@pytest.mark.parametrize(("who", "status"), WHO.items())
@pytest.mark.parametrize("path", ["", "/step/0", "/image/0", "/array/0?field=observation", "/profile", "/annotations"])
def test_r35_an_episode_is_seen_by_who_may_see_it(who: str, status: int, path: str, shared: Studio) -> None:
    """Its player, the study's owner, and reviewers."""
    answered = shared.ask(who, "GET", f"/api/replay/{shared.episodes['ann']}{path}")
    assert answered.status_code == status
    assert status == 200 or answered.json()["error"]["message"]


@pytest.mark.parametrize(("who", "status"), WHO.items())
def test_r35_an_episode_is_tagged_by_who_may_tag_it(who: str, status: int, studio: Studio) -> None:
    """Requests of others change nothing; the table of episodes is updated."""
    path = f"/api/replay/{studio.episodes['ann']}/annotations"
    answered = studio.ask(who, "POST", path, json={"kind": "tag", "text": "seen"})
    assert answered.status_code == (201 if status == 200 else status)
    assert studio.tags("ann") == (("seen",) if status == 200 else ())
    many = studio.ask(who, "POST", "/api/annotations", json={"episodes": list(studio.episodes.values()), "text": "all"})
    is_for_both = who in {"owner", "reviewer"}
    assert many.status_code == (201 if is_for_both else 401 if who == "nobody" else 403)
    assert ("all" in studio.tags("bob")) == is_for_both


def test_r35_the_socket_is_closed_to_others(studio: Studio) -> None:
    """A person who may not see an episode does not receive its annotations."""
    path = f"/ws/review?episode={studio.episodes['ann']}"
    for who in ("bob", "designer", "nobody"):
        refused = pytest.raises(WebSocketDisconnect)
        with refused as caught, studio.client.websocket_connect(path, headers={"x-who": who}):
            pass
        assert caught.value.code == 4403
    with studio.client.websocket_connect(path, headers={"x-who": "reviewer"}) as page:
        assert page.receive_json()["length"] == 6
        assert page.receive_json()["annotations"] == []
        studio.ask(
            "ann", "POST", f"/api/replay/{studio.episodes['ann']}/annotations", json={"kind": "tag", "text": "x"}
        )
        assert [each["value"] for each in page.receive_json()["annotations"]] == ["x"]


@pytest.mark.parametrize("over", ["login", "episode"])
def test_a_page_hears_nothing_more_when_its_login_or_the_episode_is_gone(over: str, studio: Studio) -> None:
    """It receives no later annotations; pages that still may, do."""
    episode = studio.episodes["ann"]
    path, say = f"/ws/review?episode={episode}", f"/api/replay/{episode}/annotations"
    with studio.client.websocket_connect(path, headers={"x-who": "ann"}) as page:
        assert page.receive_json()["length"] == 6
        assert page.receive_json()["annotations"] == []
        if over == "login":
            studio.run(tokens.revoke, studio.accounts["ann"].token_id)
            assert studio.ask("owner", "POST", say, json={"kind": "note", "text": "later"}).status_code == 201
        else:
            studio.run(episodes.remove, episode)
            (dataset,) = (studio.directory / "study").iterdir()
            found = next(each for each in rlds_kit.open(dataset).episodes if each.id.hex == episode)
            rlds_kit.open(dataset).annotate("review", [layers.note(found, "later")], source="somebody")
        with pytest.raises(WebSocketDisconnect):
            page.receive_json()


def test_only_its_author_and_the_studys_owner_take_an_annotation_back(studio: Studio) -> None:
    """Participants and reviewers cannot retract each other's annotations."""
    path = f"/api/replay/{studio.episodes['ann']}/annotations"

    def add(who: str, text: str) -> str:
        found = studio.ask(who, "POST", path, json={"kind": "tag", "text": text}).json()["annotations"]
        return str(next(each["id"] for each in found if each["value"] == text))

    tag = add("ann", "mine")
    assert studio.ask("reviewer", "DELETE", f"{path}/{tag}").status_code == 403
    body = {"kind": "tag", "text": "other", "replaces": tag}
    assert studio.ask("reviewer", "POST", path, json=body).status_code == 403
    assert studio.ask("bob", "DELETE", f"{path}/{tag}").status_code == 403
    assert studio.tags("ann") == ("mine",)
    assert studio.ask("ann", "DELETE", f"{path}/{tag}").status_code == 200
    assert studio.tags("ann") == ()
    assert studio.ask("owner", "DELETE", f"{path}/{add('reviewer', 'theirs')}").status_code == 200


def test_recordings_do_not_identify_people(studio: Studio) -> None:
    """The source of a participant's annotation is their id in published data."""
    path = f"/api/replay/{studio.episodes['ann']}/annotations"
    studio.ask("ann", "POST", path, json={"kind": "tag", "text": "mine"})
    studio.ask("reviewer", "POST", path, json={"kind": "tag", "text": "seen"})
    sources = rlds_kit.open(studio.directory / "study" / "environment").layer("review").sources
    assert studio.agents["ann"] in sources
    everybody = [text for each in studio.accounts.values() for text in (each.id, each.name)]
    assert not any(text in source for source in sources for text in everybody if len(text) > 8)


@pytest.mark.parametrize("who", ["ann", "owner", "reviewer"])
def test_neighbours_in_the_recording_are_not_returned(who: str, shared: Studio) -> None:
    """They may belong to other people."""
    found = shared.ask(who, "GET", f"/api/replay/{shared.episodes['bob' if who != 'ann' else 'ann']}").json()
    assert [found[name] for name in ("number", "count", "before", "after")] == [None] * 4
    assert (found["can_annotate"], found["can_retract_all"]) == (True, who == "owner")


def test_an_episode_that_is_not_there_is_not_found(shared: Studio) -> None:
    for episode in ("00000000000000000000000000000007", "../../studio.db", "%2e%2e"):
        assert shared.ask("reviewer", "GET", f"/api/replay/{episode}").status_code == 404


def test_r29_an_episode_that_was_deleted_is_not_shown_any_more(studio: Studio) -> None:
    """Also if its steps are still on the disk."""
    studio.run(episodes.remove, studio.episodes["ann"])
    for who in ("ann", "owner", "reviewer"):
        assert studio.ask(who, "GET", f"/api/replay/{studio.episodes['ann']}/step/0").status_code == 404
