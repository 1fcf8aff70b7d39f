"""EnvLogger's directories behind the protocol of conversions."""

from pathlib import Path
from typing import Final

from rlds_kit.convert.envlogger.reader import METADATA_FILE, EnvLoggerReader
from rlds_kit.convert.envlogger.writer import EnvLoggerWriter
from rlds_kit.convert.protocol import Capabilities, Format


def _recognises(path: Path) -> bool:
    return (path / METADATA_FILE).is_file()


FORMAT: Final = Format(
    name="envlogger",
    summary="a directory of EnvLogger's, with metadata.riegeli",
    recognises=_recognises,
    open=EnvLoggerReader,
    capabilities=Capabilities(
        missing_final_observation=False,
        gaps=False,
        other_fields=True,
        changing_fields=True,
        discount=True,
        end=True,
        episode_metadata=True,
        seeds=True,
    ),
    create=EnvLoggerWriter,
)
