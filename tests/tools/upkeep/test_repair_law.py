"""A law of `repair`: the copy of an undamaged dataset has every episode with its content digest."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify
from tests.repetitions import repetitions
from tests.storage.strategies import rows
from tests.storage.truth import Given, GivingRecorder, assert_whole

Row = tuple[dict[str, Any], dict[str, Any] | None]

POLICIES = [
    FlushPolicy.every_step(),
    *(FlushPolicy(block_rows=count, interval=None) for count in (1, 2, 3, 5)),
    FlushPolicy(interval=None),
]
ENDINGS = (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED)

episodes = st.tuples(rows(), st.booleans(), st.sampled_from(ENDINGS))
"""Rows, whether the last action has no observation after it, and the ending."""


def record(
    directory: Path, policy: FlushPolicy, given_episodes: list[tuple[list[Row], bool, EpisodeEnd]]
) -> list[Given]:
    """Records episodes of undeclared fields, one after the other."""
    found = []
    with Recorder(directory, specs.Dict({}), policy=policy) as recorder:
        for number, (steps, lacks_observation, ending) in enumerate(given_episodes):
            episode = GivingRecorder(recorder, metadata={"number": number}, seed=number)
            for observed, acted in steps:
                episode.append(observed, acted)
            last = {"action": number, "reward": -1.5} if lacks_observation else None
            episode.end(ending, metadata={"score": number}, acted=last)
            found.append(episode.given)
    return found


def assert_kept(source: Path, copy: Path) -> None:
    """Repairs an undamaged dataset; nothing is lost, and nothing changes."""
    assert verify(source).ok
    assert repair(source, copy).losses == ()
    assert verify(copy).ok
    ours, theirs = rlds_kit.open(copy).episodes, rlds_kit.open(source).episodes
    assert [(each.id, each.length, each.end, each.content_digest) for each in ours] == [
        (each.id, each.length, each.end, each.content_digest) for each in theirs
    ]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("length", range(1, 7))
def test_last_action_without_an_observation_after_it_is_kept(tmp_path: Path, policy: FlushPolicy, length: int) -> None:
    """Wherever blocks end, the last action, reward and ending of such an episode are in the copy."""
    steps: list[Row] = [
        ({"observation": row}, {"action": row, "reward": 0.5} if row else None) for row in range(length)
    ]
    given_episodes = record(tmp_path / "d", policy, [(steps, True, EpisodeEnd.TERMINATED)])
    assert_kept(tmp_path / "d", tmp_path / "copy")
    assert_whole(rlds_kit.open(tmp_path / "copy"), given_episodes)


@pytest.mark.sweep
@settings(
    max_examples=repetitions(60, least=24),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(episodes, min_size=1, max_size=3), st.sampled_from(POLICIES))
def test_repair_of_an_undamaged_dataset_keeps_every_digest(
    given_episodes: list[tuple[list[Row], bool, EpisodeEnd]], policy: FlushPolicy
) -> None:
    """With and without a final observation, whatever the fields and wherever blocks end."""
    with tempfile.TemporaryDirectory() as directory:
        record(Path(directory, "d"), policy, given_episodes)
        assert_kept(Path(directory, "d"), Path(directory, "copy"))
