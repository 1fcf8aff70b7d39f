"""Labels and losses."""

import numpy as np
import pytest

from rlds_kit.shaping.credit import Credit, aggregate_labels, aggregate_loss, per_step_labels, per_step_loss

FEATURES = [np.array([1.0, 0.0]), np.array([0.0, 2.0])]
WEIGHTS = np.array([0.5, -1.0])


def test_losses_of_a_linear_model_are_those_of_its_labels() -> None:
    """Per step: the sum over labels; aggregate: one label."""
    credit = Credit(0, (0.25, 0.75))
    predictions = [float(each @ WEIGHTS) for each in FEATURES]
    labels = per_step_labels(FEATURES, credit.weights, 1.0)
    expected = sum(each.importance * (each.target - each.features @ WEIGHTS) ** 2 for each in labels)
    assert per_step_loss(predictions, credit, 1.0) == pytest.approx(expected)
    (label,) = aggregate_labels(FEATURES, credit.weights, 1.0)
    assert aggregate_loss(predictions, credit, 1.0) == pytest.approx((1.0 - label.features @ WEIGHTS) ** 2)


def test_losses_differ_where_steps_differ() -> None:
    """The aggregate is satisfied by a sum, the other only by each step."""
    credit = Credit(0, (0.5, 0.5))
    assert aggregate_loss([0.0, 2.0], credit, 1.0) == 0
    assert per_step_loss([0.0, 2.0], credit, 1.0) == 1


def test_labels_share_no_memory_with_each_other() -> None:
    """The features of a step are not changed by an aggregate."""
    aggregate_labels(FEATURES, (0.5, 0.5), 1.0)
    assert FEATURES[0].tolist() == [1.0, 0.0]
