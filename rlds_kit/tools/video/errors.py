"""What can go wrong when a video is made."""

from rlds_kit.base.errors import RldsKitError


class VideoError(RldsKitError, ValueError):
    """There is nothing to show, or it cannot be shown as was asked."""


class MissingLibraryError(RldsKitError, ImportError):
    """PyAV or Pillow is not installed; the message names the line that installs it."""
