"""Which environments the next step resets."""

import numpy as np
from gymnasium.vector import AutoresetMode

from rlds_kit.logger.autoreset import Autoresets

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


def _due(autoresets: Autoresets) -> list[bool] | None:
    return None if autoresets.due is None else autoresets.due.tolist()
