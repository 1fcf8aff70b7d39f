"""What stands for the action of an episode's last step, over all feeds that give episodes of RLDS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import Dataset, SpecError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.tfds_builders import EpisodesBuilder, builder_from_directory
from rlds_kit.tfds_builders.shards import convert_shards, serially

LENGTHS = (3, 1, 300)
"""Actions of each episode."""
Read = Callable[[Path, Any], Any]


def record(path: Path, lengths: tuple[int, ...] = LENGTHS) -> Path:
    """Episodes whose actions count from 1."""
    with EpisodeWriter(path, record_time=False) as writer:
        for number, length in enumerate(lengths):
            with writer.episode() as episode:
                episode.start(np.float32(0))
                for row in range(1, length + 1):
                    action = {"arm": np.array([row, row], np.float32), "say": f"go {row}"}
                    is_over, is_terminal = row == length, number % 2 == 0
                    episode.step(
                        action=action,
                        reward=np.float32(row),
                        observation=np.float32(row),
                        terminated=is_over and is_terminal,
                        truncated=is_over and not is_terminal,
                    )
    return path


def dense(path: Path, last_step: Any) -> Any:
    """`as_dense_tf_dataset`."""
    return list(tfds.as_numpy(rlds_kit.open(path).as_dense_tf_dataset(last_step=last_step)))


def stepwise(path: Path, last_step: Any) -> Any:
    """`as_tf_dataset`."""
    return _stacked(rlds_kit.open(path).as_tf_dataset(last_step=last_step))


def read_in_place(path: Path, last_step: Any) -> Any:
    """`builder_from_directory`."""
    return _stacked(builder_from_directory(path, last_step=last_step).as_dataset(split="train"))


def by_number(path: Path, last_step: Any) -> Any:
    """`as_data_source`, a step at a time."""
    source = builder_from_directory(path, last_step=last_step).as_data_source(split="train")
    return [_of_steps(list(episode["steps"])) for episode in source]


def built(path: Path, last_step: Any) -> Any:
    """`rlds-kit build`."""
    made = path.with_name("made") / "1.0.0"
    convert_shards(path, made, "tfrecord", executor=serially(), last_step=last_step)
    builder = tfds.builder_from_directory(str(made))
    assert ("Leave it out when training" in builder.info.description) == (last_step == "zeros")
    return _stacked(builder.as_dataset(split="train"))


def by_builder(path: Path, last_step: Any) -> Any:
    """`EpisodesBuilder`."""

    class LastSteps(EpisodesBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS has no types
        """Some."""

        VERSION = tfds.core.Version("1.0.0")
        FOLDERS = {"train": path}  # noqa: RUF012  as users write it
        LAST_STEP = last_step

    builder = LastSteps(data_dir=str(path.with_name("tfds")), file_format="tfrecord")
    builder.download_and_prepare()
    assert ("was left out" in builder.info.description) == (last_step == "drop")
    return _stacked(builder.as_dataset(split="train"))


def _of_steps(steps: list[dict[str, Any]]) -> dict[str, Any]:
    stacked = {name: np.stack([step[name] for step in steps]) for name in steps[0] if name != "action"}
    action = {name: np.stack([step["action"][name] for step in steps]) for name in steps[0]["action"]}
    return {"steps": stacked | {"action": action}}


def _stacked(episodes: Any) -> Any:
    return [_of_steps(list(episode["steps"])) for episode in tfds.as_numpy(episodes)]


@pytest.mark.parametrize("last_step", ["zeros", "repeat", "drop"])
@pytest.mark.parametrize("read", [dense, stepwise, read_in_place, by_number, built, by_builder])
@pytest.mark.filterwarnings("ignore:label.. is deprecated:DeprecationWarning")
def test_every_feed_and_build_has_the_requested_last_step(read: Read, last_step: str, tmp_path: Path) -> None:
    """Actions, rewards, flags and lengths; nothing else of an episode is different."""
    episodes = read(record(tmp_path / "ours"), last_step)
    found = sorted((each["steps"] for each in episodes), key=lambda steps: len(steps["reward"]))
    for steps, (length, number) in zip(found, ((1, 1), (3, 0), (300, 2)), strict=True):
        last = {"zeros": [0], "repeat": [length], "drop": []}[last_step]
        says = {"zeros": [b""], "repeat": [f"go {length}".encode()], "drop": []}[last_step]
        rows, ended = [*range(1, length + 1)], [False] * (length - 1 + len(last)) + [True]
        assert steps["action"]["arm"].tolist() == [[row, row] for row in [*rows, *last]]
        assert steps["action"]["say"].tolist() == [*(f"go {row}".encode() for row in rows), *says]
        assert steps["reward"].tolist() == [*rows, *([0] * len(last))]
        assert steps["observation"].tolist() == [0, *rows][: length + len(last)]
        assert steps["is_first"].tolist() == [True, *[False] * (length - 1 + len(last))][: length + len(last)]
        assert steps["is_last"].tolist() == ended
        assert steps["is_terminal"].tolist() == (ended if number % 2 == 0 else [False] * len(ended))


def test_the_action_before_is_found_in_another_stretch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last step is read alone."""
    with (
        EpisodeWriter(tmp_path / "ours", policy=FlushPolicy.every_step(), record_time=False) as writer,
        writer.episode() as episode,
    ):
        episode.start(np.float32(0))
        for row in range(1, 5):
            episode.step(action=np.int64(row), reward=np.float32(0), observation=np.float32(row), truncated=row == 4)
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", 1)
    (episode_found,) = rlds_kit.open(tmp_path / "ours").as_tf_dataset(last_step="repeat")
    assert [int(step["action"]) for step in episode_found["steps"]] == [1, 2, 3, 4, 4]


@pytest.mark.parametrize("last_step", ["repeat", "drop"])
def test_an_episode_without_an_action_is_named(tmp_path: Path, last_step: Any) -> None:
    """Nothing would be left of it, or there is nothing to repeat; zeros are given as ever."""
    with EpisodeWriter(tmp_path / "ours", record_time=False) as writer, writer.episode() as episode:
        episode.start(np.float32(0))
        episode.step(action=np.int64(1), reward=np.float32(0), observation=np.float32(1), truncated=True)
    with EpisodeWriter(tmp_path / "ours", record_time=False) as writer, writer.episode() as episode:
        episode.start(np.float32(0))
    dataset: Dataset = rlds_kit.open(tmp_path / "ours")
    with pytest.raises(SpecError, match=r"episode 1 has no action, so last_step='(drop|repeat)'.*rlds-kit filter"):
        dataset.as_tf_dataset(last_step=last_step)
    with pytest.raises(SpecError, match="episode 1 has no action"):
        convert_shards(dataset, tmp_path / "made", "tfrecord", executor=serially(), last_step=last_step)
    assert not (tmp_path / "made.building").exists()
    assert len(list(dataset.as_tf_dataset())) == 2


def test_other_words_are_refused(tmp_path: Path) -> None:
    """With the three that there are."""
    dataset = rlds_kit.open(record(tmp_path / "ours", (1,)))
    with pytest.raises(ValueError, match="expected one of zeros, drop, repeat, got 'skip'"):
        dataset.as_tf_dataset(last_step="skip")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="last_step: expected 'zeros' for our own format"):
        convert_shards(dataset, tmp_path / "made", "riegeli", executor=serially(), last_step="drop")


def test_a_missing_final_observation_is_not_in_the_way_of_drop(tmp_path: Path) -> None:
    """The step that lacks it is the one that goes, so `observation_valid` is not needed."""
    with EpisodeWriter(tmp_path / "ours", record_time=False) as writer, writer.episode() as recorded:
        recorded.start(np.float32(0))
        recorded.step(action=np.int64(1), reward=np.float32(1), observation=np.float32(1))
        recorded.step(action=np.int64(2), reward=np.float32(2), truncated=True)
    (episode,) = rlds_kit.open(tmp_path / "ours").as_dense_tf_dataset(last_step="drop")
    assert episode["steps"]["action"].numpy().tolist() == [1, 2]
    assert episode["steps"]["is_last"].numpy().tolist() == [False, True]
