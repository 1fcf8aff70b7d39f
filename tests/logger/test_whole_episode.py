"""`EpisodeWriter.write` records whole episodes from arrays, as step by step."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, UnsupportedTypeError, logger
from rlds_kit import spec as specs

RNG = np.random.default_rng(0)
OBSERVATIONS = RNG.normal(size=(5, 3)).astype(np.float32)
ACTIONS = RNG.normal(size=(4, 2)).astype(np.float32)
REWARDS = RNG.normal(size=4)


def _only(directory: Path) -> rlds_kit.Episode:
    (episode,) = rlds_kit.open(directory).episodes
    return episode


@pytest.mark.parametrize("final", ["included", "next", "given", "missing"])
def test_arrays_are_what_steps_are(tmp_path: Path, final: str) -> None:
    """Same content digest, wherever the final observation comes from."""
    observations: Any = {"joints": OBSERVATIONS, "camera": (OBSERVATIONS * 9).astype(np.uint8).reshape(5, 3, 1)}
    before = {name: each[:4] for name, each in observations.items()}
    ways: dict[str, dict[str, Any]] = {
        "included": {"observations": observations},
        "next": {"observations": before, "next_observations": {name: each[1:] for name, each in observations.items()}},
        "given": {"observations": before, "final_observation": {name: each[4] for name, each in observations.items()}},
        "missing": {"observations": before},
    }
    steps = 4 if final == "missing" else 5
    with logger.EpisodeWriter(tmp_path / "arrays", record_time=False) as writer:
        identity = writer.write(
            **ways[final],
            actions=ACTIONS,
            rewards=REWARDS,
            discounts=[1.0, 1.0, 1.0, 0.0],
            infos={"lives": np.arange(steps), "note": [*"abcde"][:steps]},
            terminated=True,
            acted={"log_prob": REWARDS * 2},
            metadata={"robot": "r2"},
            seed=3,
            battery=np.linspace(1, 0, steps),
        )

    def observed(row: int) -> dict[str, Any]:
        info = {"lives": np.int64(row), "note": "abcde"[row]}
        seen = {name: each[row] for name, each in observations.items()}
        return {"observation": seen, "info": info, "battery": np.linspace(1, 0, steps)[row]}

    with (
        logger.EpisodeWriter(tmp_path / "steps", record_time=False) as writer,
        writer.episode(metadata={"robot": "r2"}, seed=3) as episode,
    ):
        episode.start(**observed(0))
        for row in range(4):
            given: dict[str, Any] = observed(row + 1) if row + 1 < steps else {}
            given |= {"discount": 0.0 if row == 3 else 1.0, "acted": {"log_prob": REWARDS[row] * 2}}
            episode.step(ACTIONS[row], REWARDS[row], terminated=row == 3, **given)
    read, other = _only(tmp_path / "arrays"), _only(tmp_path / "steps")
    assert read.id == identity
    assert (read.content_digest, read.end, len(read)) == (other.content_digest, EpisodeEnd.TERMINATED, 5)


@pytest.mark.parametrize(
    ("given", "end", "flags"),
    [
        ({}, EpisodeEnd.INTERRUPTED, (False, False)),
        ({"terminated": True}, EpisodeEnd.TERMINATED, (True, False)),
        ({"truncated": np.array([False, False, False, True])}, EpisodeEnd.TRUNCATED, (False, True)),
        ({"terminated": np.bool_(True), "truncated": [0, 0, 0, 1]}, EpisodeEnd.TERMINATED, (True, True)),
        ({"terminated": np.zeros(4, np.bool_)}, EpisodeEnd.INTERRUPTED, (False, False)),
        ({"ending": EpisodeEnd.TRUNCATED}, EpisodeEnd.TRUNCATED, (False, True)),
    ],
)
def test_the_end_is_what_the_caller_says(
    tmp_path: Path, given: dict[str, Any], end: EpisodeEnd, flags: tuple[bool, bool]
) -> None:
    """An ending, flags of the last step, or flags of all; without any it is not guessed."""
    with logger.EpisodeWriter(tmp_path) as writer:
        writer.write(OBSERVATIONS, ACTIONS, REWARDS, **given)
    read = _only(tmp_path)
    assert (read.end, (read.terminated, read.truncated)) == (end, flags)


def test_one_observation_and_no_action(tmp_path: Path) -> None:
    with logger.EpisodeWriter(tmp_path) as writer:
        writer.write(OBSERVATIONS[:1], ACTIONS[:0], REWARDS[:0])
    assert _only(tmp_path)["observation"].tolist() == OBSERVATIONS[:1].tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"actions": ACTIONS[:2]}, "got 5 observations, 2 actions, 4 rewards"),
        ({"rewards": REWARDS[:3]}, "4 actions, 3 rewards"),
        ({"observations": OBSERVATIONS[:0]}, "got 0 observations"),
        ({"battery": np.zeros(3)}, "3 battery"),
        ({"observations": {"a": OBSERVATIONS, "b": OBSERVATIONS[:4]}}, "got 5 in observations/a, 4 in observations/b"),
        ({"actions": 3}, "actions: expected an array or a list of one value for each step"),
        ({"rewards": np.float64(3)}, r"rewards: expected an array or a list .* got float64"),
        ({"rewards": (1.0, 2.0)}, "rewards/0: expected an array or a list"),
        ({"terminated": [True, False, False, False]}, "terminated: expected it after the last action only.* step 0"),
        ({"truncated": [True]}, r"truncated: expected one flag, or one for each of 4 actions, got \(1,\)"),
        ({"terminated": [0.5] * 4}, "terminated: expected a truth value"),
        ({"next_observations": OBSERVATIONS[1:]}, "next_observations: expected arrays"),
        (
            {"observations": OBSERVATIONS[:4], "next_observations": OBSERVATIONS[:4]},
            "step 1 after the action of step 0",
        ),
        ({"is_first": np.zeros(5)}, "is_first: this name is taken"),
        ({"acted": {"reward": REWARDS}}, "reward: this name is taken"),
        ({"acted": {"battery": REWARDS}, "battery": np.zeros(5)}, "battery: expected a name of its own"),
        ({"actions": ACTIONS.astype(np.float64), "rewards": REWARDS > 0}, None),
        ({"observations": OBSERVATIONS.astype(np.float64)}, r"observation: expected float32 \(3,\), got float64"),
    ],
)
def test_what_does_not_fit_is_an_error_and_not_recorded(
    tmp_path: Path, given: dict[str, Any], message: str | None
) -> None:
    """Lengths, flags, names and types; the writer can still be used."""
    declared = specs.Dict({"observation": specs.Array((3,), np.float32), "action": specs.Array((2,), np.float32)})
    arguments: dict[str, Any] = {"observations": OBSERVATIONS, "actions": ACTIONS, "rewards": REWARDS, **given}
    with logger.EpisodeWriter(tmp_path, declared) as writer:
        if message is not None:
            with pytest.raises(SpecError, match=message):
                writer.write(**arguments)
        writer.write(OBSERVATIONS, ACTIONS, REWARDS)
    assert [len(each) for each in rlds_kit.open(tmp_path).episodes] == [5]


def test_values_that_cannot_be_recorded(tmp_path: Path) -> None:
    with logger.EpisodeWriter(tmp_path) as writer:
        with pytest.raises(UnsupportedTypeError, match="action"):
            writer.write(OBSERVATIONS, [1, 2, 3, object()])
        assert writer.durable == {}
    with pytest.raises(RecordingError, match="closed"):
        writer.write(OBSERVATIONS, ACTIONS)
    assert len(rlds_kit.open(tmp_path).episodes) == 0


def test_an_interrupted_episode_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle leaves no half episode."""
    from rlds_kit.storage.intake import Intake

    after_row, calls = Intake.after_row, list[int]()

    def interrupted(self: Intake) -> None:
        after_row(self)
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Intake, "after_row", interrupted)
    with logger.EpisodeWriter(tmp_path, policy=logger.FlushPolicy(block_rows=2)) as writer:
        with pytest.raises(KeyboardInterrupt):
            writer.write(OBSERVATIONS, ACTIONS)
        writer.write(OBSERVATIONS[:3], ACTIONS[:2], terminated=True)
    assert [(len(each), each.end) for each in rlds_kit.open(tmp_path).episodes] == [(3, EpisodeEnd.TERMINATED)]
