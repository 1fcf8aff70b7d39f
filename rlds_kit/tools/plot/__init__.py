"""Histograms of datasets, side by side: returns, lengths and actions.

`histograms` draws a figure; `count` returns the numbers, without Matplotlib.
"""

from rlds_kit.tools.plot.counting import BINS, MAX_BINS, MIN_BINS, count
from rlds_kit.tools.plot.figure import PlotError, draw, histograms, require_drawable, save
from rlds_kit.tools.plot.histogram import Counts, Histogram, Histograms, Size, TextHistogram

__all__ = [
    "BINS",
    "MAX_BINS",
    "MIN_BINS",
    "Counts",
    "Histogram",
    "Histograms",
    "PlotError",
    "Size",
    "TextHistogram",
    "count",
    "draw",
    "histograms",
    "require_drawable",
    "save",
]
