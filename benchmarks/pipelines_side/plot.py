"""Draws the memory of an epoch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_COLORS: Final = ("#4269d0", "#efb118", "#ff725c")


def memory(results: Mapping[str, Mapping[str, list[dict[str, Any]]]], path: Path) -> None:
    """One pane an input, one curve a system: share of the epoch that was delivered, and resident memory.

    Args:
      results: by title and system; drawn is the first round.
      path: of the PNG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panes = plt.subplots(1, len(results), figsize=(4 * len(results), 3.6), layout="constrained", squeeze=False)
    for pane, (title, systems) in zip(panes[0], results.items(), strict=True):
        for (name, rounds), color in zip(systems.items(), _COLORS, strict=True):
            delivered, mib = zip(*rounds[0]["samples"], strict=True)
            pane.plot([100 * one / rounds[0]["elements"] for one in delivered], mib, color=color, label=name)
        pane.set_ylim(bottom=0)
        pane.set_title(title.partition(", ")[2], loc="left")
        pane.set_xlabel("% of the epoch")
        pane.spines[["top", "right"]].set_visible(False)
        pane.grid(axis="y", alpha=0.3)
        pane.legend(frameon=False, fontsize="x-small")
    panes[0][0].set_ylabel("resident MiB")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
