"""Record, transform, share and replay episodes of agents in environments."""

from rlds_kit._version import __version__
from rlds_kit.dataset import Dataset
from rlds_kit.episode import Episode
from rlds_kit.errors import (
    DamagedError,
    DamageWarning,
    DatasetExistsError,
    FormatError,
    LossWarning,
    NotADatasetError,
    RecordingError,
    RldsKitError,
    SpecError,
    UnsupportedTypeError,
)
from rlds_kit.loader.mixture import mix
from rlds_kit.location import open_location as open  # noqa: A004  `rlds_kit.open` reads as what it does
from rlds_kit.step import EpisodeEnd

__all__ = [
    "DamageWarning",
    "DamagedError",
    "Dataset",
    "DatasetExistsError",
    "Episode",
    "EpisodeEnd",
    "FormatError",
    "LossWarning",
    "NotADatasetError",
    "RecordingError",
    "RldsKitError",
    "SpecError",
    "UnsupportedTypeError",
    "__version__",
    "mix",
    "open",
]
