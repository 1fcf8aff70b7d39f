"""The model of comparisons."""

import numpy as np
import pytest
import torch

from rlds_kit.shaping import rewards as rw
from rlds_kit.shaping.rewards.davidson import loss


def test_loss_is_the_logarithm_of_the_closed_form() -> None:
    """Scores 2.0 and 0.5, v = 0.5: the odds are e^2, e^0.5 and 0.5 e^1.25."""
    odds = np.array([np.exp(2.0), np.exp(0.5), 0.5 * np.exp(1.25)])
    wanted = odds / odds.sum()
    assert rw.probabilities(np.array(2.0), np.array(0.5), np.log(0.5)) == pytest.approx(wanted)
    first, second, ties = (torch.tensor([each], dtype=torch.float64) for each in (2.0, 0.5, np.log(0.5)))
    for outcome in range(3):
        found = loss(first, second, torch.tensor([outcome]), ties)
        assert float(found) == pytest.approx(-np.log(wanted[outcome]))


def test_without_ties_it_is_bradley_and_terry() -> None:
    """The probability of the first is a sigmoid of the difference; far scores do not overflow."""
    given = rw.probabilities(np.array([1.5, 2000.0]), np.array([0.5, 0.0]))[:, 0]
    assert given == pytest.approx([1 / (1 + np.exp(-1)), 1])
    found = loss(torch.tensor([1.5]), torch.tensor([0.5]), torch.tensor([1]), None)
    assert float(found) == pytest.approx(np.log(1 + np.exp(1)))
