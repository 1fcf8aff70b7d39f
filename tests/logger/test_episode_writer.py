"""`EpisodeWriter` records what no environment steps through."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, UnsupportedTypeError, logger, spec

SPEC = spec.Dict(
    {
        "observation": spec.Array((2,), np.float32),
        "action": spec.Array((), np.int64),
        "reward": spec.Array((), np.float64),
    }
)


def _at(value: float) -> np.ndarray:
    return np.full(2, value, np.float32)


def _only(directory: Path) -> rlds_kit.Episode:
    (episode,) = rlds_kit.open(directory).episodes
    return episode


def test_steps_are_recorded_as_given(tmp_path: Path) -> None:
    """Observation, action, reward, discount and any other field."""
    with logger.EpisodeWriter(tmp_path, SPEC) as writer, writer.episode(metadata={"robot": "r2"}) as episode:
        episode.start(_at(0), battery=1.0)
        episode.step(3, 0.5, _at(1), discount=0.9, battery=0.9)
        episode.step(4, 1.5, _at(2), discount=0.0, terminated=True, battery=0.8)
    read = _only(tmp_path)
    assert read["observation"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert (read["action"].tolist(), read["reward"].tolist()) == ([3, 4, 0], [0.5, 1.5, 0.0])
    assert (read["discount"][:2].tolist(), read["battery"].tolist()) == ([0.9, 0.0], [1.0, 0.9, 0.8])
    assert (read.end, read.metadata) == (EpisodeEnd.TERMINATED, {"robot": "r2"})


def test_fields_of_the_action_stand_with_it(tmp_path: Path) -> None:
    """A log probability belongs to the action, not to the next observation."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
        episode.step(1, 0.0, 1, acted={"log_prob": -0.5})
        episode.step(1, 0.0, 2, acted={"log_prob": -0.7})
    assert [step.get("log_prob") for step in _only(tmp_path).steps] == [-0.5, -0.7, None]


@pytest.mark.parametrize(
    ("flags", "end"),
    [
        ({"terminated": True}, EpisodeEnd.TERMINATED),
        ({"truncated": True}, EpisodeEnd.TRUNCATED),
        ({"terminated": True, "truncated": True}, EpisodeEnd.TERMINATED),
    ],
)
def test_flags_of_the_last_step_end_the_episode(tmp_path: Path, flags: dict[str, bool], end: EpisodeEnd) -> None:
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
        episode.step(1, 0.0, 1, **flags)  # type: ignore[arg-type]  # flags are bool
        with pytest.raises(RecordingError, match="has ended"):
            episode.step(1, 0.0, 2)
    read = _only(tmp_path)
    assert read.end is end
    assert {"terminated": read.terminated, "truncated": read.truncated} == {
        "terminated": False,
        "truncated": False,
    } | flags


@pytest.mark.parametrize("end", [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED])
def test_end_says_how_it_ended(tmp_path: Path, end: EpisodeEnd) -> None:
    """With metadata that is known only then, which goes over what the start had."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode(metadata={"task": "a", "done": 0}) as episode:
        episode.start(0)
        episode.end(end, metadata={"done": 1})
    assert (_only(tmp_path).end, _only(tmp_path).metadata) == (end, {"task": "a", "done": 1})


def test_how_an_episode_ended_is_never_guessed(tmp_path: Path) -> None:
    """Leaving the block without an end is an interruption."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
    assert _only(tmp_path).end is EpisodeEnd.INTERRUPTED


def test_only_a_reader_decides_that_an_episode_is_incomplete(tmp_path: Path) -> None:
    """The writer is alive and knows better."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
        with pytest.raises(ValueError, match="expected TERMINATED, TRUNCATED or INTERRUPTED, got INCOMPLETE"):
            episode.end(EpisodeEnd.INCOMPLETE)


def test_exception_interrupts_and_is_raised_again(tmp_path: Path) -> None:
    """Earlier values are recorded."""
    with (
        logger.EpisodeWriter(tmp_path) as writer,
        pytest.raises(ZeroDivisionError),
        writer.episode() as episode,
    ):
        episode.start(0)
        episode.step(1, 0.0, 1 // 0)
    assert (_only(tmp_path).length, _only(tmp_path).end) == (1, EpisodeEnd.INTERRUPTED)


def test_discard_keeps_nothing(tmp_path: Path) -> None:
    """Not even when rows were on disk already; other episodes stay."""
    with logger.EpisodeWriter(tmp_path) as writer:
        with writer.episode(metadata={"good": False}) as bad:
            bad.start(0)
            writer.flush()
            bad.step(1, 0.0, 1)
            bad.discard()
        with writer.episode(metadata={"good": True}) as good:
            good.start(0)
    assert _only(tmp_path).metadata == {"good": True}


def test_several_episodes_may_be_open(tmp_path: Path) -> None:
    """Their steps interleave and do not mix."""
    with logger.EpisodeWriter(tmp_path) as writer:
        episodes = [writer.episode(seed=number) for number in range(3)]
        for number, episode in enumerate(episodes):
            episode.start(number)
        for step in range(4):
            for number, episode in enumerate(episodes):
                episode.step(step, 0.0, 10 * step + number)
        episodes[1].end(EpisodeEnd.TRUNCATED)
    for read in rlds_kit.open(tmp_path).episodes:
        assert [step["observation"] for step in read.steps] == [read.seed, *range(read.seed, 40, 10)]
        assert read.end is (EpisodeEnd.TRUNCATED if read.seed == 1 else EpisodeEnd.INTERRUPTED)


def test_last_observation_may_be_missing(tmp_path: Path) -> None:
    """All actions are recorded; the observation after the last one is undefined."""
    with logger.EpisodeWriter(tmp_path, SPEC) as writer, writer.episode() as episode:
        episode.start(_at(0))
        action = np.array(5)
        episode.step(action, 1.0, _at(1))
        episode.step(action, 2.0)
        action += 1
        with pytest.raises(RecordingError, match="no observation, which only the last one may lack"):
            episode.step(7, 3.0, _at(2))
        episode.end(EpisodeEnd.TRUNCATED)
    read = _only(tmp_path)
    assert read.mask("observation").tolist() == [True, True, False]
    assert (read["action"][:2].tolist(), read["reward"][:2].tolist()) == ([5, 5], [1.0, 2.0])
    assert read.end is EpisodeEnd.TRUNCATED


def test_terminated_last_step_may_lack_its_observation(tmp_path: Path) -> None:
    with logger.EpisodeWriter(tmp_path, SPEC) as writer, writer.episode() as episode:
        episode.start(_at(0))
        episode.step(5, 1.0, terminated=True)
    assert _only(tmp_path).mask("action").tolist() == [True, False]
    assert _only(tmp_path).end is EpisodeEnd.TERMINATED


def test_time_is_recorded_by_default(tmp_path: Path) -> None:
    """Nanoseconds since the first observation: no simulator gives the rhythm."""
    for name, options in (("timed", {}), ("plain", {"record_time": False})):
        with logger.EpisodeWriter(tmp_path / name, **options) as writer, writer.episode() as episode:  # type: ignore[arg-type]  # one bool
            episode.start(0)
            episode.step(1, 0.0, 1)
    times = _only(tmp_path / "timed")["time_ns"]
    assert times[0] == 0 < times[1]
    assert "time_ns" not in _only(tmp_path / "plain").fields


def test_steps_before_the_start_and_second_starts_are_refused(tmp_path: Path) -> None:
    """The message names the method to call."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        with pytest.raises(RecordingError, match=r"no first observation yet; call start\(\) before step\(\)"):
            episode.step(1, 0.0, 1)
        episode.start(0)
        with pytest.raises(RecordingError, match=r"has started already; go on with step\(\)"):
            episode.start(0)


def test_episode_that_never_started_leaves_nothing(tmp_path: Path) -> None:
    """There is no row that could be read."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode():
        pass
    assert len(rlds_kit.open(tmp_path).episodes) == 0


def test_names_of_other_fields_are_refused(tmp_path: Path) -> None:
    """On either side of the step."""
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        with pytest.raises(SpecError, match="is_last: this name is taken by a field of the step"):
            episode.start(0, is_last=True)
        episode.start(0)
        with pytest.raises(SpecError, match="observation: this name is taken"):
            episode.step(1, 0.0, 1, acted={"observation": 2})
        with pytest.raises(SpecError, match="battery: belong to an observation, which this step lacks"):
            episode.step(1, 0.0, battery=1)


def test_row_that_does_not_fit_may_be_given_again(tmp_path: Path) -> None:
    """Nothing of the step is recorded; the episode continues, because the caller knows which steps are consecutive."""
    with logger.EpisodeWriter(tmp_path, SPEC) as writer, writer.episode() as episode:
        episode.start(_at(0))
        with pytest.raises(SpecError, match=r"observation: expected float32 \(2,\), got float32 \(3,\)") as found:
            episode.step(1, 0.0, np.zeros(3, np.float32))
        assert found.value.__notes__ == [f"This is row 1 of episode {episode.id}. Nothing of it is recorded."]
        with pytest.raises(UnsupportedTypeError, match="note: cannot record object"):
            episode.step(1, 0.0, _at(1), note=object())
        episode.step(1, 0.0, _at(1), terminated=True)
    assert _only(tmp_path)["observation"].tolist() == [[0, 0], [1, 1]]


def test_reward_may_be_absent(tmp_path: Path) -> None:
    with logger.EpisodeWriter(tmp_path) as writer, writer.episode() as episode:
        episode.start(0)
        episode.step(1, None, 1, terminated=True)
    assert "reward" not in _only(tmp_path).fields


def test_provenance_seed_and_options_are_kept(tmp_path: Path) -> None:
    """Data that an environment would have provided."""
    with (
        logger.EpisodeWriter(tmp_path, environment={"id": "arm"}, metadata={"site": "lab"}) as writer,
        writer.episode(seed=(1, 2), options={"level": 3}, provenance={"file": "a.hdf5"}) as episode,
    ):
        episode.start(0)
    read = _only(tmp_path)
    assert (read.seed, read.options, read.run_metadata) == ((1, 2), {"level": 3}, {"site": "lab"})
    assert read.provenance == {"id": "arm", "file": "a.hdf5"}


def test_episode_keeps_its_writer_alive(tmp_path: Path) -> None:
    """No other object needs a reference to the writer."""

    def begin() -> Any:
        return logger.EpisodeWriter(tmp_path).episode()

    episode = begin()
    episode.start(0)
    episode._writer.close()
    assert _only(tmp_path).length == 1


def test_durable_counts_the_rows_on_disk(tmp_path: Path) -> None:
    with logger.EpisodeWriter(tmp_path, policy=logger.FlushPolicy.manual()) as writer, writer.episode() as episode:
        episode.start(0)
        assert writer.durable == {episode.id: 0}
        episode.step(1, 0.0, 1)
        writer.flush()
        assert writer.durable == {episode.id: 2}


def test_an_action_that_was_not_declared_so_is_recorded_with_one_warning(tmp_path: Path) -> None:
    """As by the wrappers: batches of transitions would fail much later, and not name the step."""
    declared = spec.Dict({"action": spec.Array((), "int64")})
    with logger.EpisodeWriter(tmp_path, declared) as writer, writer.episode() as episode:
        episode.start(0.0)
        with pytest.warns(UserWarning, match=r"action: expected int64 \(\).*recorded as they are") as found:
            episode.step(np.zeros(2), 0.0, 0.0)
        episode.step(np.zeros(2), 0.0, 0.0, terminated=True)  # a second warning would be an error
    assert [each.filename for each in found] == [__file__]
    assert rlds_kit.open(tmp_path).episodes[0].steps[1]["action"].shape == (2,)
