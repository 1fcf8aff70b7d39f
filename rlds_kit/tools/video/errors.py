"""What can go wrong when a video is made."""

from rlds_kit.base.errors import RldsKitError


class VideoError(RldsKitError, ValueError):
    """There is nothing to show, or it cannot be shown as was asked."""
