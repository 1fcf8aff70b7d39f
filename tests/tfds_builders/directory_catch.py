"""A dataset that is recorded when it is first loaded, for the tests of `DirectoryBuilder`."""

from pathlib import Path
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from rlds_kit.tfds_builders import DirectoryBuilder, DirectoryConfig
from tests.tfds_builders.dying import take_note
from tests.tfds_builders.recordings import record


class DirectoryCatch(DirectoryBuilder):
    """Two configs, two splits."""

    VERSION = tfds.core.Version("1.0.0")
    BUILDER_CONFIGS = (
        DirectoryConfig(name="short", description="Short episodes."),
        DirectoryConfig(name="long", description="Long ones.", fields=["reward"], metadata=["score"]),
    )
    ABOUT: ClassVar = {
        "description": "Balls to catch.",
        "citation": "@misc{catch}",
        "license": "CC0",
        "homepage": "https://a.org",
    }

    def make_episodes(self, directory: Path, downloads: Any) -> None:
        """Records them."""
        del downloads
        steps = {"short": 3, "long": 70}[self.settings.name]
        record(directory / "train", 3, steps=steps)
        take_note()
        record(directory / "test", 2, seed=1, steps=steps)
