"""LeRobot's datasets of version 3 behind the protocol of conversions."""

from pathlib import Path
from typing import Final

from rlds_kit.convert.lerobot.info import INFO
from rlds_kit.convert.lerobot.reader import LeRobotReader
from rlds_kit.convert.lerobot.writer import LeRobotWriter
from rlds_kit.convert.protocol import Capabilities, Format

_CHECKED: Final = 1 << 20


def _recognises(path: Path) -> bool:
    """Whether there is a LeRobot dataset, of a version that can be read or not."""
    info = path / INFO
    if not info.is_file():
        return False
    with info.open("rb") as file:
        return b'"codebase_version"' in file.read(_CHECKED)


FORMAT: Final = Format(
    name="lerobot",
    summary="a dataset of LeRobot, version 3",
    recognises=_recognises,
    open=LeRobotReader,
    capabilities=Capabilities(
        missing_final_observation=True,
        gaps=False,
        other_fields=True,
        changing_fields=False,
        discount=True,
        end=True,
        episode_metadata=True,
        seeds=True,
    ),
    create=LeRobotWriter,
)
