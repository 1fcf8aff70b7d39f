"""Histograms as data, for drawing and for other programs."""

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
      outliers: values that are NaN, infinite or extremely large.
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
      edges: of the bins, ascending, one more than bins. A bin includes its lower edge and excludes its upper one; the
        last includes both.
      is_discrete: whether each bin contains a single value, the one in its middle.
      datasets: those that have such values, by name.
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
      datasets: by name, the count of each text, and last that of all others together.
    """

    name: str
    texts: tuple[str, ...]
    datasets: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Histograms:
    """The histograms of several datasets.

    Attributes:
      datasets: by name, in the order in which they were given.
      returns: one for each path of a reward, that is for each agent.
      lengths: steps of an episode.
      actions: one for each path, or one for each element of its arrays.
      not_drawn: rewards and actions that have no histogram, each with the reason.
    """

    datasets: Mapping[str, Size]
    returns: tuple[Histogram, ...]
    lengths: Histogram
    actions: tuple[Histogram | TextHistogram, ...]
    not_drawn: tuple[str, ...]
