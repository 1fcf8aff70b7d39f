"""Unusual uses: they raise an error at once, or lose no data."""

import gc
import os
import pickle
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.errors import RecordingError, SpecError, UnsupportedTypeError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile

REWARD = specs.Dict({"reward": specs.Array((), np.float64)})


def _record(directory: Path, rewards: list[Any], infos: list[Any] | None = None) -> rlds_kit.Episode:
    infos = infos or [{}] * (len(rewards) + 1)
    with Recorder(directory, REWARD) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 0, "info": infos[0]})
        for reward, info in zip(rewards, infos[1:], strict=True):
            episode.append({"observation": 0, "info": info}, {"reward": reward})
        episode.end(EpisodeEnd.TERMINATED)
    return rlds_kit.open(directory).episodes[0]


def test_rewards_of_several_types_stack_as_declared(tmp_path: Path) -> None:
    """0, 0.5, np.float32(1) and True are all float64 rewards; each step still has what was given."""
    episode = _record(tmp_path, [0, 0.5, np.float32(1), True])
    assert episode["reward"].dtype == np.float64
    assert episode["reward"].tolist() == [0, 0.5, 1, 1, 0]
    assert [type(step["reward"]) for step in episode.steps][:2] == [int, float]


def test_a_field_that_is_sometimes_a_container_stacks_to_what_was_given(tmp_path: Path) -> None:
    """None, text, dicts and lists in turn: no row gets a value that it did not have."""
    infos: list[Any] = ["s", {"a": 1}, None, [], {}, {"a": {"b": 2}}]
    episode = _record(tmp_path, [0.0] * 5, infos)
    assert episode["info"].tolist() == infos
    assert [step["info"] for step in episode.steps] == infos


def test_a_field_cannot_be_both_observed_and_done(tmp_path: Path) -> None:
    """Both would be in one column; the step is refused, in the same row or a later one, and the episode continues."""
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 1})
        with pytest.raises(SpecError, match="z: expected a name of its own"):
            episode.append({"observation": 2, "z": 1}, {"z": 2})
        episode.append({"observation": 2, "z": 1}, {"action": 2})
        with pytest.raises(SpecError, match="z: expected a name of its own"):
            episode.append({"observation": 3}, {"z": 2})
        episode.end(EpisodeEnd.TRUNCATED)
    assert rlds_kit.open(tmp_path).episodes[0]["observation"].tolist() == [1, 2]


def test_a_row_that_is_refused_claims_no_name(tmp_path: Path) -> None:
    """Whichever of the two fields is renamed then, the other one may keep its name."""
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 1})
        with pytest.raises(SpecError, match="z: expected a name of its own"):
            episode.append({"observation": 2, "z": 1}, {"z": 2})
        for bad in (object(), np.longdouble(1), np.zeros(1, "M8[s]")):
            with pytest.raises(UnsupportedTypeError, match="bad"):
                episode.append({"observation": 2, "z": 1, "bad": bad}, {})
        episode.append({"observation": 2, "seen z": 1}, {"z": 2, "bad": 3})
        episode.end(EpisodeEnd.TRUNCATED)
    first, last = rlds_kit.open(tmp_path).episodes[0].steps
    assert (first["z"], first["bad"], last["seen z"]) == (2, 3, 1)


def test_nothing_follows_an_action_without_observation(tmp_path: Path) -> None:
    """Only the last observation may be missing; the action before it is recorded even if the episode is not ended."""
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(RecordingError, match="append it first"):
            episode.act({"action": 1})
        episode.append({"observation": 1})
        episode.act({"action": 7})
        with pytest.raises(RecordingError, match="only the last one may lack"):
            episode.append({"observation": 2})
    (kept,) = rlds_kit.open(tmp_path).episodes
    assert (kept["action"].tolist()[0], kept.mask("observation").tolist()) == (7, [True, False])


def test_the_working_directory_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path means where the program was when it gave it, for writing and for reading."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Recorder("data") as recorder:
        os.chdir("elsewhere")
        episode = recorder.start_episode()
        episode.append({"observation": 1})
        episode.end(EpisodeEnd.TRUNCATED)
    os.chdir(tmp_path)
    dataset = rlds_kit.open("data")
    os.chdir("elsewhere")
    assert pickle.loads(pickle.dumps(dataset)).episodes[0]["observation"].tolist() == [1]  # noqa: S301  our own


def test_an_episode_can_be_sent_to_another_process(tmp_path: Path) -> None:
    """A pickle has the position of the data, not the data."""
    episode = _record(tmp_path, [1.0, 2.0])
    sent = pickle.dumps(episode)
    assert pickle.loads(sent)["reward"].tolist() == [1, 2, 0]  # noqa: S301  our own
    assert len(sent) < 10_000


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in directories")
def test_only_files_are_shards(tmp_path: Path) -> None:
    """A pipe or a folder with a shard's name is skipped without waiting."""
    _record(tmp_path, [1.0])
    os.mkfifo(tmp_path / "episodes-a.riegeli")
    (tmp_path / "episodes-b.riegeli").mkdir()
    assert len(rlds_kit.open(tmp_path).episodes) == 1


def test_metadata_that_json_cannot_hold_is_kept(tmp_path: Path) -> None:
    """dataset.json shows it in another form; the shards have it as it was."""
    metadata = {"text": "\ud800", "number": 10**5000, "nan": float("nan")}
    with Recorder(tmp_path, metadata=metadata) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 1})
        episode.end(EpisodeEnd.TRUNCATED)
    dataset = rlds_kit.open(tmp_path)
    assert (dataset.metadata["text"], dataset.metadata["number"]) == ("\ud800", 10**5000)
    assert dataset.description["metadata"]["text"] == "\\ud800"


def test_options_are_checked_when_they_are_given(tmp_path: Path) -> None:
    """A misspelt key or a policy by name is an error of its own, before a directory is made."""
    with pytest.raises(ValueError, match=r"about: expected the keys name, .* got nmae"):
        Recorder(tmp_path / "a", about={"nmae": "x"})
    with pytest.raises(TypeError, match="policy: expected a FlushPolicy"):
        Recorder(tmp_path / "a", policy="every_step")  # type: ignore[arg-type]
    assert not (tmp_path / "a").exists()


def test_a_recorder_says_why_it_cannot_be_copied(tmp_path: Path) -> None:
    """It stands for an open file."""
    with Recorder(tmp_path) as recorder, pytest.raises(TypeError, match="copy the environment beneath it"):
        pickle.dumps(recorder)


def test_an_empty_dataset_knows_its_spec(tmp_path: Path) -> None:
    """Before anything is recorded, dataset.json has the spec."""
    Recorder(tmp_path, REWARD, environment={"id": "Pong-v5"}).close()
    dataset = rlds_kit.open(tmp_path)
    assert dataset.spec == REWARD
    assert dataset.environment == {"id": "Pong-v5"}


def test_thousands_of_new_keys_are_quickly_described(tmp_path: Path) -> None:
    """Each key is in the spec, however many came in one block."""
    with Recorder(tmp_path, policy=FlushPolicy(block_rows=64)) as recorder:
        episode = recorder.start_episode()
        for row in range(64):
            episode.append({"observation": 0, "info": {f"{row}/{key}": key for key in range(50)}})
        episode.end(EpisodeEnd.TRUNCATED)
    info = rlds_kit.open(tmp_path).spec.fields["info"]
    assert isinstance(info, specs.Dict)
    assert len(info.fields) == 64 * 50


class _OlderThanItsFile(type(Path())):  # type: ignore[misc]  # the class of this system's paths
    """The path belongs to an older generation than the file that it opens, so a full collection visits it first."""

    def open(self, *arguments: Any, **options: Any) -> Any:
        gc.collect(0)
        return super().open(*arguments, **options)

    def __fspath__(self) -> str:
        gc.collect(0)
        return str(super().__fspath__())


def test_a_shard_in_a_cycle_is_closed_without_a_warning(tmp_path: Path) -> None:
    """Servers have such cycles; in any order of garbage collection, there is no ResourceWarning."""
    _record(tmp_path, [0.0])
    (path,) = tmp_path.glob("*.riegeli")
    cycle: list[Any] = [ShardFile(_OlderThanItsFile(path))]
    cycle.append(cycle)
    watched = weakref.ref(cycle[0])
    del cycle
    gc.collect()
    assert watched() is None
