"""Makes new datasets from others, with ids, digests and lineage right: merge, filter, trim, split, delete.

Every verb writes a new directory atomically, copies unchanged data without decoding them, and compares the result with
the intended content. `dataset.json` records how it was made.
"""

from rlds_kit.tools.edit.delete import delete
from rlds_kit.tools.edit.filter import filter  # noqa: A004  it is used as `edit.filter`
from rlds_kit.tools.edit.merge import merge
from rlds_kit.tools.edit.new_dataset import Report
from rlds_kit.tools.edit.split import split
from rlds_kit.tools.edit.trim import trim

__all__ = ["Report", "delete", "filter", "merge", "split", "trim"]
