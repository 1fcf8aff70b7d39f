"""Scores: totals, ranks with ties, percentiles and histograms, for the page at the end."""

from rlds_kit.crowd.scores.standing import Standing, histogram, standing

__all__ = ["Standing", "histogram", "standing"]
