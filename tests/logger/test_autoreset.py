"""Which environments the next step resets."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.logger.autoreset import Autoresets, flags_of, over, over_in_python
from rlds_kit.storage.array_form import native

ALL, NONE = np.ones(2, np.bool_), np.zeros(2, np.bool_)


def test_a_reset_is_due_after_an_end() -> None:
    """Once, even if the step that resets returns the flags of an end."""
    autoresets = Autoresets(AutoresetMode.NEXT_STEP, 2)
    autoresets.reset([0, 1], [3, None])
    for _ in range(2):
        autoresets.step()
        autoresets.ended(ALL & [True, False], NONE)
        due = autoresets.due
        autoresets.step()
        autoresets.ended(ALL & [True, False], NONE)
        assert due is not None
        assert due.tolist() == [True, False]
        assert autoresets.due is None
    chain = autoresets.counters.provenance(0)["reset_chain"]
    assert (chain["resets"], chain["steps"]) == (2, 2)


def test_only_with_the_mode() -> None:
    """In the other modes, a step resets at once or never."""
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        autoresets = Autoresets(mode, 2)
        autoresets.ended(ALL, ALL)
        assert autoresets.due is None


def test_a_reset_by_the_caller_or_a_lost_result_is_not_repeated() -> None:
    """What was due is not due any more."""
    autoresets = Autoresets(AutoresetMode.NEXT_STEP, 2)
    autoresets.ended(ALL, NONE)
    autoresets.reset([1], [None, None])
    assert _due(autoresets) == [True, False]
    autoresets.reset([0], [None, None])
    assert _due(autoresets) is None
    autoresets.ended(ALL, NONE)
    autoresets.forget()
    assert _due(autoresets) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=20), st.booleans())
def test_both_find_the_same_ends(lanes: list[tuple[bool, bool, bool]], is_reset: bool) -> None:
    """Where an environment has terminated, or was truncated, and was not reset."""
    terminated, truncated, reset = (np.array([lane[at] for lane in lanes], np.bool_) for at in range(3))
    resetting = reset if is_reset else None
    found = [each(terminated, truncated, resetting) for each in (over, over_in_python)]
    flags = [(one or other) and not (is_reset and due) for one, other, due in lanes]
    assert [None if each is None else each.tolist() for each in found] == [flags if any(flags) else None] * 2


@pytest.mark.skipif(native is None, reason="needs the C extension")
@pytest.mark.parametrize("wrong", [[True, True], ALL.astype(np.int8), np.ones(3, np.bool_), np.ones(4, np.bool_)[::2]])
def test_ends_of_other_flags_are_refused(wrong: Any) -> None:
    """With an error; None only as what is reset."""
    for given_flags in ((wrong, ALL, None), (ALL, wrong, None), (ALL, ALL, wrong), (None, ALL, ALL), (ALL, None, ALL)):
        with pytest.raises(TypeError):
            over(*given_flags)


def test_flags_apart_in_memory_are_put_together() -> None:
    """As columns of other arrays are."""
    apart = np.array([[True, False], [False, False], [True, True]])[:, 0]
    found = flags_of("terminated", apart, 3)
    assert found.flags.c_contiguous
    assert found.tolist() == [True, False, True]


def _due(autoresets: Autoresets) -> list[bool] | None:
    return None if autoresets.due is None else autoresets.due.tolist()
