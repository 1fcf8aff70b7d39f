"""`tfds.load("atari_agents/breakout")`: agents that play Atari games, recorded when the dataset is first loaded."""

import dataclasses
from pathlib import Path
from typing import Any

from rlds_kit.tfds_builders.atari_agents.games import GAMES, env_id
from rlds_kit.tfds_builders.atari_agents.recording import LICENCE, METADATA, Season, record
from rlds_kit.tfds_builders.directory import TRAIN, DirectoryBuilder, DirectoryConfig
from rlds_kit.tfds_builders.tfds_extra import tfds

FIELDS = ("observation", "action", "reward", "discount", "ram", "lives")


@dataclasses.dataclass(eq=False, kw_only=True)
class AtariAgentsConfig(DirectoryConfig):
    """A config of recordings. A config besides the existing ones needs a new name.

    Attributes:
      season: game, episodes of each policy, maximum steps of an episode, and seed.

    >>> AtariAgentsConfig(name="pong_seed_7", season=Season("pong", episodes=10, max_steps=1000, seed=7)).fields[0]
    'observation'
    """

    season: Season
    fields: Any = FIELDS
    metadata: Any = METADATA


def _small(game: str) -> AtariAgentsConfig:
    season = Season(game, episodes=2, max_steps=400)
    text = f"{env_id(game)}: 2 episodes of each policy, 400 steps at most. Recorded in seconds."
    return AtariAgentsConfig(name=game, description=text, season=season)


def _large(game: str) -> AtariAgentsConfig:
    season = Season(game, episodes=100, max_steps=5_000)
    text = f"{env_id(game)}: 100 episodes of each policy, 5,000 steps at most. Recorded in up to an hour."
    return AtariAgentsConfig(name=f"{game}_large", description=text, season=season)


class Builder(DirectoryBuilder):
    """Atari games played by programs: at random, by rules, and by learned policies."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "104 games; learned policies for those that have a checkpoint."}  # noqa: RUF012  TFDS's
    BUILDER_CONFIGS = [make(game) for make in (_small, _large) for game in GAMES]  # noqa: RUF012  TFDS's
    DEFAULT_BUILDER_CONFIG_NAME = "breakout"
    ABOUT = {"license": LICENCE, "homepage": "https://ale.farama.org"}  # noqa: RUF012  not changed

    def make_episodes(self, directory: Path, downloads: Any) -> None:
        """Records the season."""
        del downloads
        record(self.builder_config.season, directory / TRAIN)
