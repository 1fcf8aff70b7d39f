"""Histograms as data: what is drawn, and what a program may read."""

from collections.abc import Mapping
from dataclasses import dataclass

from rlds_kit.tools.upkeep.statistics import Summary


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a dataset: its episodes and steps."""

    episodes: int
    steps: int


@dataclass(frozen=True, slots=True)
class Counts:
    """The distribution of one dataset's values.

    Attributes:
      bins: values in each bin.
      below: values below the first edge.
      above: values above the last edge.
      outliers: values that are NaN or infinite, or so large that they may as well be.
      summary: of all values that are no outliers; None if there are none, and for actions.
    """

    bins: tuple[int, ...]
    below: int = 0
    above: int = 0
    outliers: int = 0
    summary: Summary | None = None

    @property
    def total(self) -> int:
        """The number of all values."""
        return sum(self.bins) + self.below + self.above + self.outliers


@dataclass(frozen=True, slots=True)
class Histogram:
    """Numbers of one kind, of several datasets, in the same bins.

    Attributes:
      name: "return", "length", "action/gripper[0]".
      edges: of the bins, ascending, one more than bins. A bin has its lower edge and not its upper one; the last has
        both.
      is_discrete: whether each bin stands for one value, the one in its middle.
      datasets: by name; those that have such values.
    """

    name: str
    edges: tuple[float, ...]
    is_discrete: bool
    datasets: Mapping[str, Counts]


@dataclass(frozen=True, slots=True)
class TextHistogram:
    """A histogram of texts: how often the most frequent ones occur.

    Attributes:
      name: "action/command".
      texts: the most frequent ones of all datasets; of a long text its beginning.
      datasets: by name, for each text how often it occurs, and last all others together.
    """

    name: str
    texts: tuple[str, ...]
    datasets: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Histograms:
    """The histograms of several datasets.

    Attributes:
      datasets: by name, in the order in which they were given.
      returns: one for each agent: for each path at which a reward is.
      lengths: steps of an episode.
      actions: for each path one, or one for each element of the arrays there.
      not_drawn: rewards and actions that have no histogram, each with the reason.
    """

    datasets: Mapping[str, Size]
    returns: tuple[Histogram, ...]
    lengths: Histogram
    actions: tuple[Histogram | TextHistogram, ...]
    not_drawn: tuple[str, ...]
