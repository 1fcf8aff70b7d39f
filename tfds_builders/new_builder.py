"""Writes a module of TensorFlow Datasets for a recorded dataset; `tfds build` and `pytest` run it without changes."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Final

from rlds_kit import Dataset
from rlds_kit.dataset.dataset import open_dataset
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tfds_builders.features import episode_features
from rlds_kit.tfds_builders.shards import convert_shards, serially
from rlds_kit.tfds_builders.shards.convert import identity

SAMPLE_EPISODES: Final = 3
"""Number of episodes, the shortest ones, that are copied whole for the generated test."""

_MODULE: Final = Template('''\
"""$title, as a dataset of TensorFlow Datasets.

In this folder run

    tfds build --manual_dir DIRECTORY_OF_THE_RECORDING

and `pytest`, which builds from the sample in dummy_data.
"""

from typing import Any

$imports


class Builder(EpisodesBuilder):
    """What README.md and CITATIONS.bib do not say of it."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "The first release."}
    HOMEPAGE = ""
    LICENCE = $licence
    MANUAL_DOWNLOAD_INSTRUCTIONS = "The manual directory is the one that `rlds_kit` recorded into."

    def folders(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        """Where the data of each split is.

        When the recording is on a server: `dl_manager.download_and_extract(url)` in place of `dl_manager.manual_dir`,
        and `tfds build --register_checksums` once.
        """
        return {"train": $train}
''')

_IMPORTS: Final = """\
import tensorflow_datasets as tfds

from rlds_kit.tfds_builders import EpisodesBuilder"""
_IMPORTS_CHOOSING: Final = """\
import rlds_kit
import tensorflow_datasets as tfds
from rlds_kit.tfds_builders import DatasetSource, EpisodesBuilder"""

_TEST: Final = Template('''\
"""Builds from the sample in dummy_data and reads it back."""

import tensorflow_datasets as tfds

from . import ${name}_dataset_builder


class BuilderTest(tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = ${name}_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True  # steps are nested datasets
    SPLITS = {"train": $episodes}


if __name__ == "__main__":
    tfds.testing.test_main()
''')


@dataclass(frozen=True, slots=True)
class NewBuilder:
    """The result of `write_builder`.

    Attributes:
      directory: of the module.
      name: of the dataset.
      source: the recording.
      sample_episodes: number of episodes in dummy_data.
      sample_bytes: of the files in dummy_data.
    """

    directory: Path
    name: str
    source: Path
    sample_episodes: int
    sample_bytes: int


def write_builder(
    source: str | os.PathLike[str],
    to: str | os.PathLike[str] = ".",
    *,
    name: str | None = None,
    metadata: Sequence[str] | None = None,
) -> NewBuilder:
    """Writes a builder for a recorded dataset, with an excerpt of it for its test.

    Args:
      source: the directory of the dataset.
      to: the folder in which to create the folder of the module.
      name: of the dataset in TFDS; by default derived from the name in dataset.json, or from that of the directory.
      metadata: keys of episode metadata to publish; None: all, and then every episode must have each.

    Raises:
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: `to` already contains this name.
      ValueError: TFDS does not accept the name, or the dataset has no episodes.
      SpecError: TFDS cannot store a field exactly.

    >>> write_builder("data/pong", "builders").directory  # doctest: +SKIP
    PosixPath('builders/pong')
    """
    dataset = open_dataset(source)
    chosen = identity(dataset, dataset.path)[0] if name is None else name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", chosen):
        raise ValueError(f"name: expected lower-case letters, digits and underscores, as TFDS wants it, got {chosen!r}")
    if not len(dataset.episodes):
        raise ValueError(f"{dataset.path}: expected a dataset with episodes, it has none; record some first")
    features = episode_features(dataset, metadata=metadata)  # now, not during a later build
    directory = Path(to) / chosen
    with new_directory(directory) as made:
        sample = _write_sample(dataset, made / "dummy_data")
        for file, content in _files(dataset, chosen, _module(dataset, chosen, metadata), features, sample).items():
            (made / file).write_text(content, "utf-8")
    size = sum(path.stat().st_size for path in (directory / "dummy_data").iterdir())
    return NewBuilder(directory, chosen, dataset.path, sample, size)


def _write_sample(dataset: Dataset, destination: Path) -> int:
    """Copies the shortest episodes; returns how many."""
    lengths = dataset.lengths()
    shortest = sorted(range(len(lengths)), key=lengths.__getitem__)[:SAMPLE_EPISODES]
    report = convert_shards(dataset.take(sorted(shortest)), destination, "riegeli", executor=serially())
    return report.episodes


def _title(dataset: Dataset, name: str) -> str:
    """Converts a text to one line that is valid in a docstring."""
    title = str(dataset.description.get("name") or name)
    return title.replace("\\", "/").replace('"', "'").splitlines()[0]


def _module(dataset: Dataset, name: str, metadata: Sequence[str] | None) -> str:
    directory = "dl_manager.manual_dir"
    imports, train = _IMPORTS, directory
    if metadata is not None:
        keys = ", ".join(_literal(key) for key in metadata)
        imports, train = _IMPORTS_CHOOSING, f"DatasetSource(rlds_kit.open({directory}), metadata=[{keys}])"
    licence = _literal(str(dataset.description.get("licence") or ""))
    return _MODULE.substitute(title=_title(dataset, name), licence=licence, imports=imports, train=train)


def _literal(text: str) -> str:
    """Formats a value as code formatters do; JSON's escapes are valid in Python, too."""
    return json.dumps(text, ensure_ascii=False)


def _files(dataset: Dataset, name: str, module: str, features: Any, sample: int) -> dict[str, str]:
    about, title = dataset.description, _title(dataset, name)
    return {
        "__init__.py": f'"""The dataset {name} of TensorFlow Datasets."""\n',
        f"{name}_dataset_builder.py": module,
        f"{name}_dataset_builder_test.py": _TEST.substitute(name=name, episodes=sample),
        "README.md": _readme(dataset, title, str(about.get("description") or "")),
        "CITATIONS.bib": str(about.get("citation") or ""),
        "TAGS.txt": _tags(features),
        "checksums.tsv": "# `tfds build --register_checksums` writes here what `folders` downloads.\n",
    }


def _readme(dataset: Dataset, title: str, description: str) -> str:
    environment = str(dataset.environment.get("id") or "")
    recorded = f" of `{environment}`" if environment else ""
    episodes, steps = len(dataset.episodes), len(dataset.steps)
    about = (
        f"{episodes:,} episode{'s' * (episodes != 1)}{recorded} with {steps:,} steps, in the form of "
        "[RLDS](https://github.com/google-research/rlds): an episode is a dataset of steps with metadata beside it. "
        "Action, reward and discount of an episode's last step are undefined."
    )
    parts = [f"# {title}", description or f"Episodes{recorded}, recorded with rlds_kit.", about]
    return "\n\n".join(parts) + "\n"


def _tags(features: Any) -> str:
    tags = ["content.data-type.trajectory # Contains trajectory data."]
    if "Image(" in repr(features):
        tags.append("content.data-type.image # Contains image data.")
    tags.append("ml.task.reinforcement-learning # Relates to Reinforcement Learning (RL), a machine learning task.")
    return "".join(f"{tag}\n" for tag in tags)
