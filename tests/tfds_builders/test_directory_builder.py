"""Datasets with a name of their own, recorded when they are first loaded and read directly."""

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import NotADatasetError
from rlds_kit.tfds_builders import DirectoryBuilder, DirectoryConfig
from tests.tfds_builders.directory_catch import DirectoryCatch
from tests.tfds_builders.recordings import record


class TestDirectoryCatch(tfds.testing.DatasetBuilderTestCase):  # type: ignore[misc]  # TFDS has no types
    """The requirements of TFDS for a builder."""

    DATASET_CLASS = DirectoryCatch
    SPLITS = {"train": 3, "test": 2}  # noqa: RUF012  as TFDS has it
    EXAMPLE_DIR = os.path.dirname(__file__)  # noqa: PTH120
    SKIP_CHECKSUMS = True


def test_load_by_name(tmp_path: Path) -> None:
    """Recorded once, then only read; with info, by config, in splits."""
    train, info = tfds.load("directory_catch/long", split="train", data_dir=tmp_path, with_info=True)
    assert [len(episode["steps"]) for episode in train] == [71, 72, 73]
    assert (info.full_name, info.description, info.citation) == (
        "directory_catch/long/1.0.0",
        "Balls to catch.",
        "@misc{catch}",
    )
    assert (info.homepage, info.redistribution_info.license) == ("https://a.org", "CC0")
    assert {name: split.num_examples for name, split in info.splits.items()} == {"train": 3, "test": 2}
    shards = sorted(tmp_path.glob("**/*.riegeli"))
    again = tfds.load("directory_catch/long", data_dir=tmp_path)
    assert sorted(tmp_path.glob("**/*.riegeli")) == shards
    assert {name: len(found) for name, found in again.items()} == {"train": 3, "test": 2}
    assert (
        len(tfds.load("directory_catch/long:1.0.0", split="train", data_dir=tmp_path)) == 3
    )  # TFDS searches for files first
    asked = {"file_format": "array_record"}  # as TFDS does by itself where no data_dir is given
    source = tfds.data_source("directory_catch/long", split="test", data_dir=tmp_path, builder_kwargs=asked)
    assert [episode["steps"][-1]["is_last"] for episode in source] == [True, True]


def test_a_config_says_what_is_given(tmp_path: Path) -> None:
    short, long = (tfds.load(f"directory_catch/{name}", split="train", data_dir=tmp_path) for name in ("short", "long"))
    assert short.element_spec.keys() == {"steps", "episode_id", "end", "score", "player"}
    assert long.element_spec.keys() == {"steps", "episode_id", "end", "score"}
    assert long.element_spec["steps"].element_spec.keys() == {"reward", "is_first", "is_last", "is_terminal"}


def test_before_it_is_prepared(tmp_path: Path) -> None:
    """Features and splits are unknown, and the message names the method to call."""
    builder = DirectoryCatch(data_dir=tmp_path)
    assert (builder.info.features, dict(builder.info.splits), builder.is_prepared()) == (None, {}, False)
    with pytest.raises(AssertionError, match="download_and_prepare"):
        builder.as_dataset(split="train")
    with pytest.raises(AssertionError, match="download_and_prepare"):
        builder.as_data_source(split="train")
    builder.download_and_prepare()
    assert builder.is_prepared()
    assert builder.info.features.keys() == {"steps", "episode_id", "end", "score", "player"}


def test_a_prepared_builder_can_be_pickled(tmp_path: Path) -> None:
    """It finds the episodes again."""
    builder = DirectoryCatch(data_dir=tmp_path)
    builder.download_and_prepare()
    other = pickle.loads(pickle.dumps(builder))  # noqa: S301
    assert len(other.as_data_source(split="train+test")) == 5


def run(data_dir: Path, **env: str) -> subprocess.Popen[bytes]:
    """Loads the dataset in another process."""
    code = (
        "import tensorflow_datasets as tfds, tests.tfds_builders.directory_catch\n"
        f"assert len(tfds.data_source('directory_catch/short', split='all', data_dir={str(data_dir)!r})) == 5"
    )
    path = str(Path(rlds_kit.__file__).parent.parent)
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path, **env})


def test_a_killed_process_leaves_no_data(tmp_path: Path) -> None:
    """The next one starts anew and clears away what was left."""
    made = tmp_path / "made"
    data_dir = tmp_path / "data"
    assert run(data_dir, MADE=str(made), DIE="1").wait() == 9
    (left,) = (data_dir / "directory_catch" / "short").glob("incomplete*")
    assert not DirectoryCatch(data_dir=data_dir, config="short").is_prepared()
    DirectoryCatch(data_dir=data_dir, config="short").download_and_prepare()
    assert not left.exists()
    assert len(tfds.load("directory_catch/short", split="all", data_dir=data_dir)) == 5


def test_two_processes_at_once(tmp_path: Path) -> None:
    """One records, the other waits, both read."""
    made = tmp_path / "made"
    running = [run(tmp_path / "data", MADE=str(made)) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert made.read_text() == "made\n"


def test_episodes_that_lie_somewhere(tmp_path: Path) -> None:
    """Are read where they are; nothing is prepared."""

    class Lying(DirectoryBuilder, skip_registration=True):  # type: ignore[call-arg]
        BUILDER_CONFIGS = (
            DirectoryConfig(
                name="both", directories={"train": record(tmp_path / "a"), "test": record(tmp_path / "b", 2)}
            ),
        )

    builder = Lying(config="both", data_dir=tmp_path / "data")
    builder.download_and_prepare()
    assert [len(builder.as_dataset(split=split)) for split in ("train", "test", "train[1:]")] == [3, 2, 2]
    assert builder.info.splits.total_num_examples == 5
    assert not (tmp_path / "data").exists()


def test_a_builder_that_makes_nothing_is_an_error(tmp_path: Path) -> None:
    class Empty(DirectoryBuilder, skip_registration=True):  # type: ignore[call-arg]
        def make_episodes(self, directory: Path, downloads: Any) -> None:
            (directory / "train").mkdir()

    with pytest.raises(NotADatasetError, match="make_episodes"):
        Empty(data_dir=tmp_path).download_and_prepare()
    assert not Empty(data_dir=tmp_path).is_prepared()
    assert list(tmp_path.glob("**/*.riegeli")) == []


def test_a_builder_must_say_where_its_episodes_come_from(tmp_path: Path) -> None:
    class Nowhere(DirectoryBuilder, skip_registration=True):  # type: ignore[call-arg]
        pass

    with pytest.raises(NotImplementedError, match="make_episodes"):
        Nowhere(data_dir=tmp_path).download_and_prepare()


def builder_of(module: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> type[DirectoryBuilder]:
    """A builder in the source of a module below `path`, with texts of its own."""
    file = path.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "from rlds_kit.tfds_builders import DirectoryBuilder\n"
        "class Builder(DirectoryBuilder, skip_registration=True):\n"
        "    ABOUT = {'description': 'Its own.', 'citation': '@misc{own}', 'license': 'CC0'}\n"
    )
    monkeypatch.syspath_prepend(path)
    return cast("type[DirectoryBuilder]", importlib.import_module(module).Builder)


@pytest.mark.parametrize(
    ("files", "description", "citation"),
    [
        (("README.md", "CITATIONS.bib"), "Of a file.", "Of a file."),
        (("README.md",), "Of a file.", "@misc{own}"),
        (("CITATIONS.bib",), "Its own.", "Of a file."),
        ((), "Its own.", "@misc{own}"),
    ],
)
def test_files_beside_a_builder_in_a_package_go_first(
    files: tuple[str, ...], description: str, citation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """README.md and CITATIONS.bib are the description and the citation; `ABOUT` has what is in no file."""
    package = f"with_{len(files)}_{len(description)}_files"
    (tmp_path / package).mkdir()
    for name in ("__init__.py", *files):
        (tmp_path / package / name).write_text("Of a file." if name in files else "")
    builder = builder_of(f"{package}.thrown_dataset_builder", tmp_path, monkeypatch)
    info = builder(data_dir=tmp_path / "data").info
    assert (info.name, info.description, info.citation) == ("thrown", description, citation)
    assert info.redistribution_info.license == "CC0"


def test_files_beside_a_builder_in_no_package_are_none_of_its(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script's folder may have the README.md of something else."""
    (tmp_path / "README.md").write_text("Of something else.")
    builder = builder_of("scripted_dataset_builder", tmp_path, monkeypatch)
    assert builder(data_dir=tmp_path / "data").info.description == "Its own."


def test_files_beside_a_builder_that_tfds_imports_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TFDS sets `pkg_dir_path` where it imports a builder by its file, whatever its module is called."""
    (tmp_path / "README.md").write_text("Of a file.")
    builder = builder_of("imported_dataset_builder", tmp_path, monkeypatch)
    monkeypatch.setattr(builder, "pkg_dir_path", tmp_path)
    assert builder(data_dir=tmp_path / "data").info.description == "Of a file."
