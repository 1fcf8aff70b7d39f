"""The meaning of the flags of exported steps for the last one."""

from typing import Any

import numpy as np
import pytest

from rlds_kit.convert.last_steps import Flags, read_flags


def flags_of(valid: list[bool], **columns: Any) -> Flags:
    """Of an episode whose steps have `observation_valid`."""
    steps = np.arange(len(valid))
    last = steps == len(valid) - 1
    return read_flags({"observation_valid": np.array(valid), "is_last": last, **columns}, len(valid))


@pytest.mark.parametrize(
    ("valid", "has_validity", "lacks_observation"),
    [
        ([True, True, True], True, False),
        ([True, True, False], True, True),
        ([True, False], True, True),
        ([True], True, False),
        # A field of that name with other values is the author's own field, and is converted unchanged.
        ([True, False, True], False, False),
        ([False, True], False, False),
        ([False, False], False, False),
        ([False], False, False),
    ],
)
def test_only_the_last_of_several_steps_may_lack_its_observation(
    valid: list[bool], has_validity: bool, lacks_observation: bool
) -> None:
    """An episode of one step has an observation, or nothing at all."""
    flags = flags_of(valid)
    assert (flags.has_validity, flags.lacks_observation) == (has_validity, lacks_observation)


def test_without_the_field_every_observation_is_there() -> None:
    """As in data of other programs."""
    flags = read_flags({"is_last": np.array([False, True])}, 2)
    assert (flags.has_validity, flags.lacks_observation, flags.is_last, flags.is_terminal) == (
        False,
        False,
        True,
        None,
    )
