"""What can go wrong when a video is made."""

from rlds_kit.base.errors import RldsKitError


class VideoError(RldsKitError, ValueError):
    """There are no images, or they cannot be shown with these arguments."""
