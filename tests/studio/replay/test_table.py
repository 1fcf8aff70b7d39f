"""The table of episodes of one dataset."""

from pathlib import Path

import pytest

from rlds_kit.logger import EpisodeWriter
from tests.studio.replay.datasets import get, record, recording, refused, viewing
from tests.studio.studio_process import wait_for

LENGTHS = (4, 9, 2, 7)


def numbers(found: dict[str, list[dict[str, int]]]) -> list[int]:
    """Which episodes a page has, in order."""
    return [each["number"] for each in found["episodes"]]


def test_r28_a_row_has_what_is_known(tmp_path: Path) -> None:
    """Length, end, return, duration, environment, tags."""
    record(tmp_path, LENGTHS)
    with viewing(tmp_path) as client:
        page = get(client, "/api/episodes")
    row = page["episodes"][1]
    assert (row["number"], row["length"], row["end"], row["environment"]) == (1, 9, "terminated", "Reach-v0")
    assert (row["return"], row["tags"]) == (sum(range(8)), [])
    assert row["seconds"] >= 0
    assert (page["total"], page["all"], page["page"], page["size"], page["tags"]) == (4, 4, 0, 50, [])


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("sort=length", [2, 0, 3, 1]),
        ("sort=length&order=desc", [1, 3, 0, 2]),
        ("sort=return&order=desc", [1, 3, 0, 2]),
        ("sort=number&order=desc", [3, 2, 1, 0]),
        ("sort=started", [0, 1, 2, 3]),
        ("sort=environment", [0, 1, 2, 3]),
        ("size=3", [0, 1, 2]),
        ("size=3&page=1", [3]),
        ("size=3&page=2", []),
        ("shortest=4&longest=7", [0, 3]),
        ("end=terminated&sort=end", [0, 1, 2, 3]),
        ("end=open", []),
        ("text=REACH", [0, 1, 2, 3]),
        ("text=nothing", []),
        ("tag=", [0, 1, 2, 3]),
    ],
)
def test_r28_rows_are_filtered_sorted_and_paged(query: str, wanted: list[int], tmp_path: Path) -> None:
    """The number of matching episodes is returned."""
    record(tmp_path, LENGTHS)
    with viewing(tmp_path) as client:
        assert numbers(get(client, f"/api/episodes?{query}")) == wanted


def test_r28_tags_are_filtered_and_searched(tmp_path: Path) -> None:
    """Tags of steps count, too; retracted tags do not."""
    ids = record(tmp_path, LENGTHS)
    with viewing(tmp_path) as client:
        for each, steps in ((ids[0], None), (ids[2], [0, 1])):
            client.post(f"/api/replay/{each}/annotations", json={"kind": "tag", "text": "Crash", "steps": steps})
        assert numbers(get(client, "/api/episodes?tag=Crash")) == [0, 2]
        assert numbers(get(client, "/api/episodes?text=crash")) == [0, 2]
        found = get(client, f"/api/replay/{ids[0]}/annotations")["annotations"][0]["id"]
        client.delete(f"/api/replay/{ids[0]}/annotations/{found}")
        page = get(client, "/api/episodes?tag=Crash")
    assert (numbers(page), page["tags"], page["total"]) == ([2], ["Crash"], 1)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("page=-1", "page"),
        ("page=99999999999999999999", "page"),
        ("size=0", "size"),
        ("size=201", "size"),
        ("size=x", "size"),
        ("sort=id;drop", "sort"),
        ("order=up", "order"),
        ("shortest=-4", "shortest"),
        ("longest=1e9", "longest"),
        ("where=1", "where"),
    ],
)
def test_queries_that_make_no_sense_are_refused(query: str, where: str, tmp_path: Path) -> None:
    """With the part that is wrong."""
    record(tmp_path, LENGTHS)
    with viewing(tmp_path) as client:
        assert refused(client, f"/api/episodes?{query}", 400)["where"] == where


def test_new_episodes_turn_up_and_open_ones_are_listed(tmp_path: Path) -> None:
    """Discarded ones are removed from it."""
    record(tmp_path, (3,))
    with recording(tmp_path) as (writer, episode), viewing(tmp_path) as client:
        assert [each["end"] for each in get(client, "/api/episodes")["episodes"]] == ["terminated", "open"]
        episode.discard()
        writer.flush()
        late = record(tmp_path, (5,))
        wait_for(lambda: [each["id"] for each in get(client, "/api/episodes")["episodes"]][1:] == late)
        assert get(client, f"/api/replay/{late[0]}")["number"] == 1
        refused(client, f"/api/replay/{episode.id}", 404)


def test_an_episode_is_found_as_soon_as_it_is_on_the_disk(tmp_path: Path) -> None:
    """A person may open it as soon as the page reports that it is saved."""
    record(tmp_path, (3,))
    with viewing(tmp_path) as client:
        for _ in range(3):
            (new,) = record(tmp_path, (4,))
            assert get(client, f"/api/replay/{new}")["length"] == 4


def test_an_empty_dataset_has_an_empty_table(tmp_path: Path) -> None:
    """It is not an error."""
    with EpisodeWriter(tmp_path):
        pass
    with viewing(tmp_path) as client:
        page = get(client, "/api/episodes")
    assert (page["episodes"], page["total"], page["tags"]) == ([], 0, [])


def test_rewards_that_are_no_numbers_have_a_row(tmp_path: Path) -> None:
    """A return that is not finite is text, because JSON has no such number."""
    with EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
        for step in range(3):
            episode.step(0, 1.7e308, 0, terminated=step == 2)
    with viewing(tmp_path) as client:
        (row,) = get(client, "/api/episodes?sort=return")["episodes"]
    assert row["return"] == "inf"
