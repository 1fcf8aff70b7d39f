"""A crowd's file: what it declares, and every mistake by its field."""

from pathlib import Path

import pytest

from rlds_kit.crowd.incentives import Formula, Requirement
from rlds_kit.crowd.tasks import CrowdError, Mode, parse_crowd, read_crowd
from tests.crowd.tasks.crowds import crowd


def test_c2_a_file_declares_tasks_groups_and_forms() -> None:
    """Seats, instructions for each, collectors, requirements, bonus, target and screening."""
    found = crowd()
    task = found.tasks["inside_out"]
    assert task.treatment.bonus is not None
    assert (task.treatment.base_cents, task.treatment.bonus.most_cents, task.target) == (50, 150, 40)
    assert found.tasks["row_by_row"].treatment.bonus is not None
    assert found.tasks["row_by_row"].treatment.bonus.formula is Formula.CODE_2022
    pair = found.tasks["pair"]
    assert (pair.seats, pair.instructions_for("second")) == (2, "You are on the right.")
    assert found.groups["main"].mode is Mode.EQUAL
    assert [each.name for each in found.before] == ["age", "often"]
    assert (found.screening.most_latency_ms, found.screening.patience_seconds, pair.is_ahead) == (150, 60, True)


def test_pictures_ahead_and_patience_with_slow_links_are_declared() -> None:
    """A task without pictures ahead, a crowd that does not wait; mistakes are named."""
    text = 'name = "N"\n[screening]\npatience_seconds = {patience}\n'
    text += '[tasks.a]\ntitle = "A"\nenvironment = "E"\nahead = {ahead}'
    found = parse_crowd(text.format(patience=5, ahead="false"))
    assert (found.screening.patience_seconds, found.tasks["a"].is_ahead) == (5, False)
    with pytest.raises(CrowdError) as refused:
        parse_crowd(text.format(patience=-1, ahead=1))
    places = {each.partition(":")[0] for each in refused.value.problems}
    assert places == {"screening.patience_seconds", "tasks.a.ahead"}


def test_c2_every_bad_field_is_named() -> None:
    """All mistakes at once: types, limits, names that nothing has, fields that there are not."""
    with pytest.raises(CrowdError) as refused:
        parse_crowd(
            """
            name = 3
            recruitment = ["facebook"]
            opens = 2026-01-02T00:00:00
            over_recruit = -1
            colour = "red"
            [[check]]
            name = "goal"
            label = "Which?"
            kind = "choice"
            options = ["one"]
            correct = "two"
            [groups.main]
            mode = "fair"
            tasks = ["none"]
            [tasks.a]
            title = "A"
            seats = 0
            fps = true
            collectors = ["speed"]
            redirect = "http://example.org"
            instructions = 5
            [tasks.a.treatment]
            base_cents = 1.5
            requirements = [{ collector = "score", at_least = 0 }]
            bonus = { most_cents = 0, count = "score" }
            [tasks.b.treatment]
            preset = "all"
            lump_cents = 10
            base_cents = 10
            """,
            place="crowd.toml",
        )
    places = {each.partition(":")[0] for each in refused.value.problems}
    assert places == {
        *("name", "recruitment", "opens", "over_recruit", "colour"),
        *("check[1].options", "check[1].correct", "groups.main.mode", "groups.main.tasks"),
        *("tasks.a.seats", "tasks.a.fps", "tasks.a.collectors", "tasks.a.redirect", "tasks.a.instructions"),
        *("tasks.a.environment", "tasks.b.title", "tasks.b.environment", "tasks.b.treatment.base_cents"),
        *("tasks.a.treatment.base_cents", "tasks.a.treatment.requirements[1].at_least"),
        *("tasks.a.treatment.bonus.most_cents", "tasks.a.treatment.bonus.fraction"),
    }
    assert str(refused.value).startswith(f"crowd.toml: {len(refused.value.problems)} to correct\n")


def test_c2_what_is_no_toml_and_what_has_no_task_is_refused() -> None:
    with pytest.raises(CrowdError, match="1 to correct"):
        parse_crowd("name = ")
    with pytest.raises(CrowdError, match="tasks: expected at least one task"):
        parse_crowd('name = "Empty"')


def test_c2_text_where_tables_belong_is_named() -> None:
    """Not a traceback."""
    with pytest.raises(CrowdError) as refused:
        parse_crowd('name = "N"\ntasks = { a = 3 }\nbefore = [1]\nscreening = 2\ngroups = 7')
    places = {each.partition(":")[0] for each in refused.value.problems}
    assert places == {"tasks.a", "before[1]", "screening", "groups"}


def test_collectors_of_a_preset_are_there() -> None:
    """Otherwise the ledger would fail when everybody has played."""
    text = 'name = "x"\n[tasks.a]\ntitle = "A"\nenvironment = "E"\ntreatment = {{ preset = "all", lump_cents = 9, {} }}'
    assert parse_crowd(text.format('order = "row_by_row"')).tasks["a"].treatment.collectors
    with pytest.raises(CrowdError, match=r"tasks\.a\.treatment\.order: .*got 'bogus_count'"):
        parse_crowd(text.format('order = "bogus"'))


def test_files_of_editors_are_read_and_others_refused(tmp_path: Path) -> None:
    """A byte-order mark goes; what is no text, too deep or out of order is named."""
    text = 'name = "x"\n[tasks.a]\ntitle = "A"\nenvironment = "E"\n'
    path = tmp_path / "crowd.toml"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_crowd(path).name == "x"
    path.write_bytes(b"\xff" + text.encode())
    with pytest.raises(CrowdError, match="a text in UTF-8"):
        read_crowd(path)
    with pytest.raises(CrowdError, match="recursion"):
        parse_crowd("a = " + "[" * 5000)
    with pytest.raises(CrowdError, match="most: expected a number from 9"):
        parse_crowd(
            'name = "x"\nbefore = [{name = "a", label = "A", kind = "number", least = 9, most = 1}]' + text[10:]
        )


def test_c5_a_group_that_is_weighted_needs_tasks_that_declare_their_quality() -> None:
    """Otherwise the weights would have no effect."""
    text = 'name = "x"\n[tasks.a]\ntitle = "A"\nenvironment = "E"\n{}\n[groups.main]\nweighted = true'
    with pytest.raises(CrowdError, match=r"groups.main.weighted: expected tasks that declare their quality, which a"):
        parse_crowd(text.format(""))
    with pytest.raises(CrowdError) as refused:
        parse_crowd(text.format('quality = { collector = "speed", at_least = 0, colour = 1 }'))
    assert {each.partition(":")[0] for each in refused.value.problems} == {
        *("tasks.a.quality.collector", "tasks.a.quality.at_least", "tasks.a.quality.colour"),
    }
    found = parse_crowd(text.format('quality = { collector = "score", at_least = 4 }')).tasks["a"].quality
    assert found == Requirement("score", 4)
