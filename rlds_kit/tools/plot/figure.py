"""Plots histograms. Imports Matplotlib only when it is needed, and does not change its global state."""

import math
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.base.progress import Progress
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.tools.plot.counting import BINS, count
from rlds_kit.tools.plot.histogram import Histograms, TextHistogram
from rlds_kit.tools.plot.panel import draw_numbers, draw_texts, shorten, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Colours of datasets, in order; people who are colour-blind can distinguish them (Okabe and Ito, Color Universal
Design)."""
PANELS: Final = 16
"""Maximum number of panels for returns, and for actions."""

_COLUMNS: Final = 4
_PANEL_INCHES: Final = (3.0, 2.4)
_LINE_INCHES: Final = 0.2
_NAME: Final = 50
_NOTE: Final = 100
_DPI: Final = 120


def histograms(datasets: Mapping[str, Dataset], *, bins: int = BINS, progress: Progress | None = None) -> "Figure":
    """Plots returns, lengths and actions of datasets.

    For one dataset the axes show numbers of episodes and actions; for several, percentages of each dataset. Dashed
    lines are medians.
    Compare figure 4 of the RLDS paper (section 7.3, https://arxiv.org/abs/2111.02767), which has single rewards.

    Args:
      datasets: by their names in the figure; up to seven; may be views.
      bins: maximum number in each histogram.
      progress: a callback with the bytes done and the total.

    Raises:
      MissingExtraError: Matplotlib is not installed.
      PlotError: there are no episodes, or more datasets than colours.
      ValueError: `bins` is not between 2 and 256.
      DamagedError: a reward or an action is damaged.

    >>> dataset = rlds_kit.open("data/pong")  # doctest: +SKIP
    >>> won = dataset.where(lambda metadata: metadata["score"] > 0)  # doctest: +SKIP
    >>> rlds_kit.tools.plot.histograms({"all": dataset, "won": won}).savefig("pong.png")  # doctest: +SKIP
    """
    require_drawable(datasets)
    return draw(count(datasets, bins=bins, progress=progress))


def require_drawable(datasets: Collection[str]) -> None:
    """Checks whether a figure of these datasets can be drawn, before any data are read.

    Raises:
      MissingExtraError: Matplotlib is not installed.
      PlotError: there are more datasets than colours.
    """
    with needs("plot"):
        import matplotlib  # noqa: F401, ICN001  fails if it is not installed
    if len(datasets) > len(COLOURS):
        raise PlotError(f"expected at most {len(COLOURS)} datasets, as many as colours, got {len(datasets)}")


def draw(found: Histograms) -> "Figure":
    """Plots the result of `count`: a panel for each histogram, a legend of the datasets, a note about omitted fields.

    Raises:
      MissingExtraError: Matplotlib is not installed.
      PlotError: there are no episodes, or more datasets than colours.
    """
    require_drawable(found.datasets)
    if not any(size.episodes for size in found.datasets.values()):
        raise PlotError(f"{', '.join(found.datasets)}: expected episodes to draw, but there are none")
    colours = dict(zip(found.datasets, COLOURS, strict=False))
    panels = [
        *((histogram, "episodes") for histogram in (*found.returns[:PANELS], found.lengths)),
        *((histogram, "actions") for histogram in found.actions[:PANELS]),
    ]
    figure = _figure(len(panels), len(colours))
    for axes, (histogram, unit) in zip(figure.axes, panels, strict=False):
        if isinstance(histogram, TextHistogram):
            draw_texts(axes, histogram, unit, colours)
        else:
            draw_numbers(axes, histogram, unit, colours)
    _draw_legend(figure, found, colours)
    _draw_note(figure, found)
    return figure


def save(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Writes a figure; the ending of the path determines how: .png, .svg, .pdf.

    Raises:
      OSError: it cannot be written.
    """
    figure.savefig(path, dpi=_DPI)


def _figure(panels: int, lines: int) -> "Figure":
    """A figure with axes for the panels and space for the legend."""
    from matplotlib.figure import Figure

    rows = math.ceil(panels / _COLUMNS)
    columns = math.ceil(panels / rows)
    size = (columns * _PANEL_INCHES[0], rows * _PANEL_INCHES[1] + lines * _LINE_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    for axes in figure.subplots(rows, columns, squeeze=False).flat[panels:]:
        axes.set_visible(False)
    return figure


def _draw_legend(figure: "Figure", found: Histograms, colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    labels = [
        f"{shorten(name, _NAME)}: {_number_of(size.episodes, 'episode')}, {_number_of(size.steps, 'step')}"
        for name, size in found.datasets.items()
    ]
    handles = [Patch(**style(colours[name])) for name in found.datasets]
    legend = figure.legend(handles, labels, loc="outside upper left", frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a name with two dollar signs is no formula


def _draw_note(figure: "Figure", found: Histograms) -> None:
    """Adds a note about fields without a panel."""
    more = {"returns": len(found.returns) - PANELS, "actions": len(found.actions) - PANELS}
    parts = [*(f"{number:,} more {what}" for what, number in more.items() if number > 0), *found.not_drawn]
    if parts:
        note = shorten(f"not drawn: {', '.join(parts)}", _NOTE)
        figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color="0.4", parse_math=False)


def _number_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class PlotError(RldsKitError, ValueError):
    """Raised if there is nothing to plot, or more than one figure can show."""
