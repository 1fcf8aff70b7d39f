"""The linear probe finds what is linear in the memory."""

import numpy as np
import pytest

from rlds_kit.shaping.objects import fit_linear_probe

RNG = np.random.default_rng(3)


def test_it_recovers_places_on_other_frames() -> None:
    """Also of 60 labelled frames, fewer than bytes, if the other bytes are constant, as most are."""
    rams = np.zeros((120, 128), np.uint8)
    rams[:, 5:8] = RNG.integers(0, 200, (120, 3))
    boxes = np.stack([rams[:, 5] * 0.5 + 3, 200.0 - rams[:, 6], np.full(120, 4), np.full(120, 8)], axis=1)
    probe = fit_linear_probe(rams[:60], {"Ball": boxes[:60]})
    for ram, (x, y, width, height) in zip(rams[60:], boxes[60:], strict=True):
        (found,) = probe.objects(ram)
        assert (found.category, found.width, found.height) == ("Ball", width, height)
        assert abs(found.x - x) <= 0.6
        assert abs(found.y - y) <= 0.1


@pytest.mark.parametrize(
    ("rams", "boxes", "message"), [((5, 127), (5, 4), "127"), ((5, 128), (4, 4), r"boxes of Ball \[5, 4\]")]
)
def test_shapes_are_checked(rams: tuple[int, ...], boxes: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_linear_probe(np.zeros(rams, np.uint8), {"Ball": np.zeros(boxes)})


def test_frames_without_the_object_are_left_out() -> None:
    rams = np.zeros((2, 128), np.uint8)
    with pytest.raises(ValueError, match="leave out frames without the object"):
        fit_linear_probe(rams, {"Ball": np.full((2, 4), np.nan)})
    with pytest.raises(ValueError, match="n above 0"):
        fit_linear_probe(rams[:0], {"Ball": np.zeros((0, 4))})
