"""A reward model of 200 simulated comparisons ranks segments of other episodes as the truth does."""

from pathlib import Path

import pytest

from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping import rewards as rw

preferences = pytest.importorskip("benchmarks.preferences", reason="a wheel holds no benchmarks")


@pytest.mark.thorough
def test_a_model_of_200_comparisons_ranks_segments(tmp_path: Path) -> None:
    """Spearman above 0.8 on segments of other episodes; with random answers below 0.5."""
    known, other = preferences.record(tmp_path / "a", 60, 0), preferences.record(tmp_path / "b", 20, 1000)
    segments = pf.cut(other.episodes, preferences.LENGTH)
    training = rw.Training(epochs=30, members=1)
    model = preferences.train(known, 0, training=training)
    assert preferences.spearman(model, other, segments) > 0.8
    control = preferences.train(known, 0, is_random=True, training=training)
    assert abs(preferences.spearman(control, other, segments)) < 0.5


@pytest.mark.slow
def test_an_agent_trained_by_a_model_alone_solves_cartpole(tmp_path: Path) -> None:
    """A mean return of 475 over 100 episodes; minutes."""
    known = preferences.record(tmp_path / "a", preferences.EPISODES, 0)
    model = preferences.train(known, 0)
    assert preferences.play(model, 0, 100_000) >= 475
