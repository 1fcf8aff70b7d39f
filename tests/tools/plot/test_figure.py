"""Figures: panels, heights, legends and files."""

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch

import rlds_kit
from rlds_kit.tools import plot
from rlds_kit.tools.plot.figure import COLOURS, PANELS
from tests.tools.plot.recording import play, record, record_actions, record_rewards

ROOT = Path(rlds_kit.__file__).parent.parent


def drawn(*directories: Path, **options: Any) -> Figure:
    """A figure of datasets, which are named after their directories."""
    return plot.histograms({path.name: rlds_kit.open(path) for path in directories}, **options)


def titles(figure: Figure) -> list[str]:
    """The titles of all panels that are seen."""
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]


def legend(figure: Figure) -> list[str]:
    """The lines of the legend of the whole figure."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def bars(figure: Figure, panel: int) -> list[tuple[str, float, float]]:
    """Colour, middle and height of the bars of a panel."""
    patches = [patch for patch in figure.axes[panel].patches if isinstance(patch, Rectangle)]
    return [
        (to_hex(bar.get_edgecolor()), round(bar.get_x() + bar.get_width() / 2, 6), bar.get_height()) for bar in patches
    ]


def test_one_dataset_is_drawn_in_numbers(tmp_path: Path) -> None:
    """Two panels of bars for what is counted by episode, one of bars for discrete actions."""
    figure = drawn(record(tmp_path / "pong", [[(0, 1.0)], [(1, 1.0)], [(1, 1.0), (1, 2.0)]]))
    assert titles(figure) == ["return", "length", "action"]
    assert legend(figure) == ["pong: 3 episodes, 7 steps"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["episodes", "episodes", "actions"]
    assert bars(figure, 0) == [(COLOURS[0], 1, 2), (COLOURS[0], 2, 0), (COLOURS[0], 3, 1)]
    assert bars(figure, 2) == [(COLOURS[0], 0, 1), (COLOURS[0], 1, 3)]


def test_several_datasets_are_drawn_in_percent(tmp_path: Path) -> None:
    """Side by side in each bin, each of its own total, in its own colour."""
    one, other = record_rewards(tmp_path / "one", [1], [1], [2], [2]), record_rewards(tmp_path / "other", [2])
    figure = drawn(one, other)
    assert legend(figure) == ["one: 4 episodes, 8 steps", "other: 1 episode, 2 steps"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["% of episodes", "% of episodes", "% of actions"]
    assert bars(figure, 0) == [
        (COLOURS[0], 0.8, 50),
        (COLOURS[0], 1.8, 50),
        (COLOURS[1], 1.2, 0),
        (COLOURS[1], 2.2, 100),
    ]


def test_many_bins_are_drawn_as_outlines(tmp_path: Path) -> None:
    """Their heights are the counts, without a line where nothing is."""
    play(tmp_path / "d", "Pendulum-v1", 3, max_episode_steps=50)
    figure = drawn(tmp_path / "d")
    found = plot.count({"d": rlds_kit.open(tmp_path / "d")})
    for panel, histogram in ((0, found.returns[0]), (2, found.actions[0])):
        assert isinstance(histogram, plot.Histogram)
        (outline,) = (patch for patch in figure.axes[panel].patches if isinstance(patch, StepPatch))
        values, edges, _ = outline.get_data()
        assert tuple(edges) == histogram.edges
        counts = np.array(histogram.datasets["d"].bins)
        assert np.array_equal(values, np.where(counts == 0, np.nan, counts), equal_nan=True)


def test_medians_are_marked(tmp_path: Path) -> None:
    """With a line in the dataset's colour, and the number."""
    figure = drawn(record_rewards(tmp_path / "one", [1], [2]), record_rewards(tmp_path / "other", [1234]))
    lines = [(to_hex(str(line.get_color())), np.unique(line.get_xdata())) for line in figure.axes[0].lines]
    assert lines == [(COLOURS[0], [1.5]), (COLOURS[1], [1234])]
    assert figure.axes[0].get_legend_handles_labels()[1] == ["median 1.5", "median 1,234"]
    assert not figure.axes[2].lines


def test_what_an_axis_does_not_show_is_reported(tmp_path: Path) -> None:
    """How many values, and how far they lie."""
    rewards = [*np.random.default_rng(0).normal(size=300), 2e6, -5e6, np.nan]
    figure = drawn(record_rewards(tmp_path / "d", *([reward] for reward in rewards)))
    assert figure.axes[0].get_xlabel() == "not shown: 1 below, to -5,000,000; 1 above, to 2,000,000; 1 NaN or infinite"
    assert figure.axes[1].get_xlabel() == ""


def test_returns_that_are_no_numbers_leave_an_empty_panel(tmp_path: Path) -> None:
    axes = drawn(record_rewards(tmp_path / "d", [np.nan], [np.inf])).axes[0]
    assert [text.get_text() for text in axes.texts] == ["no values"]
    assert axes.get_xlabel() == "not shown: 2 NaN or infinite"


def test_texts_are_named_at_their_bars(tmp_path: Path) -> None:
    """Shortened, and without characters that cannot be drawn."""
    figure = drawn(record_actions(tmp_path / "d", *["go\n"] * 20, *["x" * 50] * 15, *map(str, range(12))))
    axes = figure.axes[2]
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels[:2] == ["go·", f"{'x' * 11}…{'x' * 10}"]
    assert labels[-1] == "(others)"
    widths = [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)]
    assert (widths[:2], widths[-1], axes.get_xlabel()) == ([20, 15], 4, "actions")


def test_panels_have_a_limit(tmp_path: Path) -> None:
    """What is beyond it is named below the panels."""
    action = {f"joint{number:02}": np.arange(2) for number in range(10)}
    figure = drawn(record_actions(tmp_path / "d", {**action, "raw": b""}))
    assert len(titles(figure)) == 2 + PANELS
    assert titles(figure)[-1] == "action/joint07[1]"
    assert figure._supxlabel is not None  # type: ignore[attr-defined]
    assert figure._supxlabel.get_text() == "not drawn: 4 more actions, action/raw (bytes)"  # type: ignore[attr-defined]


def test_names_are_no_formulas(tmp_path: Path) -> None:
    """Dollar signs, leading underscores and line breaks in names are drawn, not obeyed."""
    dataset = rlds_kit.open(record_actions(tmp_path / "d", {"$\\frac$": 1}, {"$\\frac$": 2}))
    figure = plot.histograms({"_$\\frac$\n": dataset})
    plot.save(figure, tmp_path / "names.png")
    assert legend(figure) == ["_$\\frac$·: 1 episode, 3 steps"]
    assert titles(figure)[-1] == "action/$\\frac$"


def test_dataset_without_episodes_is_listed(tmp_path: Path) -> None:
    """The others are drawn as if it was not there."""
    figure = drawn(record_rewards(tmp_path / "empty"), record_rewards(tmp_path / "full", [3]))
    assert legend(figure) == ["empty: 0 episodes, 0 steps", "full: 1 episode, 2 steps"]
    assert bars(figure, 0) == [(COLOURS[1], 3, 100)]
    assert bars(figure, 1) == [(COLOURS[1], 2, 100)]


def test_nothing_at_all_is_an_error(tmp_path: Path) -> None:
    """The message names the datasets."""
    with pytest.raises(plot.PlotError, match="d: expected episodes to draw"):
        drawn(record_rewards(tmp_path / "d"))


def test_more_datasets_than_colours_are_refused(tmp_path: Path) -> None:
    """Two of them would look the same. Nothing is read first."""
    dataset = rlds_kit.open(record_rewards(tmp_path / "d", [1]))
    seen: list[int] = []
    with pytest.raises(plot.PlotError, match="at most 7 datasets, as many as colours, got 8"):
        plot.histograms(dict.fromkeys("abcdefgh", dataset), progress=lambda done, _: seen.append(done))
    assert seen == []


@pytest.mark.parametrize("rewards", [[[1e99], [-1e99]], [[1e-99], [2e-99]], [[2.0**60], [2.0**60 + 256]], [[1e300]]])
def test_extreme_numbers_can_be_drawn(tmp_path: Path, rewards: list[list[float]]) -> None:
    """Very large ones, very small ones, and some that differ by little."""
    actions = [[(reward[0], reward[0])] for reward in rewards]
    plot.save(drawn(record(tmp_path / "d", actions)), tmp_path / "d.png")
    assert (tmp_path / "d.png").stat().st_size > 5_000


def test_png_has_the_size_of_the_figure(tmp_path: Path) -> None:
    """A real picture, with the number of pixels from inches and resolution, and more than one colour."""
    from matplotlib.image import imread

    figure = drawn(record_rewards(tmp_path / "d", [1], [2]))
    plot.save(figure, tmp_path / "d.png")
    data = (tmp_path / "d.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == tuple((figure.get_size_inches() * 120).astype(int))
    pixels = imread(tmp_path / "d.png")
    blue = np.array([int(COLOURS[0][at : at + 2], 16) for at in (1, 3, 5)]) / 255
    assert (np.abs(pixels[..., :3] - blue) < 0.02).all(axis=-1).sum() > 500


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF-")])
def test_other_kinds_of_files(tmp_path: Path, ending: str, start: bytes) -> None:
    """By the ending of the path."""
    plot.save(drawn(record_rewards(tmp_path / "d", [1])), tmp_path / f"d.{ending}")
    assert (tmp_path / f"d.{ending}").read_bytes().startswith(start)


def run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs code in a new interpreter."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_pyplot_is_not_touched(tmp_path: Path) -> None:
    """Nor imported: its figures and its backend belong to the caller."""
    code = (
        "import sys, rlds_kit, rlds_kit.tools.plot as plot\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plot.save(plot.histograms({'d': rlds_kit.open(sys.argv[1])}), sys.argv[2])\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = run(code, str(record_rewards(tmp_path / "d", [1])), str(tmp_path / "d.png"))
    assert (done.returncode, done.stderr) == (0, "")


def test_without_matplotlib_there_are_numbers_and_no_pictures(tmp_path: Path) -> None:
    """The error names the line that installs it, before anything is read."""
    code = (
        "import sys, rlds_kit, rlds_kit.tools.plot as plot\n"
        "sys.modules['matplotlib'] = None\n"
        "dataset = rlds_kit.open(sys.argv[1])\n"
        "print(plot.count({'d': dataset}).lengths.edges)\n"
        "try: plot.histograms({'d': dataset}, progress=print)\n"
        "except rlds_kit.MissingExtraError as error: print(isinstance(error, ImportError), error)\n"
    )
    done = run(code, str(record_rewards(tmp_path / "d", [1])))
    assert done.stdout.splitlines() == [
        "(1.5, 2.5)",
        'True matplotlib is not installed: pip install ".[plot]" in a checkout of rlds_kit',
    ]
    assert done.stderr == ""
