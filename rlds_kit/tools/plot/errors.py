"""What can go wrong when a dataset is drawn."""

from rlds_kit.base.errors import RldsKitError


class PlotError(RldsKitError, ValueError):
    """There is nothing to draw, or more than one figure can show."""
