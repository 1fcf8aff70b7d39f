"""`rlds-kit new-builder`: TFDS's own program builds the result, which passes TFDS's own tests."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds
from click.testing import CliRunner

import rlds_kit
from rlds_kit.base.errors import DatasetExistsError, NotADatasetError, SpecError
from rlds_kit.cli import main
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders.new_builder import write_builder
from tests.tfds_builders.recordings import record

CHECKOUT = Path(__file__).parent.parent.parent


def run(*arguments: str, cwd: Path) -> None:
    """Runs a module of Python, with the checkout importable."""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_tfds_builds_it_and_its_test_passes(tmp_path: Path) -> None:
    """Everything works as it was written."""
    source = record(tmp_path / "My recording", 5)
    made = write_builder(source, tmp_path / "builders")
    assert (made.name, made.sample_episodes) == ("my_recording", 3)
    build = ("tensorflow_datasets.scripts.cli.main", "build", "--manual_dir", str(source), "--data_dir")
    run(*build, str(tmp_path / "tfds"), cwd=made.directory)
    builder = tfds.builder_from_directory(tmp_path / "tfds" / "my_recording" / "1.0.0")
    assert builder.info.splits["train"].num_examples == 5
    assert "5 episodes with 35 steps" in builder.info.description
    run(
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(made.directory),
        str(made.directory),
        cwd=made.directory,
    )


def test_the_sample_is_the_shortest_episodes_whole(tmp_path: Path) -> None:
    """They have the ids and the content of the recording's."""
    source = record(tmp_path / "data", 5)
    sample = rlds_kit.open(write_builder(source, tmp_path, name="toy").directory / "dummy_data")
    original = rlds_kit.open(source)
    assert [each.id for each in sample.episodes] == [each.id for each in original.episodes[:3]]
    assert [each.content_digest for each in sample.episodes] == [each.content_digest for each in original.episodes[:3]]


def test_what_the_recording_says_of_itself(tmp_path: Path) -> None:
    """Name, description, citation and licence are where TFDS expects them, with any characters."""
    about = {"name": 'A "toy" \\ test', "description": "Plays.", "citation": "@misc{toy}", "licence": 'MIT "or" \\'}
    with EpisodeWriter(tmp_path / "data", record_time=False, about=about) as writer, writer.episode() as episode:
        episode.start(np.zeros((8, 8, 3), np.uint8))
        episode.step(action=1, reward=1.0, observation=np.zeros((8, 8, 3), np.uint8), terminated=True)
    made = write_builder(tmp_path / "data", tmp_path)
    assert made.name == "a_toy_test"
    files = {path.name: path.read_text("utf-8") for path in made.directory.iterdir() if path.is_file()}
    assert {*files} == {
        *("__init__.py", "README.md", "CITATIONS.bib", "TAGS.txt", "checksums.tsv"),
        *("a_toy_test_dataset_builder.py", "a_toy_test_dataset_builder_test.py"),
    }
    assert files["CITATIONS.bib"] == "@misc{toy}"
    assert "Plays." in files["README.md"]
    assert "1 episode with 2 steps" in files["README.md"]
    assert "content.data-type.image" in files["TAGS.txt"]
    compile(files["a_toy_test_dataset_builder.py"], "builder", "exec")
    assert 'LICENCE = "MIT \\"or\\" \\\\"' in files["a_toy_test_dataset_builder.py"]


def test_what_is_there_stays(tmp_path: Path) -> None:
    """A folder with something in it is not written to."""
    source = record(tmp_path / "data", 1)
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "mine.py").write_text("")
    with pytest.raises(DatasetExistsError, match="toy"):
        write_builder(source, tmp_path, name="toy")
    assert [path.name for path in (tmp_path / "toy").iterdir()] == ["mine.py"]


def test_what_no_builder_can_be_written_for(tmp_path: Path) -> None:
    """No dataset, no episodes, no name: each is an error, and nothing is written."""
    with pytest.raises(NotADatasetError):
        write_builder(tmp_path, tmp_path)
    EpisodeWriter(tmp_path / "empty").close()
    with pytest.raises(ValueError, match="expected a dataset with episodes"):
        write_builder(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(ValueError, match="lower-case letters"):
        write_builder(record(tmp_path / "data", 1), tmp_path / "out", name="My-Name")
    with EpisodeWriter(tmp_path / "mixed", record_time=False) as writer:
        for note in (1, "text"):
            with writer.episode(metadata={"note": note}) as episode:
                episode.start(0.0)
                episode.step(action=1, reward=1.0, observation=1.0, terminated=True)
    with pytest.raises(SpecError, match="note"):
        write_builder(tmp_path / "mixed", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_command_names_the_packages_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TFDS's own command imports some that it does not bring."""
    source = record(tmp_path / "data")
    gone, found = ("dill", "mlcroissant"), importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in gone else found(name))
    done = CliRunner().invoke(main, ["new-builder", str(source), "--to", str(tmp_path), "--name", "toy"])
    assert "pip install mlcroissant dill\n" in done.output


def test_command(tmp_path: Path) -> None:
    """It prints the next steps; errors are one line and exit code 1."""
    source = record(tmp_path / "data")
    done = CliRunner().invoke(main, ["new-builder", str(source), "--to", str(tmp_path), "--name", "toy"])
    assert done.exit_code == 0, done.output
    assert f"tfds build --manual_dir {source}" in done.output
    spaced = ["new-builder", str(record(tmp_path / "my data")), "--to", str(tmp_path / "my builders")]
    assert f"--manual_dir '{tmp_path / 'my data'}'" in CliRunner().invoke(main, spaced).output
    done = CliRunner().invoke(main, ["new-builder", str(source), "--to", str(tmp_path), "--name", "Toy"])
    assert (done.exit_code, done.output.startswith("Error: name: expected lower-case")) == (1, True)
    done = CliRunner().invoke(main, ["new-builder", str(source), "--to", str(tmp_path), "--name", "other", "--json"])
    assert json.loads(done.stdout)["name"] == "other"


@pytest.mark.thorough
def test_chosen_metadata(tmp_path: Path) -> None:
    """Keys that not every episode has are left out by naming the others."""
    with EpisodeWriter(tmp_path / "mixed", record_time=False) as writer:
        for metadata in ({"score": 1, "note": "first"}, {"score": 2}):
            with writer.episode(metadata=metadata) as episode:
                episode.start(0.0)
                episode.step(action=1, reward=1.0, observation=1.0, terminated=True)
    command = ["new-builder", str(tmp_path / "mixed"), "--to", str(tmp_path / "out")]
    assert CliRunner().invoke(main, command).exit_code == 1
    assert CliRunner().invoke(main, [*command, "--metadata", "score"]).exit_code == 0
    build = ("tensorflow_datasets.scripts.cli.main", "build", "--manual_dir", str(tmp_path / "mixed"), "--data_dir")
    run(*build, str(tmp_path / "tfds"), cwd=tmp_path / "out" / "mixed")
    built = tfds.builder_from_directory(tmp_path / "tfds" / "mixed" / "1.0.0")
    assert set(built.info.features) == {"steps", "episode_id", "end", "score"}
