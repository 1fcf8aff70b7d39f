"""The start of an episode that an autoreset begins is what encoding it whole gives, but for its id and its time."""

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.logger.autoreset_starts import AutoresetStarts, LaterStarts
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.vector_result import start_provenance
from rlds_kit.storage.episode_messages import start_message

LANES = 3


def test_starts_are_as_encoded_whole() -> None:
    """With seeds and without, after resets, steps and new seeds."""
    rng, resets = np.random.default_rng(1), ResetCounters(LANES)
    starts, ids, seen = AutoresetStarts(resets, LANES), set(), set()
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


def _rest(start: pb.EpisodeStart) -> bytes:
    rest = pb.EpisodeStart()
    rest.CopyFrom(start)
    rest.ClearField("episode_id")
    rest.ClearField("started_unix_ns")
    return rest.SerializeToString(deterministic=True)
