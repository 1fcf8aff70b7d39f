"""Publishes datasets: to a folder, to any file system of fsspec, to the Hugging Face hub.

`publish` runs all stages: checks, a dataset card with statistics and pictures, Croissant metadata, checksums, the copy.
"""

from rlds_kit.tools.publish.about import About
from rlds_kit.tools.publish.destination import Sent
from rlds_kit.tools.publish.errors import NotPublishableError, Problem, PublishError
from rlds_kit.tools.publish.publishing import Published, publish

__all__ = ["About", "NotPublishableError", "Problem", "PublishError", "Published", "Sent", "publish"]
