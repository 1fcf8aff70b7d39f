"""Plots one histogram into one pair of axes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlds_kit.tools.plot.histogram import Histogram, TextHistogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GROUPED: Final = 24
"""So many discrete values are drawn as bars side by side; more as outlines over each other."""
_NAMED: Final = 10
"""So many discrete values have a tick each."""
_LABEL: Final = 22
_SMALL: Final = 8
_STEPS: Final = (1, 2, 5, 10)


def draw_numbers(axes: "Axes", histogram: Histogram, unit: str, colours: Mapping[str, str]) -> None:
    """Bars or outlines, medians, and a note of values beyond the axis.

    Args:
      axes: to draw into.
      histogram: what to draw.
      unit: what is counted: "episodes".
      colours: of all datasets of the figure. If there are several, percentages are drawn.
    """
    _label(axes, histogram.name)
    axes.set_xlabel(_beyond(histogram), fontsize=_SMALL, color="0.4")
    if not histogram.edges:
        _show_no_data(axes)
        return
    edges = np.array(histogram.edges)
    heights = {
        name: _heights(counts.bins, counts.total, percent=len(colours) > 1)
        for name, counts in histogram.datasets.items()
        if any(counts.bins)
    }
    if histogram.is_discrete and len(edges) <= _GROUPED:
        _draw_bars(axes, edges, heights, colours)
    else:
        _draw_outlines(axes, edges, heights, colours)
    _draw_medians(axes, histogram, colours)
    axes.set_ylabel(f"% of {unit}" if len(colours) > 1 else unit)
    _set_ticks(axes, histogram)


def draw_texts(axes: "Axes", histogram: TextHistogram, unit: str, colours: Mapping[str, str]) -> None:
    """Horizontal bars, the most frequent text at the top; arguments are those of `draw_numbers`."""
    _label(axes, histogram.name)
    others = any(counts[-1] for counts in histogram.datasets.values())
    labels = [*(shorten(text, _LABEL) for text in histogram.texts), *(["(others)"] if others else [])]
    rows = np.arange(len(labels))
    thickness = 0.8 / len(histogram.datasets)
    for number, (name, counts) in enumerate(histogram.datasets.items()):
        widths = _heights(counts, sum(counts), percent=len(colours) > 1)[: len(labels)]
        axes.barh(rows - 0.4 + (number + 0.5) * thickness, widths, thickness, **style(colours[name]))
    axes.set_yticks(rows, labels, fontsize=_SMALL - 1, parse_math=False)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"% of {unit}" if len(colours) > 1 else unit)


def style(colour: str) -> dict[str, Any]:  # arguments of a patch
    """The style of bars: a transparent face, so that medians and other datasets are visible, and an opaque edge."""
    return {"facecolor": (colour, 0.25), "edgecolor": colour, "linewidth": 1.2}


def shorten(text: str, length: int) -> str:
    r"""Shortens a text to this many characters, and replaces those that cannot be drawn.

    >>> shorten("one\ntwo", 20), shorten("abcdefgh", 5)
    ('one·two', 'ab…gh')
    """
    text = "".join(character if character.isprintable() else "·" for character in text)
    tail = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - tail]}…{text[-tail:]}"


def number_text(number: float) -> str:
    """A number in about four digits.

    >>> number_text(19.5), number_text(-32.86391), number_text(1234567.8)
    ('19.5', '-32.86', '1,234,568')
    """
    return f"{number:,.0f}" if 1e3 <= abs(number) < 1e9 else f"{number:.4g}"


def _label(axes: "Axes", name: str) -> None:
    axes.set_title(shorten(name, 40), loc="left", fontsize=10, parse_math=False)
    axes.tick_params(labelsize=_SMALL)
    axes.xaxis.label.set_fontsize(_SMALL)
    axes.yaxis.label.set_fontsize(_SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)


def _heights(counts: Sequence[int], total: int, *, percent: bool) -> np.ndarray:
    return np.array(counts) * (100 / max(total, 1) if percent else 1)


def _draw_bars(axes: "Axes", edges: np.ndarray, heights: Mapping[str, np.ndarray], colours: Mapping[str, str]) -> None:
    width = 0.8 * (edges[1] - edges[0]) / len(heights)
    left = edges[:-1] + 0.1 * (edges[1] - edges[0])
    for number, (name, height) in enumerate(heights.items()):
        axes.bar(left + number * width, height, width, align="edge", **style(colours[name]))


def _draw_outlines(
    axes: "Axes", edges: np.ndarray, heights: Mapping[str, np.ndarray], colours: Mapping[str, str]
) -> None:
    for name, height in heights.items():
        without_gaps = np.where(height > 0, height, np.nan)  # no line along the axis where counts are zero
        axes.stairs(without_gaps, edges, fill=True, **style(colours[name]))


def _draw_medians(axes: "Axes", histogram: Histogram, colours: Mapping[str, str]) -> None:
    for name, counts in histogram.datasets.items():
        if counts.summary is not None:
            median = counts.summary.median
            axes.axvline(
                median, color=colours[name], linestyle="--", linewidth=1.2, label=f"median {number_text(median)}"
            )
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=_SMALL - 1, handlelength=1.5, facecolor="white", edgecolor="none", framealpha=0.8)


def _set_ticks(axes: "Axes", histogram: Histogram) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    edges = np.array(histogram.edges)
    margin = (edges[-1] - edges[0]) * (1 if len(edges) == 2 else 0.02)  # a lone bar does not fill its panel
    axes.set_xlim(edges[0] - margin, edges[-1] + margin)
    if histogram.is_discrete and len(edges) <= _NAMED + 1:
        axes.set_xticks((edges[:-1] + edges[1:]) / 2)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS, integer=histogram.is_discrete))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y", alpha=0.3)


def _beyond(histogram: Histogram) -> str:
    """A note about the values outside the axis."""
    every = histogram.datasets.values()
    below, above = sum(counts.below for counts in every), sum(counts.above for counts in every)
    outliers = sum(counts.outliers for counts in every)
    extremes = [(counts.summary.min, counts.summary.max) for counts in every if counts.summary is not None]
    parts = [
        *([f"{below:,} below, to {number_text(min(low for low, _ in extremes))}"] if below else []),
        *([f"{above:,} above, to {number_text(max(high for _, high in extremes))}"] if above else []),
        *([f"{outliers:,} NaN or infinite"] if outliers else []),
    ]
    return f"not shown: {'; '.join(parts)}" if parts else ""


def _show_no_data(axes: "Axes") -> None:
    axes.text(0.5, 0.5, "no values", ha="center", va="center", transform=axes.transAxes, color="0.4")
    axes.set_xticks([])
    axes.set_yticks([])
