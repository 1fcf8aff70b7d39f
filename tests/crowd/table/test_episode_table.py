"""The table of episodes follows from the recordings, and is queried by predicates."""

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import logger
from rlds_kit.crowd.collectors import SCORE, TIME_PLAYED
from rlds_kit.crowd.incentives import CROWD
from rlds_kit.crowd.table import EpisodeTable, column, participant, rebuilt


def record(path: Path, *scores: float, task: str = "pair") -> rlds_kit.Dataset:
    """An episode for each score, with two seats."""
    with logger.EpisodeWriter(path) as writer:
        for number, score in enumerate(scores):
            about = {CROWD: {"left": f"s{number}", "right": "other"}, "task": task, "participant": f"p{number % 2}"}
            with writer.episode(metadata=about) as episode:
                episode.start({"left": 0, "right": 0})
                episode.step({"left": 1, "right": 1}, {"left": score, "right": 1.0}, {"left": 0, "right": 0})
    return rlds_kit.open(path)


def test_c47_lines_have_what_was_counted(tmp_path: Path) -> None:
    """For each seat its session, and for each collector the last value."""
    dataset = record(tmp_path / "d", 3.0, 5.0)
    with EpisodeTable(tmp_path / "t.sqlite", [SCORE]) as table:
        assert table.update(dataset) == 2
        found = table.where(column("score") > 2)
        assert [(row["seat"], row["session"], row["score"], row["participant"]) for row in found] == [
            ("left", "s0", 3.0, "p0"),
            ("left", "s1", 5.0, "p1"),
        ]
        good = table.episodes(dataset, (column("score") >= 5) & (column("task") == "pair"))
        assert [each.id for each in good.episodes] == [dataset.episodes[1].id]


def test_c47_an_update_reads_only_what_is_new(tmp_path: Path) -> None:
    """Episodes that are gone leave; the table made again is the same."""
    path = tmp_path / "t.sqlite"
    with EpisodeTable(path, [SCORE]) as table:
        table.update(record(tmp_path / "d", 3.0))
        dataset = record(tmp_path / "d", 4.0, 5.0)
        assert (table.update(dataset), table.update(dataset), len(table)) == (2, 0, 6)
        before = table.where()
    with rebuilt(path, dataset, [SCORE]) as again:
        assert again.where() == before
    with EpisodeTable(path, [SCORE]) as table:
        table.update(dataset.take([0]))
        assert len(table) == 2


def test_c47_other_collectors_make_another_table(tmp_path: Path) -> None:
    dataset = record(tmp_path / "d", 3.0)
    with EpisodeTable(tmp_path / "t", [SCORE]) as table:
        table.update(dataset)
    with EpisodeTable(tmp_path / "t", [SCORE, TIME_PLAYED]) as table:
        assert (len(table), table.update(dataset, fps=10)) == (0, 1)
        assert {row["time_played"] for row in table.where()} == {0.1}


rows = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.none() | st.integers(0, 3)), max_size=12)


@given(rows, st.integers(0, 9), st.sampled_from("ab"))
def test_c47_predicates_are_those_of_python(drawn: list[tuple[int, str, int | None]], least: int, task: str) -> None:
    """Comparisons, and, or, not, one of several, and nothing."""
    with EpisodeTable(":memory:", [SCORE]) as table:
        table.add(
            {"episode": str(n), "seat": "", "length": length, "task": name, "score": score, "started": float(n)}
            for n, (length, name, score) in enumerate(drawn)
        )
        predicate = ((column("length") >= least) & (column("task") == task)) | column("score").is_in([1, 2])
        expected = [
            n for n, (long, name, score) in enumerate(drawn) if (long >= least and name == task) or score in {1, 2}
        ]
        assert [int(row["episode"]) for row in table.where(predicate)] == expected
        nothing = [n for n, each in enumerate(drawn) if each[2] is None]
        assert [int(row["episode"]) for row in table.where(column("score") == None)] == nothing  # noqa: E711
        other = [n for n, each in enumerate(drawn) if each[1] != task]
        assert [int(row["episode"]) for row in table.where(~(column("task") == task))] == other


def test_c47_mistakes_are_named() -> None:
    """Python's `and`, a name that is no column, a value that is none: nothing reaches SQL."""
    with pytest.raises(TypeError, match="expected &"):
        bool(column("length") > 1)
    with pytest.raises(ValueError, match="letters, digits and _"):
        column('length" OR 1 --')
    with pytest.raises(TypeError, match="expected text, a number or a bool"):
        column("length") == [1]  # noqa: B015  it raises
    with EpisodeTable(":memory:") as table, pytest.raises(ValueError, match="expected one of the columns"):
        table.where(column("speed") > 1)
    with EpisodeTable(":memory:") as table:
        table.add([{"episode": "e", "seat": "", "task": "x' OR '1'='1"}])
        assert len(table.where(column("task") == "x' OR '1'='1")) == 1
        assert table.where(column("task") == "' OR '1'='1") == []


def test_c47_participants_have_keyed_hashes() -> None:
    """The same person has one id, with another key or platform another, and a short key is refused."""
    key = random.Random(0).randbytes(32)
    found = participant(key, "prolific", "5f1c")
    assert (found, len(found)) == (participant(key, "prolific", "5f1c"), 40)
    assert len({found, participant(key[::-1], "prolific", "5f1c"), participant(key, "mturk", "5f1c")}) == 3
    with pytest.raises(ValueError, match="expected 16 to 64 bytes, got 3"):
        participant(b"abc", "prolific", "5f1c")


def test_an_episode_that_went_on_is_counted_again(tmp_path: Path) -> None:
    with EpisodeTable(":memory:", [SCORE]) as table, logger.EpisodeWriter(tmp_path / "d") as writer:
        with writer.episode() as episode:
            episode.start(0)
            for number in (1, 2):
                episode.step(1, 1.0, 0, terminated=number == 2)
                writer.flush()
                assert table.update(rlds_kit.open(tmp_path / "d", include_open=True)) == 1
                assert [row["score"] for row in table.where()] == [number]
        assert table.update(rlds_kit.open(tmp_path / "d", include_open=True)) == 0


def test_a_table_of_another_program_is_not_dropped(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "series.sqlite")) as other, other:
        other.execute("CREATE TABLE episodes (season INTEGER, title TEXT)")
        other.execute("INSERT INTO episodes VALUES (1, 'Pilot')")
    with pytest.raises(ValueError, match="got one with the columns season, title"):
        EpisodeTable(tmp_path / "series.sqlite", [SCORE])
    with contextlib.closing(sqlite3.connect(tmp_path / "series.sqlite")) as other:
        assert other.execute("SELECT title FROM episodes").fetchall() == [("Pilot",)]
