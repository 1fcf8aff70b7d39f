"""The alignment that a step names."""

import tensorflow as tf

from rlds_kit.transformations import AlignmentType, add_alignment_to_step


def test_values_are_those_of_rlds() -> None:
    """The numbers are in datasets, so they never change."""
    assert {kind.name: kind.value for kind in AlignmentType} == {"UNKNOWN": 1, "SAR": 2, "ARS": 3, "RSA": 4}


def test_step_is_copied() -> None:
    """The given step stays as it was."""
    step = {"reward": 1.0}
    assert add_alignment_to_step(step, AlignmentType.ARS) == {"reward": 1.0, "alignment": 3}
    assert step == {"reward": 1.0}


def test_it_maps_over_a_dataset() -> None:
    """In a pipeline the number becomes a field of every step, and replaces an older one."""
    steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0], "alignment": [1, 1]})
    aligned = steps.map(lambda step: add_alignment_to_step(step, AlignmentType.RSA))
    assert [int(step["alignment"]) for step in aligned] == [4, 4]
