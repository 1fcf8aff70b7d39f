"""`rlds-kit build`."""

import json
from pathlib import Path

import pytest
import tensorflow_datasets as tfds
from click.testing import CliRunner

import rlds_kit
from rlds_kit.cli import main
from rlds_kit.loader.last_step import TEXTS, require_last_step
from rlds_kit.logger import EpisodeWriter
from tests.tfds_builders.shards.recorded import EPISODES, record


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is built from."""
    return record(tmp_path_factory.mktemp("recorded"))


def test_build_is_among_the_commands() -> None:
    """Found without an installation, and described."""
    assert "build " in CliRunner().invoke(main, ["--help"]).output


def test_build_says_what_it_made(recorded: Path, tmp_path: Path) -> None:
    """Episodes, steps, shards and workers."""
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--format", "riegeli", "--shards", "3"]
    result = CliRunner().invoke(main, [*arguments, "--workers", "1"])
    assert (result.exit_code, "9 episodes, 238 steps" in result.output) == (0, True)
    assert "in 3 shards, written by 1 worker and read back" in result.output
    assert rlds_kit.open(tmp_path / "out").content_digest == rlds_kit.open(recorded).content_digest


def test_build_names_the_fields_that_tfds_is_not_given(tmp_path: Path) -> None:
    """Undeclared fields have no features; that they are left out is reported."""
    with EpisodeWriter(tmp_path / "data", record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5, note="a", info={"lives": 3})
        episode.step(action=1, reward=0.0, observation=0.5, note="b", info={"lives": 2}, terminated=True)
    arguments = ["build", str(tmp_path / "data"), "--executor", "serial", "--format"]
    built = CliRunner().invoke(main, [*arguments, "array_record", str(tmp_path / "out")])
    assert built.exit_code == 0, built.output
    assert "left out: info, note, as the recording has no spec of such fields" in " ".join(built.output.split())
    copied = CliRunner().invoke(main, [*arguments, "riegeli", str(tmp_path / "copy")])
    assert (copied.exit_code, "without" in copied.output) == (0, False)


def test_json_has_the_counts(recorded: Path, tmp_path: Path) -> None:
    """One object and nothing else."""
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--format", "riegeli", "--executor", "serial", "--json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert (found["episodes"], found["steps"], found["format"]) == (EPISODES, 238, "riegeli")


def test_observation_valid_is_a_field(recorded: Path, tmp_path: Path) -> None:
    """It is written if requested."""
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--format", "array_record", "--executor", "serial"]
    assert CliRunner().invoke(main, [*arguments, "--observation-valid"]).exit_code == 0
    source = tfds.builder_from_directory(tmp_path / "out").as_data_source(split="train")
    assert all(step["observation_valid"] for step in source[0]["steps"])


@pytest.mark.parametrize("last_step", ["zeros", "repeat", "drop"])
def test_the_last_step_is_as_requested(recorded: Path, tmp_path: Path, last_step: str) -> None:
    """Its action is zeros or the previous one, or the step is left out; the metadata of the build name the choice."""
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--format", "array_record", "--executor", "serial"]
    assert CliRunner().invoke(main, [*arguments, "--last-step", last_step]).exit_code == 0
    builder = tfds.builder_from_directory(tmp_path / "out")
    for made, episode in zip(builder.as_data_source(split="train"), rlds_kit.open(recorded).episodes, strict=True):
        assert len(made["steps"]) == episode.length - (last_step == "drop")
    assert TEXTS[require_last_step(last_step)] in builder.info.description


def test_too_many_shards_are_an_error_without_a_traceback(recorded: Path, tmp_path: Path) -> None:
    """Exit code 1, and the destination is not there."""
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--format", "riegeli", "--shards", "99"]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, "expected at most 9 shards" in result.output) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_serial_takes_no_workers(recorded: Path, tmp_path: Path) -> None:
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--format", "riegeli", "--executor", "serial"]
    assert CliRunner().invoke(main, [*arguments, "--workers", "2"]).exit_code == 2


def test_metadata_is_chosen_by_key(recorded: Path, tmp_path: Path) -> None:
    """Only the named keys are included; our own format includes all, which is reported."""
    arguments = ["build", str(recorded), str(tmp_path / "out"), "--executor", "serial", "--metadata", "who"]
    assert CliRunner().invoke(main, [*arguments, "--format", "array_record"]).exit_code == 0
    features = tfds.builder_from_directory(tmp_path / "out").info.features
    assert set(features) == {"steps", "episode_id", "end", "who"}
    refused = CliRunner().invoke(main, [*arguments, "--format", "riegeli"])
    assert (refused.exit_code, "riegeli keeps all" in refused.output) == (2, True)
