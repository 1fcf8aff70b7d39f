"""Alignments: there and back without loss, against the table, in every mode."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.transformations.alignment import AlignmentType, to_alignment
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    taken,
    to_numpy,
    to_tensors,
)

ACTED = ("action", "reward", "discount")
LATER = {AlignmentType.SAR: (), AlignmentType.RSA: ("reward", "discount"), AlignmentType.ARS: ACTED}
alignments = st.sampled_from(list(LATER))


def expected_alignment(steps: Steps, alignment: AlignmentType) -> Steps:
    """The steps of SAR in another alignment: one row later, after a row of zeros, what belongs to the next step."""
    moved = dict(steps)
    for field in LATER[alignment]:
        if field in steps:
            moved[field] = np.zeros_like(steps[field])
            for row in range(1, len(steps[field])):
                moved[field][row] = steps[field][row - 1]
    return moved


def only_defined(steps: Steps) -> Steps:
    """The steps with zeros in undefined rows."""
    rows = taken(steps)
    return {
        field: np.where(rows.reshape(-1, *[1] * (value.ndim - 1)), value, 0) if field in ACTED else value
        for field, value in steps.items()
    }


@given(episode_steps(min_length=0, optional=("discount", "reward", "action")), alignments)
def test_equals_the_table(steps: Steps, alignment: AlignmentType) -> None:
    """Each alignment has the values in its row of the table."""
    assert_same(to_numpy(to_alignment(to_tensors(steps), alignment)), expected_alignment(steps, alignment))


@given(episode_steps(min_length=0), alignments)
def test_there_and_back(steps: Steps, alignment: AlignmentType) -> None:
    """The way back gives every defined value bit for bit."""
    there = to_alignment(to_tensors(steps), alignment)
    back = to_numpy(to_alignment(there, AlignmentType.SAR, source=alignment))
    assert_same(only_defined(back), only_defined(steps))


@given(episode_steps(), alignments, alignments)
def test_any_way_leads_there(steps: Steps, first: AlignmentType, second: AlignmentType) -> None:
    """From one alignment to another is the same as by way of SAR."""
    dense = to_tensors(only_defined(steps))
    direct = to_alignment(to_alignment(dense, first), second, source=first)
    assert_same(to_numpy(direct), to_numpy(to_alignment(dense, second)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("alignment", [AlignmentType.RSA, AlignmentType.ARS])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_every_mode(mode: str, alignment: AlignmentType, length: int) -> None:
    """Dense or a dataset, eager or in a graph, the alignment is the same."""
    steps = make_steps(length, observation="nested")
    assert_same(run(lambda dense: to_alignment(dense, alignment), steps, mode), expected_alignment(steps, alignment))


def test_undefined_rows_move_along() -> None:
    """What is undefined before a gap stands after it, where the observation is one that no recorded action led to."""
    steps = make_steps(4, step_index=[0, 1, 5, 6])
    actual = to_alignment(to_tensors(steps), AlignmentType.ARS)
    assert (actual["reward"].numpy() == 0).tolist() == [True, False, True, False]


def test_field_that_names_the_alignment() -> None:
    """Steps with a field `alignment` have the new value afterwards."""
    steps = make_steps(3) | {"alignment": np.full(3, AlignmentType.SAR.value, np.int32)}
    actual = to_alignment(to_tensors(steps), AlignmentType.RSA)["alignment"]
    assert actual.numpy().tolist() == [AlignmentType.RSA.value] * 3
    assert actual.dtype == np.int32


@pytest.mark.parametrize(
    ("alignment", "source"), [(AlignmentType.UNKNOWN, AlignmentType.SAR), (AlignmentType.SAR, AlignmentType.UNKNOWN)]
)
def test_unknown_alignment(alignment: Any, source: Any) -> None:
    """Nothing can be moved to or from an alignment that is not known."""
    with pytest.raises(ValueError, match=r"expected an alignment SAR, ARS or RSA, got AlignmentType\.UNKNOWN"):
        to_alignment(to_tensors(make_steps(3)), alignment, source)
