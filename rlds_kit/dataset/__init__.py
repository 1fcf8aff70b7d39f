"""Opens, lists and downloads datasets, local or remote, and reads them with their layers."""

from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.dataset.location import Opener, open_location

__all__ = ["Dataset", "Opener", "open_dataset", "open_location"]
