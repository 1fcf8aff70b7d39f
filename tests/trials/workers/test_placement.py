"""What environments and actors need of machines."""

from typing import Any

import pytest

from rlds_kit.trials import Placement, Processes


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"cpus": -1}, "quantities from 0 on"),
        ({"resources": {"robot": -0.5}}, "quantities from 0 on"),
        ({"resources": {"CPU": 2}}, "in cpus and gpus"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Placement(**wrong)


def test_placements_are_compared_by_what_they_need() -> None:
    """A worker is used again for what needs the same."""
    assert Placement(resources={"robot": 1}) == Placement(resources={"robot": 1.0})
    assert Placement(resources={"robot": 1}) != Placement()
    assert str(Placement(cpus=0)) == "nothing"
    assert not Processes().has_places
