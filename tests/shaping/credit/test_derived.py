"""Credit as a layer."""

from pathlib import Path

import numpy as np
import pytest

from rlds_kit.shaping.credit import (
    Assigner,
    GammaDelay,
    NextStep,
    UniformWindow,
    drop_credit,
    identity,
    read_credit,
    step_credit,
    write_credit,
)
from rlds_kit.shaping.feedback import FeedbackStream, read_feedback, write_feedback
from tests.shaping.streams import press, recorded, regular_clock

STREAM = FeedbackStream(
    [press(0, 450, marks=5), press(1, 460, -1.0, marks=5), press(2, 900, 2.0, marks=9)], regular_clock(8)
)


def test_credit_of_steps_is_the_sum_over_events() -> None:
    found = step_credit(STREAM, NextStep())
    assert found.h.tolist() == [0, 0, 0, 0, 0, 0, 0, 2.0]
    assert found.weight.tolist() == [0, 0, 0, 0, 2.0, 0, 0, 1.0]
    assert found.n_events.tolist() == [0, 0, 0, 0, 2, 0, 0, 1]


@pytest.mark.parametrize("assigner", [NextStep(lag=1), UniformWindow(), GammaDelay()], ids=repr)
def test_credit_is_read_as_it_was_derived(tmp_path: Path, assigner: Assigner) -> None:
    """Bit for bit, and as rewards of the amended dataset."""
    dataset = recorded(tmp_path, 8, 3)
    episode = dataset.episodes[0]
    write_feedback(dataset, episode.id, STREAM, "host")
    name = write_credit(dataset.refresh(), assigner)
    assert name == f"credit-{identity(assigner)}"
    read, expected = read_credit(dataset.refresh(), episode, assigner), step_credit(STREAM, assigner)
    for stored, derived in zip((read.h, read.weight, read.n_events), _arrays(expected), strict=True):
        assert stored.tobytes() == derived.tobytes()
    amended = dataset.refresh().as_amended(name).episodes
    assert amended[0]["reward"][:-1].tolist() == expected.h.tolist()
    assert amended[1]["reward"].tolist() == dataset.episodes[1]["reward"].tolist()


def _arrays(credit: object) -> list[np.ndarray]:
    return [getattr(credit, name) for name in ("h", "weight", "n_events")]


def test_credit_that_was_dropped_can_be_derived_again(tmp_path: Path) -> None:
    """The feedback and the credit of other assigners stay."""
    dataset = recorded(tmp_path, 8)
    episode = dataset.episodes[0]
    write_feedback(dataset, episode.id, STREAM, "host")
    for assigner in (NextStep(), UniformWindow()):
        write_credit(dataset.refresh(), assigner)
    before = read_credit(dataset.refresh(), episode, NextStep())
    assert drop_credit(dataset.refresh(), NextStep()) == 4
    with pytest.raises(KeyError, match="write_credit derives it"):
        read_credit(dataset.refresh(), episode, NextStep())
    assert read_feedback(dataset.refresh(), episode) == STREAM
    assert read_credit(dataset.refresh(), episode, UniformWindow()).n_events.any()
    write_credit(dataset.refresh(), NextStep())
    assert read_credit(dataset.refresh(), episode, NextStep()).h.tobytes() == before.h.tobytes()


def test_feedback_of_a_longer_episode_is_an_error(tmp_path: Path) -> None:
    dataset = recorded(tmp_path, 7)
    write_feedback(dataset, dataset.episodes[0].id, STREAM, "host")
    with pytest.raises(ValueError, match="expected feedback about at most 7 steps with actions, got 8"):
        write_credit(dataset.refresh(), NextStep())
