"""Paddle and ball without the wall."""

import pytest

from rlds_kit.shaping.objects import OCAtariObjects, PaddleAndBall
from tests.shaping.objects.games import played


def test_paddle_and_ball_are_those_of_ocatari() -> None:
    pytest.importorskip("ocatari")
    rams, first = played("Breakout", 1500)
    ours, theirs = PaddleAndBall(), OCAtariObjects("Breakout")
    balls = 0
    for ram, is_first in zip(rams, first, strict=True):
        if is_first:
            ours.reset()
            theirs.reset()
        found = ours.objects(ram)
        assert found == [box for box in theirs.objects(ram) if box.category != "Block"]
        balls += len(found) - 1
    assert 100 < balls < len(rams)
