"""The ways in which time passes, and what is known of key presses."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import Visitor, a_crowd, experimenter, visitor

PACES = ("realtime", "turns", "hold", "release")
TASK = """
[tasks.{pace}]
title = "{pace}"
environment = "rlds_kit_tests/Corridor-v0"
pace = "{pace}"
fps = 20
target = 100
"""


@pytest.fixture(scope="module")
def paces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with a task for each pace."""
    text = 'name = "Paces"\nrecruitment = ["social", "test"]\n[groups.main]\nmode = "choose"\n'
    with a_crowd(tmp_path_factory.mktemp("paces"), text + "".join(TASK.format(pace=each) for each in PACES)) as studio:
        yield studio


def at(studio: Studio, pace: str) -> Visitor:
    """Somebody who has chosen a task."""
    person = visitor(studio)
    person.come()
    person.go("device", width=1200, height=800, has_keyboard=True)
    person.go("instructed")
    assert person.go("place", task=pace)["game"]["title"] == pace
    return person


def test_c6_steps_are_done_by_the_clock_by_a_press_while_a_key_is_down_or_when_it_is_let_go(paces: Studio) -> None:
    """As the task says."""
    with at(paces, "realtime").playing() as window:
        window.begin()
        window.until_frame(2)  # without a key
    with at(paces, "turns").playing() as window:
        window.begin()
        window.say("keys", held={"ArrowRight": 1.0})
        window.until_frame(1)
    with at(paces, "hold").playing() as window:
        window.begin()
        window.say("keys", held={"ArrowRight": 1.0})
        window.until_frame(2)
    with at(paces, "release").playing() as window:
        window.begin()
        window.say("keys", held={"ArrowRight": 1.0})
        window.say("keys", held={"ArrowLeft": 1.0, "ArrowRight": 1.0})
        window.say("keys", held={})
        window.until_frame(1)


def test_c11_c12_the_lag_of_each_key_is_known_and_can_be_asked_for(paces: Studio) -> None:
    """The picture that was on the screen is recorded with the step; the experimenter sees percentiles."""
    ann = at(paces, "turns")
    with ann.playing() as window:
        window.begin()
        shown = [window.sequence]
        for step, key in ((1, "ArrowRight"), (2, "ArrowLeft")):
            window.say("keys", held={key: 1.0}, shown=shown[0], time=step)
            window.say("keys", held={}, shown=shown[0], time=step + 10)
            window.until_frame(step)
    here: dict[str, Any] = ann.go("finish", early=True)
    found = experimenter(paces).get(f"/api/crowd/people/{here['id']}")["lag"]
    assert found == {"presses": 2, "p50": 1, "p95": 1, "p99": 1}  # the second key was pressed at the first picture
