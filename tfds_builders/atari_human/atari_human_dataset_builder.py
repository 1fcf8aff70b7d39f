"""`tfds.load("atari_human/space_invaders")`: people who play Atari games."""

import dataclasses
from pathlib import Path
from typing import Any

from rlds_kit.convert.crowdplay.reader import FIELDS, METADATA
from rlds_kit.tfds_builders.atari_agents.games import GAMES
from rlds_kit.tfds_builders.atari_human.sources import CROWDPLAY, RECORDINGS, CrowdPlay, HumanSource, Recordings
from rlds_kit.tfds_builders.directory import TRAIN, DirectoryBuilder, DirectoryConfig
from rlds_kit.tfds_builders.tfds_extra import tfds

CROWDPLAY_GAMES = (
    *("beam_rider", "breakout", "montezuma_revenge", "qbert", "riverraid", "space_invaders"),
    *("space_invaders_2p", "space_invaders_ai"),
)
CROWDPLAY_URL = "http://crowdplay-atari.s3-website-us-east-1.amazonaws.com/data-v0.zip"


@dataclasses.dataclass(eq=False, kw_only=True)
class AtariHumanConfig(DirectoryConfig):
    """A config of recordings of people. A config besides the existing ones needs a new name.

    Attributes:
      source: of the episodes.
    """

    source: HumanSource


def crowdplay_config(name: str, source: CrowdPlay, description: str = "") -> AtariHumanConfig:
    """A config of episodes of CrowdPlay, optionally of some tasks and channels only.

    >>> crowdplay_config("left_by_email", CrowdPlay("riverraid", tasks=("left",), channels=("email",))).name
    'left_by_email'
    """
    return AtariHumanConfig(
        name=name,
        description=description,
        source=source,
        fields=FIELDS,
        metadata=METADATA,
        observation_valid=True,
    )


class Builder(DirectoryBuilder):
    """Atari games played by people."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "Recordings of one's own, and CrowdPlay Atari v0."}  # noqa: RUF012  TFDS's
    BUILDER_CONFIGS = [  # noqa: RUF012  TFDS's
        *(AtariHumanConfig(name=game, description=f"Recordings of {game}.", source=Recordings(game)) for game in GAMES),
        *(
            crowdplay_config(f"{game}_crowdplay", CrowdPlay(game), f"All episodes of {game} in CrowdPlay Atari v0.")
            for game in CROWDPLAY_GAMES
        ),
    ]
    DEFAULT_BUILDER_CONFIG_NAME = "space_invaders"
    ABOUT = {"homepage": "https://mgerstgrasser.github.io/crowdplay/"}  # noqa: RUF012  not changed
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""
    Configs called by a game read recordings of your own: put the dataset directory of each game, as rlds-kit recorded
    it, into `{RECORDINGS}/<game>/` of the manual directory, for instance `{RECORDINGS}/space_invaders/`.

    Configs that end in `_crowdplay` read the CrowdPlay Atari dataset, version 0, about 15 GB: download
    {CROWDPLAY_URL} and unpack it into `{CROWDPLAY}/` of the manual directory. That folder then holds
    `dataset.sqlite` and, for each episode, `<episode_id>.pickle.bz2`.
    """

    def make_episodes(self, directory: Path, downloads: Any) -> None:
        """Copies or converts the episodes of the config's source."""
        self.builder_config.source.bring(Path(downloads.manual_dir), directory / TRAIN)
