"""The pictures of a dataset card: returns and lengths, actions, and frames of an episode."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.step import OBSERVATION
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.tools import plot
from rlds_kit.tools.plot.figure import COLOURS, PANELS
from rlds_kit.tools.plot.histogram import Histogram, TextHistogram
from rlds_kit.tools.plot.panel import draw_numbers, draw_texts
from rlds_kit.tools.publish.facts import Facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRAMES: Final = 8
"""So many moments of an episode are shown."""

_COLUMNS: Final = 4
_PANEL_INCHES: Final = (3.2, 2.5)
_LONGEST_INCHES: Final = 10.0
_FRAME_INCHES: Final = 2.0
_TITLE_INCHES: Final = 0.25
_DPI: Final = 120
_SMALLEST: Final = 8
"""Arrays with fewer rows or columns are no pictures."""


def pictures(dataset: Dataset, facts: Facts, folder: Path) -> list[str]:
    """Draws a dataset.

    Args:
      dataset: with episodes.
      facts: of the dataset.
      folder: to write PNG files to.

    Returns:
      Their names: "returns.png" always; "actions.png" if there are actions to draw; "frames.png" if observations are
      images.

    Raises:
      MissingExtraError: Matplotlib is not installed.
      OSError: a file cannot be written.
    """
    histograms = facts.histograms
    figures = {"returns.png": _histograms([*histograms.returns[:PANELS], histograms.lengths], "episodes", histograms)}
    if histograms.actions:
        figures["actions.png"] = _histograms(histograms.actions[:PANELS], "actions", histograms)
    if (frames := _frames(dataset, facts)) is not None:
        figures["frames.png"] = frames
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=_DPI, metadata={"Software": None})  # the same bytes for the same data
    return list(figures)


def _histograms(panels: Sequence[Histogram | TextHistogram], unit: str, found: plot.Histograms) -> "Figure":
    plot.require_drawable(found.datasets)
    from matplotlib.figure import Figure

    colours = dict(zip(found.datasets, COLOURS, strict=False))
    rows = math.ceil(len(panels) / _COLUMNS)
    columns = math.ceil(len(panels) / rows)
    width = max(columns, 2 if len(panels) == 1 else 0) * _PANEL_INCHES[0]
    figure = Figure(figsize=(width, rows * _PANEL_INCHES[1]), layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False).flat
    for axes, histogram in zip(every, panels, strict=False):
        if isinstance(histogram, TextHistogram):
            draw_texts(axes, histogram, unit, colours)
        else:
            draw_numbers(axes, histogram, unit, colours)
    for axes in figure.axes[len(panels) :]:
        axes.set_visible(False)
    return figure


def _frames(dataset: Dataset, facts: Facts) -> "Figure | None":
    """Frames of the longest episode, evenly spaced from its first step to its last."""
    path = next((field.path for field in facts.fields if _is_image(field.path, field.spec)), None)
    if path is None:
        return None
    from matplotlib.figure import Figure

    episode = dataset.episodes[int(np.argmax(dataset.lengths()))]
    rows = np.unique(np.linspace(0, episode.length - 1, FRAMES).astype(int)).tolist()
    images = [_image(episode[row : row + 1][path][0]) for row in rows]
    height, width = images[0].shape[:2]
    column = min(_LONGEST_INCHES / len(images), _FRAME_INCHES)
    tall = column * height / width + _TITLE_INCHES
    figure = Figure(figsize=(column * len(images), tall))
    every = figure.subplots(1, len(images), squeeze=False).flat
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1 - _TITLE_INCHES / tall, wspace=0.04)
    for axes, image, row in zip(every, images, rows, strict=True):
        axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title(f"step {row:,}", fontsize=8, color="0.3", pad=3)
        axes.set_axis_off()
    return figure


def _is_image(path: str, spec: specs.Spec) -> bool:
    """Whether a field of observations has images: uint8 `[rows, columns]` or `[rows, columns, 1 or 3]`."""
    if not (f"{path}/").startswith(f"{OBSERVATION}/") or not isinstance(spec, specs.Array) or spec.dtype != np.uint8:
        return False
    shape = spec.shape
    if len(shape) not in (2, 3) or None in shape or (len(shape) == 3 and shape[2] not in (1, 3)):
        return False
    return min(length for length in shape[:2] if length is not None) >= _SMALLEST


def _image(value: Any) -> np.ndarray:
    """Converts a frame to a form that Matplotlib accepts: `[rows, columns]` or `[rows, columns, 3]`."""
    array = np.asarray(value)
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
