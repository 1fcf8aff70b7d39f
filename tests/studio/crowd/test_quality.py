"""The quality of play is counted from the recording, and decides in groups that are weighted."""

from pathlib import Path

import pytest

from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import a_crowd, experimenter, sweep, visitor

TASK = """
[tasks.{name}]
title = "{name}"
environment = "rlds_kit_tests/Corridor-v0"
pace = "turns"
target = 100
quality = {{ collector = "score", at_least = 12 }}
treatment = {{ base_cents = 100 }}
"""
FILE = (
    'name = "Qualities"\nrecruitment = ["social"]\n[groups.main]\ntasks = ["a", "b"]\nweighted = WEIGHTED\n'
    '[groups.a]\ntasks = ["a"]\n[groups.b]\ntasks = ["b"]\n' + TASK.format(name="a") + TASK.format(name="b")
)


def finished(studio: Studio, group: str, steps: int) -> str:
    """Somebody who played and is done; so many steps give a score of 1, 3 or 6."""
    person = visitor(studio)
    here = person.come(group)
    person.go("device", width=1200, height=800, has_keyboard=True)
    person.go("instructed")
    person.go("place")
    if steps:
        person.walk(steps)
        person.go("finish", early=True)
    return str(here["id"])


@pytest.mark.parametrize(("is_weighted", "chosen"), [("true", "a"), ("false", "b")])
def test_c5_two_poor_games_are_less_than_one_good_one_where_quality_counts(
    tmp_path: Path, is_weighted: str, chosen: str
) -> None:
    """The next arrival gets the task with the least quality, or the fewest assignments; drop-outs count likewise."""
    with a_crowd(tmp_path, FILE.replace("WEIGHTED", is_weighted)) as studio:
        poor, good = [finished(studio, "a", 1), finished(studio, "a", 1)], finished(studio, "b", 3)
        desk = studio.state.parts.desk
        assert [desk[each].person.quality for each in (*poor, good)] == [1 / 12, 1 / 12, 0.5]
        assert {each["quality"] for each in experimenter(studio).get("/api/crowd")["people"]} == {1 / 12, 0.5}
        person = desk[finished(studio, "main", 0)].person
        assert person.place.task == chosen
        sweep(studio)
        assert (desk[person.id].person.stage.value, desk[person.id].person.quality) == ("dropped", 0.0)
    with a_crowd(tmp_path, FILE.replace("WEIGHTED", is_weighted)) as studio:
        assert studio.state.parts.desk[good].person.quality == 0.5
