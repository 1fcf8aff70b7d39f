"""`count`: histograms of what was recorded, against NumPy's of what happened."""

from collections.abc import Sequence
from pathlib import Path

import ale_py
import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.tools import plot
from rlds_kit.tools.plot import Counts, Histogram, Histograms, TextHistogram
from rlds_kit.tools.plot.counting import TEXTS
from rlds_kit.tools.upkeep.statistics import summary
from tests.tools.plot.recording import play, record_actions, record_rewards


def counted(*directories: Path, bins: int = plot.BINS) -> Histograms:
    """Histograms of datasets, which are named after their directories."""
    return plot.count({path.name: rlds_kit.open(path) for path in directories}, bins=bins)


def assert_counts(histogram: Histogram, dataset: str, values: Sequence[float]) -> None:
    """NumPy counts the same, and nothing is beyond the edges."""
    expected, edges = np.histogram(values, histogram.edges)
    assert histogram.datasets[dataset].bins == tuple(expected)
    assert histogram.datasets[dataset].total == len(values) == expected.sum()
    assert histogram.edges == tuple(edges)


def test_cartpole_is_counted_as_it_was_played(tmp_path: Path) -> None:
    """Returns, lengths and discrete actions; the medians too."""
    returns, lengths, actions = play(tmp_path / "d", "CartPole-v1", 30)
    found = counted(tmp_path / "d", bins=10)
    (of_returns,), (of_actions,) = found.returns, found.actions
    assert isinstance(of_actions, Histogram)
    assert_counts(of_returns, "d", returns)
    assert_counts(found.lengths, "d", lengths)
    assert_counts(of_actions, "d", actions)
    assert of_returns.datasets["d"].summary == summary(returns)
    assert (of_actions.edges, of_actions.is_discrete) == ((-0.5, 0.5, 1.5), True)
    assert found.datasets["d"] == plot.Size(episodes=30, steps=sum(lengths))


def test_pendulum_is_counted_as_it_was_played(tmp_path: Path) -> None:
    """Returns and actions that are no whole numbers, and lengths that never change."""
    returns, _, actions = play(tmp_path / "d", "Pendulum-v1", 5, max_episode_steps=60)
    found = counted(tmp_path / "d")
    (of_returns,), (of_actions,) = found.returns, found.actions
    assert isinstance(of_actions, Histogram)
    assert_counts(of_actions, "d", [action.item() for action in actions])
    assert of_actions.name == "action[0]"
    assert of_returns.datasets["d"].total == len(returns)
    assert of_returns.edges == pytest.approx(np.histogram_bin_edges(returns, plot.BINS))
    assert (found.lengths.edges, found.lengths.datasets["d"].bins) == ((60.5, 61.5), (5,))


def test_atari_is_counted_as_it_was_played(tmp_path: Path) -> None:
    """Scores in fives and eighteen actions."""
    gymnasium.register_envs(ale_py)
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    returns, lengths, actions = play(
        tmp_path / "d", "ALE/SpaceInvaders-v5", 4, max_episode_steps=150, full_action_space=True
    )
    found = counted(tmp_path / "d")
    (of_returns,), (of_actions,) = found.returns, found.actions
    assert isinstance(of_actions, Histogram)
    assert_counts(of_returns, "d", returns)
    assert_counts(found.lengths, "d", lengths)
    assert_counts(of_actions, "d", actions)
    assert len(of_actions.edges) == 19


def test_datasets_share_bins(tmp_path: Path) -> None:
    """So that they compare, whatever their sizes and ranges."""
    one = record_rewards(tmp_path / "one", [1], [2])
    other = record_rewards(tmp_path / "other", [5])
    (returns,) = counted(one, other).returns
    assert returns.edges == (0.5, 1.5, 2.5, 3.5, 4.5, 5.5)
    assert {name: counts.bins for name, counts in returns.datasets.items()} == {
        "one": (1, 1, 0, 0, 0),
        "other": (0, 0, 0, 0, 1),
    }


def test_actions_of_one_dataset_only_are_its_own(tmp_path: Path) -> None:
    """Others do not count as if they had none of them."""
    one = record_actions(tmp_path / "one", 1, 1)
    other = record_actions(tmp_path / "other", np.array([2.0]), np.array([2.0]))
    found = counted(one, other)
    assert [(each.name, list(each.datasets)) for each in found.actions] == [
        ("action", ["one"]),
        ("action[0]", ["other"]),
    ]


def test_values_beyond_the_edges_are_counted_there(tmp_path: Path) -> None:
    """Tails that would press all others into one bin, and what is no number at all."""
    rewards = [*np.random.default_rng(0).normal(size=300), 1e9, 1e9, -1e9, np.nan, np.inf, -1e300]
    (returns,) = counted(record_rewards(tmp_path / "d", *([reward] for reward in rewards))).returns
    counts = returns.datasets["d"]
    assert (counts.below, counts.above, counts.outliers, sum(counts.bins)) == (1, 2, 3, 300)
    assert counts.total == len(rewards)
    assert counts.summary is not None
    assert counts.summary.max == 1e9


def test_texts_are_counted_by_frequency(tmp_path: Path) -> None:
    """The most frequent ones of all datasets together, by their shares; then all others."""
    often = record_actions(tmp_path / "often", *["go"] * 40, *map(str, [*range(20)] * 3))
    seldom = record_actions(tmp_path / "seldom", "stop", "stop", "go")
    (texts,) = counted(often, seldom).actions
    assert isinstance(texts, TextHistogram)
    assert texts.texts[:2] == ("go", "stop")
    assert texts.datasets["often"] == (40, 0, *[3] * (TEXTS - 2), 3 * (20 - (TEXTS - 2)))
    assert texts.datasets["seldom"] == (1, 2, *[0] * (TEXTS - 2), 0)


def test_dataset_without_episodes_has_no_bins(tmp_path: Path) -> None:
    """Beside one that has some it counts nothing in theirs."""
    empty, full = record_rewards(tmp_path / "empty"), record_rewards(tmp_path / "full", [1])
    assert counted(empty).lengths.edges == ()
    assert counted(empty).returns == ()
    assert counted(empty, full).lengths.datasets["empty"] == Counts((0,))
    assert list(counted(empty, full).returns[0].datasets) == ["full"]


@pytest.mark.parametrize("bins", [0, 1, 257])
def test_number_of_bins_has_limits(bins: int) -> None:
    with pytest.raises(ValueError, match=f"expected 2 to 256, got {bins}"):
        plot.count({}, bins=bins)
