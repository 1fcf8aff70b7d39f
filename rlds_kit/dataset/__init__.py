"""A dataset wherever it is: opened, listed, downloaded, and read with its layers."""

from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.dataset.location import Opener, open_location

__all__ = ["Dataset", "Opener", "open_dataset", "open_location"]
