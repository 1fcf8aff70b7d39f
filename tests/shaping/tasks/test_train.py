"""Training an agent in the studio, over its WebSocket."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.websockets import WebSocketDisconnect

import rlds_kit
from rlds_kit.cli import main
from rlds_kit.shaping.feedback import read_feedback
from rlds_kit.shaping.learners import mountain_car_tamer
from rlds_kit.shaping.trainings import relearned
from rlds_kit.studio.database.roles import Role
from tests.shaping.tasks.person import training
from tests.studio.api.studio import Studio


def _digests(recordings: Path, training_id: str) -> dict[int, str]:
    """The weights of the agent while it was trained, by the number of the game."""
    lines = (recordings / "weights" / f"{training_id.replace(':', '.')}.jsonl").read_text().splitlines()
    return {each["sequence"]: each["sha256"] for each in map(json.loads, lines)}


def test_t12_presses_are_recorded_and_learned_again_with_the_same_bits(studio: Studio, recordings: Path) -> None:
    """Key, value, time, step, frame, device and annotator; the agent that was trained is that of the recording."""
    anna = studio.person(Role.PARTICIPANT, "anna")
    with training(anna, "mountain_car", group="A") as page:
        page.go_to("training 1")
        page.do("speed", step_ms=20)
        page.until(lambda me: me.pictures and me.state["counters"]["step"] > 25)
        did = [page.press(key) for key in "ppnp"]
        page.press("n", device="button")
        at = page.state["counters"]["step"]
        page.until(lambda me: me.state["counters"]["step"] > at + 5)
    dataset = rlds_kit.open(recordings / "mountain_car")
    game = dataset.episodes[-1]
    events = read_feedback(dataset, game).events
    assert [(each.key, each.value, each.device.value) for each in events] == [
        *((key, 1.0 if key == "p" else -1.0, "keyboard") for key in "ppnp"),
        ("n", -1.0, "button"),
    ]
    assert [each.sent_ns for each in events] == [1000, 1001, 1002, 1003, 1004]
    assert all(each.frame > 0 and each.step >= 25 and each.annotator == game.metadata["annotator"] for each in events)
    assert [None if each is None else each["number"] for each in did] == [0, 1, 2, 3]
    assert game.metadata["group"] == "A"
    found = {each.sequence: each.digest for each in relearned(dataset, game.metadata["training"], mountain_car_tamer)}
    assert found == _digests(recordings / "mountain_car", game.metadata["training"])
    assert len(set(found.values())) == 2  # the control stage teaches nothing


def test_a_training_goes_on_where_it_was_broken_off(studio: Studio, recordings: Path) -> None:
    """With the same agent, in the same stage; the game that was interrupted is played again, and nothing is lost."""
    ben = studio.person(Role.PARTICIPANT, "ben")
    with training(ben, "mountain_car") as page:
        page.go_to("training 1")
        page.do("speed", step_ms=20)
        page.until(lambda me: me.state["counters"]["step"] > 25)
        page.press("p")
    with training(ben, "mountain_car") as page:
        page.go_to("training 1")
        assert page.state["counters"]["game"] == 1
        page.do("speed", step_ms=20)
        page.until(lambda me: me.state["counters"]["step"] > 25)
        page.press("n")
        page.go_to("training 2")  # with a new agent, after the check
        page.do("speed", step_ms=20)
        page.until(lambda me: me.state["counters"]["step"] > 25)
        page.press("p")
    dataset = rlds_kit.open(recordings / "mountain_car")
    played = [each for each in dataset.episodes if each.metadata["training"].endswith(":1")]
    own = [each for each in played if each.metadata["annotator"] == played[-1].metadata["annotator"]]
    assert [each.metadata["stage"] for each in own] == [
        *("control", "training 1", "training 1", "check 1", "training 2")
    ]
    assert [len(read_feedback(dataset, each).events) for each in own[1:]] == [1, 1, 0, 1]
    assert [each.metadata["agent"] for each in own] == [0, 1, 1, 1, 2]
    assert all(each.metadata["is_official"] for each in own[1:3])
    result = CliRunner().invoke(main, ["relearn", str(recordings / "mountain_car")])
    assert result.exit_code == 0, result.output
    assert result.output.count("same bits") == len(dataset.episodes)


def test_a_person_may_begin_again_and_only_the_first_run_counts(studio: Studio) -> None:
    """A new training has a new agent, and its run is recorded as not official."""
    carla = studio.person(Role.PARTICIPANT, "carla")
    for expected, new in ((True, ""), (False, "1")):
        with training(carla, "mountain_car", new=new) as page:
            page.go_to("training 1")
            assert page.state["stage"]["is_official"] is expected


def test_a_second_window_takes_the_training_over(studio: Studio) -> None:
    dora = studio.person(Role.PARTICIPANT, "dora")
    with training(dora, "CartPole-v1") as first:
        first.until(lambda me: me.pictures)
        with training(dora, "CartPole-v1") as second:
            second.until(lambda me: me.pictures)
            with pytest.raises(WebSocketDisconnect):
                first.until(lambda me: me.failed)


def test_any_environment_can_be_trained(studio: Studio, recordings: Path) -> None:
    """Cart pole, with its own pictures and an agent whose features follow from its spaces."""
    emil = studio.person(Role.PARTICIPANT, "emil")
    with training(emil, "CartPole-v1") as page:
        page.go_to("training")
        page.until(lambda me: me.state["counters"]["step"] > 2)
        assert page.press("p") == {"number": 0, "total": 1.0, "about": page.state["counters"]["step"] - 1}
    result = CliRunner().invoke(main, ["relearn", str(recordings / "CartPole-v1"), "--out", str(recordings / "agents")])
    assert result.exit_code == 0, result.output
    assert len(list((recordings / "agents").iterdir())) == result.output.count("game 0")


def test_t13_groups_are_recorded_and_results_stay_hidden_until_the_end(studio: Studio) -> None:
    """Then every person sees all of them, the best one first."""
    designer, fay, gus = (studio.person(role, "x") for role in (Role.DESIGNER, Role.PARTICIPANT, Role.PARTICIPANT))
    for person, group in ((fay, "early"), (gus, "late")):
        with training(person, "tetris", group=group) as page:
            page.go_to("run")
            page.do("speed", step_ms=0)
            page.until(lambda me: me.state["counters"]["game"] > 2)
    path = "/api/tasks/train/results"
    everything = designer.get(path)["results"]
    assert [(each["group"], each["games"] >= 2) for each in everything if each["training"] == "tetris"] in (
        [("early", True), ("late", True)],
        [("late", True), ("early", True)],
    )
    own = fay.get(path)
    assert [each["group"] for each in own["results"]] == ["early"]
    assert own["results"][0]["is_mine"]
    fay.is_refused(403, "forbidden", "PUT", path, {"are_shown": True})
    designer.put(path, {"are_shown": True})
    scores = [each["score"] for each in gus.get(path)["results"] if each["training"] == "tetris"]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 2
    designer.put(path, {"are_shown": False})
    assert len(fay.get(path)["results"]) == 1


def test_messages_that_mean_nothing_change_nothing(studio: Studio) -> None:
    """And an unknown training is refused."""
    hedi = studio.person(Role.PARTICIPANT, "hedi")
    with training(hedi, "CartPole-v1") as page:
        page.go_to("training")
        speeds = ({"do": "speed", "step_ms": -1}, {"do": "speed", "step_ms": True})
        for message in (*speeds, {"do": "press"}, {"do": 7}, {"do": "shown", "frame": "x"}, {}):
            page._socket.send_json(message)
        page._socket.send_text("{")
        page._socket.send_text("[1]")
        at = page.state["counters"]["total"]
        page.until(lambda me: me.state["counters"]["total"] > at)
    with pytest.raises(WebSocketDisconnect), training(hedi, "Chess"):
        pass
