"""OCAtari's functions through the adapter: the boxes of NumPy 1, one episode at a time, errors that help."""

import hashlib
import sys
from typing import Final

import gymnasium
import numpy as np
import pytest

from rlds_kit.base.errors import RldsKitError
from rlds_kit.shaping.objects import Box, ContactDetector, OCAtariObjects
from tests.shaping.objects.games import played

NUMPY_1: Final = {
    "BeamRider": ("1f61d02913ab21da", "0fe70ee2415f5bcc"),
    "Breakout": ("f8664cdccfe29735", "84a8b0212b6c2e1c"),
    "Kangaroo": ("fd43674a44cfd5c0", "e2e3a56d0fd1a53a"),
    "MontezumaRevenge": ("504adf83bc63b7fa", "f38157f8496341a2"),
    "MsPacman": ("56406f0f71c5cde8", "28a55b2f797d7266"),
    "Pong": ("42d22832a5ba993c", "1557064363f13b43"),
    "Qbert": ("871c4b5bb77af24d", "b98c497be5affd24"),
    "Riverraid": ("171798767d5b24d5", "849e8bae8884bc8b"),
    "Seaquest": ("baac315b0129de6c", "c06c8adf4e3572d0"),
    "Skiing": ("7935a79f5c03019e", "cb3afe86b08ecc5f"),
    "SpaceInvaders": ("603c9ce1acdfd266", "5b45ec425c78b809"),
    "Tennis": ("433926843413c439", "14755f920e1c5b2d"),
}
"""The start of the SHA-256 of 3,200 frames of memory, and of the boxes that OCAtari 2.2.1 finds there with uint8 and
NumPy 1.26.4 (ale-py 0.12.1)."""


@pytest.mark.thorough
@pytest.mark.parametrize("game", sorted(NUMPY_1))
def test_boxes_are_those_of_numpy_1(game: str) -> None:
    rams, first = played(game, 3200)
    digest = hashlib.sha256()
    with OCAtariObjects(game) as extractor:
        for ram, begins in zip(rams, first, strict=True):
            if begins:
                extractor.reset()
            digest.update(repr([tuple(box) for box in extractor.objects(ram)]).encode())
    assert (hashlib.sha256(rams.tobytes()).hexdigest()[:16], digest.hexdigest()[:16]) == NUMPY_1[game]


@pytest.mark.thorough
def test_breakout_s_contacts_are_seen_in_every_frame_only() -> None:
    """Recall 1.0 per emulated frame; about half once for four frames, as an agent sees the game.

    The truth is the ball's turn near the paddle.
    """
    gymnasium.register_envs(__import__("ale_py"))
    env = gymnasium.make("ALE/Breakout-v5", frameskip=1, repeat_action_probability=0.0, obs_type="ram")
    every, skipping = ContactDetector({"Ball"}), ContactDetector({"Ball"})
    truth, seen, seldom = _bounces(env, every, skipping, 3000)
    assert len(truth) >= 15
    assert all(any(abs(turn - contact) <= 6 for contact in seen) for turn in truth)
    assert all(any(abs(turn - contact) <= 6 for turn in truth) for contact in seen)
    found = sum(any(abs(turn - contact) <= 6 for contact in seldom) for turn in truth)
    assert 0.25 < found / len(truth) < 0.75


def _bounces(
    env: gymnasium.Env[object, int], every: ContactDetector, skipping: ContactDetector, frames: int
) -> tuple[list[int], list[int], list[int]]:
    """The frames where the ball turns, and those of contacts of two detectors; the paddle follows the ball."""
    truth: list[int] = []
    seen: list[int] = []
    seldom: list[int] = []
    with OCAtariObjects("Breakout") as extractor:
        is_over, action, heights = True, 0, list[int]()
        for frame in range(frames):
            if is_over:
                ram, _ = env.reset(seed=frame)
                for each in (extractor, every, skipping):
                    each.reset()
                heights.clear()
                is_over = False
            else:
                ram, _, terminated, truncated, _ = env.step(action)
                is_over = terminated or truncated
            boxes = extractor.objects(np.asarray(ram))
            ball = next((box for box in boxes if box.category == "Ball"), None)
            if frame % 4 == 0:
                action = _followed(ball, next(box for box in boxes if box.category == "Player"))
            seen += [frame] * bool(every.update(boxes))
            seldom += [frame] * bool(frame % 4 == 3 and skipping.update(boxes))
            heights = [*heights[-2:], ball.y] if ball else []
            if len(heights) == 3 and heights[1] > 170 and heights[1] > max(heights[0], heights[2]):
                truth.append(frame)
    return truth, seen, seldom


def _followed(ball: Box | None, paddle: Box) -> int:
    """Fire without a ball; else towards it: 2 is right, 3 left."""
    if ball is None:
        return 1
    ahead = ball.x + 1 - (paddle.x + paddle.width / 2)
    return 2 if ahead > 2 else 3 if ahead < -2 else 0


def test_one_instance_where_modules_have_global_state() -> None:
    with OCAtariObjects("Riverraid"), pytest.raises(RldsKitError, match=r"Riverraid.*one OCAtariObjects"):
        OCAtariObjects("Riverraid")
    with OCAtariObjects("Riverraid"), OCAtariObjects("Pong"), OCAtariObjects("Pong"):
        pass


def test_unknown_games_and_other_memory_are_refused() -> None:
    with pytest.raises(ValueError, match="game that OCAtari knows, got 'Chess'"):
        OCAtariObjects("Chess")
    with OCAtariObjects("Pong") as extractor, pytest.raises(ValueError, match=r"uint8 \[128\], got int64 \(128,\)"):
        extractor.objects(np.zeros(128, np.int64))


def test_without_ocatari_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ocatari.ram.extract_ram_info", None)
    with pytest.raises(ImportError, match=r"pip install --no-deps ocatari==2\.2\.1"):
        OCAtariObjects("Pong")
