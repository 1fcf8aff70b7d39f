"""Which parts of episodes are written together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import EpisodeEnd
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import batch_jobs
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_jobs import EpisodeParts, GivenStarts, OpenEpisode, WrittenBuffer
from rlds_kit.storage.batch_state import end_of
from rlds_kit.storage.episode_messages import new_id

ROWS = 2
"""Of each part."""


def _written(parts: EpisodeParts, row_bytes: int) -> WrittenBuffer:
    count, pool = len(parts), ArrayPool(1 << 20)
    buffer = BatchBuffer(count, ROWS, pool, pool)
    return WrittenBuffer(buffer, np.full(count, ROWS), count * ROWS * row_bytes, parts.blocks)


def _whole(count: int) -> tuple[EpisodeParts, list[bytes]]:
    parts, ids = EpisodeParts(), [new_id() for _ in range(count)]
    end = end_of(EpisodeEnd.TERMINATED, terminated=True, truncated=False)
    for lane, episode_id in enumerate(ids):
        starts = GivenStarts({lane: pb.EpisodeStart(episode_id=episode_id)})
        parts.add(lane, OpenEpisode(episode_id, starts, 0, 0), ROWS, end)
    return parts, ids


@pytest.mark.parametrize(
    ("row_bytes", "count", "groups"),
    [
        (20, 2500, [1024, 1024, 452]),  # light ones
        (8 << 10, 600, [255, 255, 90]),  # 4 MiB
        (1 << 20, 130, [64, 64, 2]),  # heavy ones
    ],
)
def test_parts_are_written_together_as_far_as_they_are_light(row_bytes: int, count: int, groups: list[int]) -> None:
    """Many, or so many as have 4 MiB, but at least 64; all of them once, in their order."""
    parts, ids = _whole(count)
    made = list(parts.jobs(_written(parts, row_bytes)))
    assert [len(each.ids) for each in made] == groups
    assert [episode_id for each in made for episode_id in each.ids] == ids
    assert sum(each.row_count() for each in made) == count * ROWS


def test_whole_episodes_do_not_wait_for_others_that_begin() -> None:
    """Readers list episodes in the order in which they begin; parts of those that began earlier may come after."""
    parts, ids = _whole(3)
    parts.add(3, OpenEpisode(new_id(), None, 5, 0), ROWS, None)  # began earlier
    begun = new_id()
    parts.add(4, OpenEpisode(begun, GivenStarts({4: pb.EpisodeStart(episode_id=begun)}), 0, 0), ROWS, None)
    first, second = parts.jobs(_written(parts, 20))
    assert (first.are_whole, first.ids) == (True, ids)
    assert (second.are_whole, second.ids) == (False, parts.blocks.ids[3:])
    assert [bool(each) for each in second.starts] == [False, True]


@given(kinds=st.lists(st.sampled_from(["whole", "begins", "goes on"]), min_size=1, max_size=40), most=st.integers(1, 6))
def test_episodes_are_listed_in_the_order_in_which_they_begin(kinds: list[str], most: int) -> None:
    """Whatever is written together: each part once, at most so many, and either whole episodes or parts of others."""
    parts, end = EpisodeParts(), end_of(EpisodeEnd.TERMINATED, terminated=True, truncated=False)
    for lane, kind in enumerate(kinds):
        episode_id = new_id()
        starts = None if kind == "goes on" else GivenStarts({lane: pb.EpisodeStart(episode_id=episode_id)})
        parts.add(lane, OpenEpisode(episode_id, starts, 0 if starts else 5, 0), ROWS, end if kind == "whole" else None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batch_jobs, "_MOST_PARTS", most)
        made = list(parts.jobs(_written(parts, 20)))
    numbers = [number for each in made for number in each.numbers]
    assert sorted(numbers) == [*range(len(kinds))]
    assert [number for number in numbers if kinds[number] != "goes on"] == [
        number for number, kind in enumerate(kinds) if kind != "goes on"
    ]
    for each in made:
        assert 0 < len(each.ids) <= most
        assert {kinds[number] == "whole" for number in each.numbers} == {each.are_whole}


def test_ends_without_rows_are_written_together() -> None:
    """No buffer has them."""
    parts, end = EpisodeParts(), end_of(EpisodeEnd.TRUNCATED, terminated=False, truncated=True)
    for lane in range(1500):
        parts.add(lane, OpenEpisode(new_id(), None, 5, 0), 0, end)
    assert [len(each.ids) for each in parts.jobs(None)] == [1024, 476]
    assert not [*EpisodeParts().jobs(None)]
