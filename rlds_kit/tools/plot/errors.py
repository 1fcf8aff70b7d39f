"""The errors of plots."""

from rlds_kit.base.errors import RldsKitError


class PlotError(RldsKitError, ValueError):
    """Raised if there is nothing to plot, or more than one figure can show."""
