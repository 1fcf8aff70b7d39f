"""People who play Atari games: own recordings, unchanged, and CrowdPlay's episodes, converted and compared."""

import doctest
import pickle
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ale_py")
pytest.importorskip("tensorflow_datasets")

import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit.base.errors import DamagedError, FormatError, NotADatasetError
from rlds_kit.convert.crowdplay.trajectories import read_episodes
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.rlds_kit_dataset import DatasetReader
from rlds_kit.tfds_builders.atari_agents.recording import Season, record
from rlds_kit.tfds_builders.atari_human import atari_human_dataset_builder, crowdplay_recording
from rlds_kit.tfds_builders.atari_human.atari_human_dataset_builder import AtariHumanConfig, Builder, crowdplay_config
from rlds_kit.tfds_builders.atari_human.sources import CROWDPLAY, RECORDINGS, CrowdPlay, Recordings
from rlds_kit.tfds_builders.proof import ProofError
from tests.convert.crowdplay_sample import FIRST, SESSIONS, make_sample

Trajectories = dict[str, list[dict[str, Any]]]


def make_manual(root: Path) -> Trajectories:
    """A manual directory with three episodes of each source; returns CrowdPlay's trajectories."""
    # A recording does not depend on who plays.
    record(Season("space_invaders", episodes=1, max_steps=12), root / "all")
    (root / RECORDINGS).mkdir()
    shutil.move(root / "all", root / RECORDINGS / "space_invaders")
    return make_sample(root / CROWDPLAY)


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trajectories]:
    """A manual directory, and CrowdPlay's trajectories in it."""
    root = tmp_path_factory.mktemp("manual")
    return root, make_manual(root)


def prepared(config: str | AtariHumanConfig, manual: Path, data_dir: Path) -> Any:  # tfds.core.DatasetBuilder
    """A builder whose episodes were brought from a manual directory."""
    builder = tfds.builder("atari_human", config=config, data_dir=data_dir)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir=manual))
    return builder


def episodes_of(builder: Any) -> list[dict[str, Any]]:
    """What tf.data gives, steps as arrays."""
    decoders = {"steps": tfds.decode.SkipDecoding()}
    return list(builder.as_dataset(split="train", decoders=decoders).as_numpy_iterator())


class AtariHumanCrowdPlayTest(tfds.testing.DatasetBuilderTestCase):  # type: ignore[misc]  # no types
    """What TFDS itself demands of a dataset, of both sources."""

    DATASET_CLASS = Builder
    BUILDER_CONFIG_NAMES_TO_TEST = ["space_invaders_crowdplay"]  # noqa: RUF012  TFDS's
    SPLITS = {"train": 3}  # noqa: RUF012  TFDS's

    @classmethod
    def setUpClass(cls) -> None:
        cls.EXAMPLE_DIR = Path(tempfile.mkdtemp())
        make_manual(cls.EXAMPLE_DIR)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls) -> None:
        super().tearDownClass()
        shutil.rmtree(cls.EXAMPLE_DIR)


class AtariHumanRecordingsTest(AtariHumanCrowdPlayTest):
    """The same of recordings of one's own."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["space_invaders"]  # noqa: RUF012  TFDS's
    SPLITS = {"train": 2}  # noqa: RUF012  TFDS's


def test_crowdplay_is_loaded_as_it_is(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """Every screen, action, reward and count of a trajectory is in its place; the last screen is marked missing."""
    root, trajectories = manual
    loaded = episodes_of(prepared("space_invaders_crowdplay", root, tmp_path))
    assert len(loaded) == 3
    for episode in loaded:
        steps, stored = episode["steps"], trajectories[episode["crowdplay_episode"].decode()]
        own = {
            "observation": [step["prev_obs"][FIRST]["image"] for step in stored],
            "action": [np.int64(step["action"][FIRST]["game"]) for step in stored],
            "reward": [np.float64(step["reward"][FIRST]) for step in stored],
            "next_ram": [step["info"][FIRST]["RAM"] for step in stored],
            "user_type": [np.int64(1) for step in stored],
            "step_iter": [np.int64(step["step_iter"]) for step in stored],
            "action_step_iter": [np.int64(step["action_step_iter"][FIRST]) for step in stored],
        }
        for name, values in own.items():
            np.testing.assert_array_equal(steps[name][:-1], np.stack(values), strict=True, err_msg=name)
            assert not steps[name][-1].any()
        assert steps["observation_valid"].tolist() == [True] * len(stored) + [False]
        assert episode["end"] == (b"terminated" if stored[-1]["done"][FIRST] else b"interrupted")
        assert steps["is_terminal"][-1] == stored[-1]["done"][FIRST]
        assert steps["discount"].tolist() == [1.0] * (len(stored) - 1) + [float(not stored[-1]["done"][FIRST]), 0.0]


def test_what_is_known_is_loaded(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """Game, task, channel, date, agent and pseudonym stand beside the steps; what names a visit does not."""
    (episode,) = episodes_of(prepared("riverraid_crowdplay", manual[0], tmp_path))
    told = {name: value for name, value in episode.items() if isinstance(value, bytes)}
    assert (told["game"], told["task"], told["channel"]) == (b"riverraid", b"left", b"email")
    assert (told["task_id"], told["agent_id"]) == (b"riverraid_left_email", FIRST.encode())
    assert (told["created_on"], told["player"]) == (b"2021-09-01T12:30:05.000250", b"0" * 40)
    assert episode["score"] == 0.0
    assert not any(b"visit" in value for value in told.values())


def test_tasks_and_channels_are_chosen(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """A config of one's own has episodes of the tasks and channels that it names."""
    source = CrowdPlay("space_invaders", tasks=("insideout",), channels=("mturk",))
    chosen = episodes_of(prepared(crowdplay_config("insideout", source), manual[0], tmp_path))
    assert [episode["task"] for episode in chosen] == [b"insideout", b"insideout"]
    by_email = crowdplay_config("email", CrowdPlay("space_invaders", channels=("email",)))
    assert [episode["channel"] for episode in episodes_of(prepared(by_email, manual[0], tmp_path))] == [b"email"]


def test_only_people_are_loaded(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """Beside a program, the person's half of an episode is loaded; the program's is not human play."""
    (episode,) = episodes_of(prepared("space_invaders_ai_crowdplay", manual[0], tmp_path))
    assert episode["agent_id"] == FIRST.encode()
    assert set(episode["steps"]["user_type"][:-1]) == {1}


def test_measures_and_keywords_are_recorded(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """Data that TFDS cannot store, the task's measures at every step and all keywords, are in the shards."""
    builder = prepared("riverraid_crowdplay", manual[0], tmp_path)
    (episode,) = rlds_kit.open(Path(builder.data_dir) / "train").episodes
    assert episode.steps[3]["collectors"]["episode"] == {"Score": 0.0, "Time played": 0.0}
    assert episode.metadata["keywords"][FIRST]["Time played"] == 0.0
    assert episode.metadata["session_keywords"]["all"]["task"] == "left"


def test_recordings_are_linked(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """One's own recordings are not copied: the files are the same ones, and the episodes too."""
    builder = prepared("space_invaders", manual[0], manual[0] / "tfds")
    source = manual[0] / RECORDINGS / "space_invaders"
    for path in (*source.glob("episodes-*"), source / "dataset.json"):
        assert (Path(builder.data_dir) / "train" / path.name).samefile(path)
    for ours, theirs in zip(episodes_of(builder), rlds_kit.open(source).episodes, strict=True):
        np.testing.assert_array_equal(ours["steps"]["observation"], theirs["observation"], strict=True)
        assert ours["episode_id"].decode() == str(theirs.id)
    shutil.rmtree(manual[0] / "tfds")


def test_links_fall_back_to_copies(
    manual: tuple[Path, Trajectories], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where files cannot be linked, as between disks, they are copied."""

    def refuse(self: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    Recordings("space_invaders").bring(manual[0], tmp_path / "train")
    source = rlds_kit.open(manual[0] / RECORDINGS / "space_invaders")
    assert rlds_kit.open(tmp_path / "train").content_digest == source.content_digest


def test_missing_sources_are_named(tmp_path: Path) -> None:
    """Without files, the error names the folder and its expected content."""
    (tmp_path / "manual").mkdir()
    with pytest.raises(AssertionError, match=r"(?s)data-v0\.zip.*crowdplay_atari-v0/.*dataset\.sqlite"):
        prepared("qbert_crowdplay", tmp_path / "manual", tmp_path)
    (tmp_path / "manual" / "readme").touch()
    with pytest.raises(NotADatasetError, match=r"crowdplay_atari-v0: expected dataset\.sqlite.*data-v0\.zip"):
        prepared("qbert_crowdplay", tmp_path / "manual", tmp_path)
    with pytest.raises(NotADatasetError, match="atari_human/qbert: expected a dataset of people who play qbert"):
        prepared("qbert", tmp_path / "manual", tmp_path)


def test_game_without_episodes_is_refused(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """A choice of which there is no episode is an error, not an empty dataset."""
    with pytest.raises(FormatError, match="choose another game"):
        prepared("qbert_crowdplay", manual[0], tmp_path)
    assert not tfds.builder("atari_human/qbert_crowdplay", data_dir=tmp_path).is_prepared()


def test_damaged_recordings_are_refused(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """A shard with damaged bytes fails with its name."""
    source = tmp_path / RECORDINGS / "space_invaders"
    shutil.copytree(manual[0] / RECORDINGS / "space_invaders", source)
    (shard,) = source.glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    data[-200_000:-500] = b"\xff" * len(data[-200_000:-500])  # all but the end, by which a shard is opened
    shard.write_bytes(data)
    with pytest.warns(rlds_kit.DamageWarning), pytest.raises(DamagedError, match=f"{shard.name}: the shard is damaged"):
        Recordings("space_invaders").bring(tmp_path, tmp_path / "train")


def test_malicious_trajectory_stops_the_conversion(tmp_path: Path) -> None:
    """A trajectory that names a function is an error with its name; no code is run, and no dataset is written."""

    class Attack:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return exec, (f"open({str(tmp_path / 'trap')!r}, 'w')",)

    make_sample(tmp_path / CROWDPLAY, SESSIONS[2:3])
    (path,) = (tmp_path / CROWDPLAY).glob("*.pickle")
    path.write_bytes(pickle.dumps([Attack()]))
    with pytest.raises(FormatError, match=rf"{path.name}: .*builtins\.exec"):
        prepared("riverraid_crowdplay", tmp_path, tmp_path / "data")
    assert not (tmp_path / "trap").exists()
    assert not tfds.builder("atari_human/riverraid_crowdplay", data_dir=tmp_path / "data").is_prepared()


def test_frame_of_another_shape_is_named_with_its_file(tmp_path: Path) -> None:
    """One bad trajectory among thousands can be found."""
    make_sample(tmp_path, SESSIONS[2:3])
    (trajectory,) = tmp_path.glob("*.pickle")
    stored = pickle.loads(trajectory.read_bytes())  # noqa: S301  made here
    stored[1]["prev_obs"][FIRST]["image"] = np.zeros((3, 3, 3), np.uint8)
    trajectory.write_bytes(pickle.dumps(stored))
    with pytest.raises(FormatError, match=rf"{trajectory.name}: {FIRST}: observation: expected uint8"):
        crowdplay_recording.record(read_episodes(tmp_path), tmp_path / "out", {"name": "sample"})


def test_loss_is_found(manual: tuple[Path, Trajectories], tmp_path: Path) -> None:
    """A missing, changed or duplicate episode is an error of the conversion that names it."""
    episodes = read_episodes(manual[0] / CROWDPLAY, games=["riverraid"])
    crowdplay_recording.record(episodes, tmp_path / "once", {})
    (episode,) = DatasetReader(tmp_path / "once")
    key = (episodes[0].episode_id, FIRST)
    digest = content_of(episode)
    crowdplay_recording.prove({key: digest}, tmp_path / "once")
    with pytest.raises(ProofError, match="1 are missing"):
        crowdplay_recording.prove({key: digest, ("other", FIRST): digest}, tmp_path / "once")
    with pytest.raises(ProofError, match=episodes[0].episode_id):
        crowdplay_recording.prove({key: bytes(16)}, tmp_path / "once")
    with pytest.raises(ProofError, match="twice"):
        crowdplay_recording.record(episodes, tmp_path / "once", {})


def test_configs_are_game_by_source() -> None:
    """Every game has a config for one's own recordings, CrowdPlay's games one of theirs."""
    names = {*Builder.builder_configs}
    assert {"space_invaders", "pong", "space_invaders_crowdplay", "space_invaders_2p_crowdplay"} <= names
    assert len(names) == 104 + 8


def test_docstring_examples_run() -> None:
    """The examples in docstrings do what they show."""
    assert doctest.testmod(atari_human_dataset_builder).failed == 0
