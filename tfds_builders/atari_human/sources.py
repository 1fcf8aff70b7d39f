"""Sources of human play: recordings in our own format, or the CrowdPlay Atari dataset."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import rlds_kit
from rlds_kit.base.errors import DamagedError, NotADatasetError
from rlds_kit.convert.crowdplay.trajectories import read_episodes
from rlds_kit.storage import directory as directories
from rlds_kit.storage.manifest import require_all
from rlds_kit.tfds_builders.atari_human import crowdplay_recording
from rlds_kit.tfds_builders.proof import ProofError
from rlds_kit.tools.upkeep.closing import note_closed

RECORDINGS: Final = "atari_human"
"""The folder, in TFDS's manual directory, of our own recordings: one directory for each game."""
CROWDPLAY: Final = "crowdplay_atari-v0"
"""The folder, in TFDS's manual directory, of CrowdPlay's dataset."""


class HumanSource(Protocol):
    """Copies or converts the episodes of a config."""

    def bring(self, manual: Path, directory: Path) -> None:
        """Makes a dataset.

        Args:
          manual: TFDS's manual directory.
          directory: of the dataset; does not exist yet.
        """


@dataclass(frozen=True)
class Recordings:
    """Recordings of a game in our own format, as the studio exports them.

    Attributes:
      game: the name of their directory.
    """

    game: str

    def bring(self, manual: Path, directory: Path) -> None:
        """Links the files, which are never changed, or copies them to another disk.

        Raises:
          NotADatasetError: there are none.
          DamagedError: a shard is damaged or missing, so that episodes may be, too.
          ProofError: the copy differs from the original.
        """
        source = manual / RECORDINGS / self.game
        if not source.is_dir() or not directories.is_dataset(source):
            raise NotADatasetError(f"{source}: expected a dataset of people who play {self.game}; put one there")
        require_all(source)
        dataset = rlds_kit.open(source)
        for shard in dataset.damage:
            raise DamagedError(f"{source / shard}: the shard is damaged; use what `rlds-kit repair` saves of it")
        directory.mkdir()
        for path in (*directories.shards_in(source), source / directories.DESCRIPTION):
            if path.exists():
                _link(path, directory / path.name)
        note_closed(directory)
        if rlds_kit.open(directory).content_digest != dataset.content_digest:
            raise ProofError(
                f"{directory}: the episodes are not those of {source}; did another process record into it?"
            )


@dataclass(frozen=True)
class CrowdPlay:
    """Episodes of a game of the CrowdPlay Atari dataset.

    Attributes:
      game: CrowdPlay's name of the game.
      tasks: to choose: "plain", "left", "insideout", ...; none of them: all.
      channels: to choose: "mturk", "email", "socialmedia"; none of them: all.
    """

    game: str
    tasks: Sequence[str] = ()
    channels: Sequence[str] = ()

    def bring(self, manual: Path, directory: Path) -> None:
        """Converts the trajectories once, and compares the result with the source.

        Raises:
          NotADatasetError: CrowdPlay's dataset is missing.
          FormatError: it is not of CrowdPlay's form, or has no such episodes.
          ProofError: the converted values differ from the source.
        """
        episodes = read_episodes(manual / CROWDPLAY, games=[self.game], tasks=self.tasks, channels=self.channels)
        about = {"name": f"atari_human/{self.game}_crowdplay", "description": f"{self.game}, from CrowdPlay Atari v0"}
        crowdplay_recording.record(episodes, directory, about)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)
