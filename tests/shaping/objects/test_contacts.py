"""Contacts: overlaps, onsets, lost players."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.shaping.objects import Box, Contact, ContactDetector

PLAYER = Box(0, "Player", 10, 10, 4, 4)
SIDES = st.integers(0, 12)
BOXES = st.builds(Box, st.integers(1, 3), st.sampled_from(["Ball", "Tree"]), SIDES, SIDES, st.integers(1, 4), SIDES)


def _ball(x: int, slot: int = 1, category: str = "Ball") -> Box:
    return Box(slot, category, x, 10, 2, 2)


def test_boxes_overlap_by_a_pixel() -> None:
    """Boxes side by side do not; a margin is added on every side of the player."""
    assert [PLAYER.overlaps(_ball(x)) for x in (7, 8, 9, 13, 14)] == [False, False, True, True, False]
    assert [PLAYER.overlaps(_ball(x), margin=2) for x in (6, 7, 15, 16)] == [False, True, True, False]


@given(BOXES, BOXES, st.integers(0, 3))
def test_overlap_is_that_of_pixels(first: Box, second: Box, margin: int) -> None:
    def pixels(box: Box, more: int = 0) -> set[tuple[int, int]]:
        across, down = range(box.x - more, box.x + box.width + more), range(box.y - more, box.y + box.height + more)
        return {(x, y) for x in across for y in down}

    has_area = first.height > 0 and second.height > 0
    if has_area:
        assert first.overlaps(second, margin) == bool(pixels(first, margin) & pixels(second))


def test_a_contact_counts_once_until_it_ends() -> None:
    """Objects are distinguished by slot; an object that returns counts again."""
    detector = ContactDetector({"Ball"})
    frames = [[_ball(20)], [_ball(11)], [_ball(12)], [_ball(11), _ball(12, slot=2)], [_ball(20)], [_ball(11)]]
    found = [detector.update([PLAYER, *frame]) for frame in frames]
    assert found == [[], [Contact(1, "Ball")], [], [Contact(2, "Ball")], [], [Contact(1, "Ball")]]


def test_every_frame_counts_if_requested() -> None:
    detector = ContactDetector({"Ball"}, mode="every_frame")
    assert [len(detector.update([PLAYER, _ball(11)])) for _ in range(3)] == [1, 1, 1]


def test_other_categories_and_frames_without_a_player() -> None:
    """The player's own missile never counts; without a player a contact ends."""
    detector = ContactDetector({"Ball"})
    assert detector.update([PLAYER, _ball(11, category="PlayerMissile")]) == []
    assert len(detector.update([PLAYER, _ball(11)])) == 1
    assert detector.update([_ball(11)]) == []
    assert len(detector.update([PLAYER, _ball(11)])) == 1
    detector.reset()
    assert len(detector.update([PLAYER, _ball(11)])) == 1


def test_a_misspelt_mode_is_no_onset() -> None:
    with pytest.raises(ValueError, match="expected mode onset or every_frame"):
        ContactDetector({"Ball"}, mode="everyframe")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="a margin from 0 on"):
        ContactDetector({"Ball"}, margin=-1)
