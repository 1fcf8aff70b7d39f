"""The errors of plots."""

from rlds_kit.base.errors import RldsKitError


class PlotError(RldsKitError, ValueError):
    """There is nothing to draw, or more than one figure can show."""
