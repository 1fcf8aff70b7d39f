"""Responses of the replay: an episode, its steps, pictures and arrays."""

import io
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rlds_kit.logger import EpisodeWriter
from tests.studio.replay.datasets import frame, get, odd_steps, record, record_agents, record_odd, recording, refused
from tests.studio.replay.datasets import viewing as viewing_dataset
from tests.studio.studio_process import wait_for


def fields(step: dict[str, Any]) -> dict[str, Any]:
    """The fields of an answer by name."""
    return {each["name"]: each for each in step["fields"]}


def items(value: dict[str, Any]) -> dict[str, Any]:
    """The items of a dict by key."""
    return dict(value["items"])


def test_r30_an_episode_is_described_once(tmp_path: Path) -> None:
    """One response has length, end, fields, spec, metadata, neighbours and rewards."""
    first, second = record(tmp_path)
    with viewing_dataset(tmp_path) as client:
        found = get(client, f"/api/replay/{second}")
    assert (found["length"], found["end"], found["number"], found["count"]) == (5, "terminated", 1, 2)
    assert (found["before"], found["after"]) == (first, None)
    assert {each["name"]: each["kind"] for each in found["fields"]}["observation"] == "image"
    assert items(found["about"]["metadata"])["operator"]["value"] == 1
    assert found["about"]["seed"]["value"] == 1
    assert found["profile"]["series"][0]["rewards"] == [0.0, 1.0, 2.0, 3.0, 0.0]
    assert found["profile"]["series"][0]["sums"] == [0.0, 1.0, 3.0, 6.0, 6.0]
    assert (found["can_annotate"], found["can_retract_all"], found["problems"]) == (True, True, [])


def test_r30_every_step_is_as_it_was_recorded(tmp_path: Path) -> None:
    """Pictures bit for bit, numbers exactly."""
    episode, _ = record(tmp_path)
    with viewing_dataset(tmp_path) as client:
        for number in range(12):
            step = get(client, f"/api/replay/{episode}/step/{number}")
            value = fields(step)["observation"]["value"]
            assert (value["kind"], value["exact"], value["place"]) == ("image", True, "observation")
            png = client.get(f"/api/replay/{episode}/image/{number}?field=observation")
            assert png.headers["content-type"] == "image/png"
            assert np.array_equal(np.asarray(Image.open(io.BytesIO(png.content))), frame(number))
            if number < 11:
                assert fields(step)["reward"]["value"]["value"] == number
                assert fields(step)["action"]["value"]["value"] == (number + 1) % 3


def test_the_last_step_has_no_action(tmp_path: Path) -> None:
    """An undefined field is marked, whatever value it has."""
    episode, _ = record(tmp_path)
    with viewing_dataset(tmp_path) as client:
        last = get(client, f"/api/replay/{episode}/step/11")
        first = get(client, f"/api/replay/{episode}/step/0")
    assert not any(each["defined"] for name, each in fields(last).items() if name in {"action", "reward"})
    assert fields(last)["observation"]["defined"]
    assert (last["flags"], first["flags"]) == (["is_last", "is_terminal"], ["is_first"])


def test_values_of_every_type(tmp_path: Path) -> None:
    """No value is rounded, cut without a mark, or shown as another type."""
    episode, wanted = record_odd(tmp_path), odd_steps()[1]
    with viewing_dataset(tmp_path) as client:
        found = items(fields(get(client, f"/api/replay/{episode}/step/1"))["observation"]["value"])
    assert found["text"]["value"] == wanted["text"]
    assert found["bytes"] == {"kind": "bytes", "size": 4, "hex": "01020304"}
    assert found["flag"] == {"kind": "number", "type": "bool", "value": False}
    assert found["bits"]["values"] == [True, False]
    assert found["ragged"]["shape"] == [1]
    assert (found["big"]["value"], found["exact"]["value"]) == (str(2**70 + 1), str(2**60 + 1))
    assert int(found["huge"]["value"], 16) == 7**9000
    assert found["nan"]["values"] == ["nan", "inf", "-0.0", 1.5]
    assert (found["complex"]["value"], found["none"]["kind"]) == ("(1+2j)", "none")
    assert found["half"] == {"kind": "number", "type": "float16", "value": float(np.float16(0.1))}
    assert found["nested"]["items"][0]["items"][0][1]["items"][1]["value"] == "b"
    assert found["nested"]["items"][1]["items"][0]["shape"] == [0, 3]
    assert found["words"]["values"] == ["a", "längst"]
    assert (found["long"]["cut"][255], found["long"]["summary"]["max"]) == (255, 9999)


def test_pictures_in_nests_are_requested_by_their_place(tmp_path: Path) -> None:
    """Also below names with a slash; floats are scaled, and marked as scaled."""
    episode = record_odd(tmp_path)
    with viewing_dataset(tmp_path) as client:
        observation = items(fields(get(client, f"/api/replay/{episode}/step/2"))["observation"]["value"])
        cameras = items(observation["camera"])
        left, depth = cameras["left/right"], cameras["depth"]
        assert (left["exact"], depth["exact"], depth["range"]) == (True, False, [0, 1])
        png = client.get(f"/api/replay/{episode}/image/2", params={"field": left["place"]})
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(png.content))), frame(2))
        array = client.get(f"/api/replay/{episode}/array/2", params={"field": depth["place"]})
        assert np.array_equal(np.load(io.BytesIO(array.content)), np.full((20, 20), 2 / 7, np.float32))
        assert array.headers["content-disposition"].startswith("attachment")


def test_r31_rewards_that_are_no_numbers_are_kept_and_left_out_of_sums(tmp_path: Path) -> None:
    """NaN is shown as NaN."""
    episode = record_odd(tmp_path)
    with viewing_dataset(tmp_path) as client:
        (series,) = get(client, f"/api/replay/{episode}")["profile"]["series"]
    assert (series["rewards"], series["sums"], series["not_finite"]) == (["nan", 2.5, 0.0], [0.0, 2.5, 2.5], 1)


def test_every_agent_has_a_series(tmp_path: Path) -> None:
    """An agent that left has a reward of 0."""
    episode = record_agents(tmp_path)
    with viewing_dataset(tmp_path) as client:
        found = {each["name"]: each for each in get(client, f"/api/replay/{episode}")["profile"]["series"]}
        assert items(fields(get(client, f"/api/replay/{episode}/step/2"))["observation"]["value"]).keys() == {"ann"}
    assert found["ann"]["rewards"] == [1.0, 2.0, 0.0]
    assert found["bob"]["sums"][-1] == -1.0


def test_an_episode_is_seen_while_it_is_recorded(tmp_path: Path) -> None:
    """It grows, and finally ends."""
    with recording(tmp_path) as (writer, episode), viewing_dataset(tmp_path) as client:
        path = f"/api/replay/{episode.id}"
        assert (get(client, path)["end"], get(client, path)["length"]) == ("open", 4)
        episode.step(0, 1.0, frame(4))
        writer.flush()
        wait_for(lambda: get(client, path)["length"] == 5)
        assert fields(get(client, f"{path}/step/4"))["observation"]["defined"]
        episode.step(0, 1.0, frame(5), terminated=True)
        writer.flush()
        wait_for(lambda: get(client, path)["end"] == "terminated")
        assert get(client, path)["length"] == 6


def test_people_are_shown_as_the_studio_records_them(tmp_path: Path) -> None:
    """Keys and the frame on the screen; a field "play" of another recorder is an ordinary field."""
    facts = {"driver": "human", "keys": {"ArrowUp": 1.0}, "shown_frame": 0, "pressed_ns": 1, "is_default": False}
    with EpisodeWriter(tmp_path) as writer:
        ids = []
        for play in ({"seats": {"player": facts}}, {"seats": 3}, "chess"):
            with writer.episode() as episode:
                episode.start(0)
                episode.step(1, 0.0, 1, acted={"play": play}, terminated=True)
                ids.append(episode.id)
    with viewing_dataset(tmp_path) as client:
        people = [get(client, f"/api/replay/{each}/step/0")["people"] for each in ids]
        assert get(client, f"/api/replay/{ids[0]}/step/1")["people"] == []
    kept = {name: facts[name] for name in ("driver", "keys", "shown_frame", "is_default")}
    assert people == [[{"seat": "player", **kept}], [], []]


def test_r30_a_step_far_away_is_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand steps with pictures only the blocks around one are decoded."""
    with EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(np.zeros((64, 64, 3), np.uint8))
        for step in range(1, 10_001):
            episode.step(0, 0.0, np.full((64, 64, 3), step % 256, np.uint8), terminated=step == 10_000)
    decoded = []
    from rlds_kit.storage import column

    decode = column.decode

    def counted(*given: Any) -> Any:
        decoded.append(given)
        return decode(*given)

    monkeypatch.setattr(column, "decode", counted)
    with viewing_dataset(tmp_path) as client:
        found = get(client, f"/api/replay/{episode.id}/step/7777")
        png = client.get(f"/api/replay/{episode.id}/image/7777?field=observation").content
    assert np.asarray(Image.open(io.BytesIO(png)))[0, 0, 0] == 7777 % 256
    assert fields(found)["action"]["defined"]
    assert 0 < len(decoded) < 40


def test_r31_a_long_episode_has_a_short_profile_that_misses_no_spike(tmp_path: Path) -> None:
    """And the profile of a short section has every step."""
    length, spikes = 30_000, {1234: 50.0, 20_001: -7.0, 29_998: 3.0}
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0)
        for step in range(length - 1):
            episode.step(0, spikes.get(step, 0.0), 0, terminated=step == length - 2)
    with viewing_dataset(tmp_path) as client:
        path = f"/api/replay/{episode.id}/profile"
        whole, near = get(client, path), get(client, f"{path}?first=1200&end=1300")
        few = get(client, f"{path}?points=10")
    for found in (whole, few):
        drawn = dict(zip(found["steps"], found["series"][0]["rewards"], strict=True))
        assert (found["is_exact"], drawn[0], drawn[length - 1]) == (False, 0.0, 0.0)
        assert found["series"][0]["total"] == 46.0
    assert spikes.items() <= dict(zip(whole["steps"], whole["series"][0]["rewards"], strict=True)).items()
    assert len(whole["steps"]) <= 4002
    assert len(few["steps"]) <= 12
    assert near["steps"] == list(range(1200, 1300))
    assert near["series"][0]["sums"][-1] == 50.0


HOSTILE = [
    ("step/12", 404, "step"),
    ("step/-1", 400, "step"),
    ("step/1e3", 400, "step"),
    ("step/99999999999999999999999999", 400, "step"),
    ("step/%D9%A3", 400, "step"),
    ("step/0x10", 400, "step"),
    ("image/0?field=../../secret", 404, "field"),
    ("image/0?field=observation/0/0", 404, "field"),
    ("image/0?field=reward", 404, "field"),
    ("image/0?field=observation&frame=1", 404, "field"),
    ("image/0?field=observation&frame=-1", 400, "frame"),
    ("image/0?field=observation&frame=99999999999999", 400, "frame"),
    ("array/0?field=info", 404, "field"),
    ("array/0?field=nothing/999999999999999999999", 404, "field"),
    ("profile?first=9&end=3", 400, "first"),
    ("profile?points=1", 400, "points"),
    ("profile?end=100000", 400, "end"),
]


@pytest.mark.parametrize(("path", "status", "where"), HOSTILE)
def test_what_makes_no_sense_is_refused(path: str, status: int, where: str, tmp_path: Path) -> None:
    """The error has what was expected, and where."""
    episode, _ = record(tmp_path)
    with viewing_dataset(tmp_path) as client:
        assert refused(client, f"/api/replay/{episode}/{path}", status)["where"] == where


@pytest.mark.parametrize("episode", ["../../etc/passwd", "..%2F..%2Fsecret", "1", "None", str(uuid.UUID(int=7))])
def test_an_id_that_is_none_is_refused(episode: str, tmp_path: Path) -> None:
    """No file outside of the dataset can be named."""
    record(tmp_path)
    with viewing_dataset(tmp_path) as client:
        assert refused(client, f"/api/replay/{episode}", 404)["code"] in {"no_episode", "not_found"}


def test_a_damaged_step_hides_nothing_else(tmp_path: Path) -> None:
    """Readable parts are shown, and the others are marked as damaged."""
    episode, other = record(tmp_path, (2000, 5))
    (shard,) = tmp_path.glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    middle = data.find(b"observation", len(data) // 2) + 3000
    data[middle : middle + 64] = bytes(64)
    shard.write_bytes(data)
    with viewing_dataset(tmp_path) as client:
        answers = [client.get(f"/api/replay/{episode}/step/{number}") for number in range(0, 2000, 40)]
        assert get(client, f"/api/replay/{other}")["length"] == 5
        assert get(client, f"/api/replay/{episode}")["length"] == 2000
    assert {each.status_code for each in answers} == {200, 422}
    assert {each.json()["error"]["code"] for each in answers if each.status_code == 422} == {"damaged"}


def test_the_dataset_may_be_gone(tmp_path: Path) -> None:
    """The response says so, and the server continues."""
    episode, _ = record(tmp_path / "data")
    with viewing_dataset(tmp_path / "data") as client:
        for each in sorted((tmp_path / "data").iterdir()):
            each.unlink()
        found = client.get(f"/api/replay/{episode}/step/3")
        assert found.status_code in {404, 422, 500}
        assert "error" in found.json()
