"""The start of an episode that an autoreset begins is what encoding it whole gives, but for its id and its time."""

import time

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.logger.autoreset_starts import AutoresetStarts, LaterStarts
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.vector_result import start_provenance
from rlds_kit.storage.batch_jobs import Starts
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.row_log import BEGIN, RowLog, log_row

LANES = 3


def test_starts_are_as_encoded_whole() -> None:
    """With seeds and without, after resets, steps and new seeds."""
    rng, resets = np.random.default_rng(1), ResetCounters(LANES)
    starts, ids, seen = AutoresetStarts(resets), set(), set()
    later, wholes = list[tuple[LaterStarts, int]](), list[pb.EpisodeStart]()
    for turn in range(300):
        lane = int(rng.integers(LANES))
        if turn > 50:  # before, no lane has a seed
            seed = {"a": turn} if rng.random() < 0.1 else None
            resets.reset(lane, seed)
        resets.step_or_reset(rng.random(LANES) > 0.7)
        later.append((starts.starts(np.arange(LANES) == lane), lane))
        wholes.append(start_message(provenance=start_provenance(resets, lane, autoreset=True)))
    rng.shuffle(order := [*range(300)])
    for turn in order:  # records are made later, in any order
        (several, lane), whole = later[turn], wholes[turn]
        found = several.message(lane, several.episode_id(lane))
        assert found.episode_id == several.episode_id(lane)
        ids.add(found.episode_id)
        assert abs(found.started_unix_ns - whole.started_unix_ns) < 60e9
        seen.add(found.provenance.SerializeToString())
        assert _rest(found) == _rest(whole)
    assert len(ids) == 300
    assert len(seen) > 200


def test_starts_with_rows_of_a_log_are_as_encoded_whole() -> None:
    """Each has the resets and steps up to its row, and the time of it; records may be made after further seeds."""
    rng, resets = np.random.default_rng(2), ResetCounters(LANES)
    starts, none = AutoresetStarts(resets), np.zeros(LANES, np.bool_)
    later, due = list[tuple[Starts, int, pb.EpisodeStart]](), none
    for turn in range(20):
        if turn % 5 == 3:
            resets.reset(int(rng.integers(LANES)), {"a": turn})
        resets.step()
        assert starts.are_ready()
        log = RowLog(np.zeros(LANES, np.int64), due, 8, after_end=BEGIN, make_starts=starts.of_log)
        columns, times = (np.zeros((8, LANES)), None), [time.time_ns()]
        for _ in range(rows := int(rng.integers(9))):
            terminated, truncated = rng.random(LANES) < 0.2, rng.random(LANES) < 0.2
            assert log_row(log._arrays, columns, (), None, terminated, truncated) > 0
            times.append(time.time_ns())
        log.close()
        counts, steps = resets.after(log.begins())
        for row, begins in enumerate(log.begins()):
            resets.step_or_reset(begins)
            for lane in begins.nonzero()[0].tolist():
                found = log.starts_at(row)
                assert found is log.starts_at(row)
                assert times[row] <= found.message(lane, found.episode_id(lane)).started_unix_ns <= times[row + 1]
                whole = start_message(provenance=start_provenance(resets, lane, autoreset=True))
                later.append((found, lane, whole))
        assert (steps, [each.tolist() for each in counts]) == (resets.steps, [each.tolist() for each in resets.counts])
        due = log.due if rows else none
    assert len(later) > 30
    for turn in rng.permutation(len(later)).tolist():
        several, lane, whole = later[turn]
        assert _rest(several.message(lane, several.episode_id(lane))) == _rest(whole)
    assert len({several.episode_id(lane) for several, lane, _ in later}) == len(later)


def test_no_log_is_possible_before_a_seed_that_cannot_be_recorded() -> None:
    """Its environment has no chain of resets, until another seed takes its place."""
    starts = AutoresetStarts(resets := ResetCounters(LANES))
    assert starts.are_ready()
    resets.reset(1, object())
    assert not starts.are_ready()
    resets.reset(1, 5)
    assert starts.are_ready()


def _rest(start: pb.EpisodeStart) -> bytes:
    rest = pb.EpisodeStart()
    rest.CopyFrom(start)
    rest.ClearField("episode_id")
    rest.ClearField("started_unix_ns")
    return rest.SerializeToString(deterministic=True)
