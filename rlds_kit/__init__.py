"""Record, transform, share and replay episodes of agents in environments."""

from rlds_kit._version import __version__
from rlds_kit.base.errors import (
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
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.dataset.location import open_location as open  # noqa: A004  `rlds_kit.open` reads as what it does
from rlds_kit.episode.episode import Episode
from rlds_kit.loader.mixture import mix

__all__ = [
    "DamageWarning",
    "DamagedError",
    "Dataset",
    "DatasetExistsError",
    "Episode",
    "EpisodeEnd",
    "FormatError",
    "LossWarning",
    "MissingExtraError",
    "NotADatasetError",
    "RecordingError",
    "RldsKitError",
    "SpecError",
    "UnsupportedTypeError",
    "__version__",
    "mix",
    "open",
]
