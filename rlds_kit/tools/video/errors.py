"""The errors of videos."""

from rlds_kit.base.errors import RldsKitError


class VideoError(RldsKitError, ValueError):
    """Raised if there are no images, or they cannot be shown with these arguments."""
