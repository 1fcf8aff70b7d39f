"""DeepMind's frames are Gymnasium's, pixel by pixel."""

from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from rlds_kit.crowd.frames import DeepMindFrames, every_frame

GAMES = ("Breakout", "MontezumaRevenge", "Pong", "Qbert", "Riverraid", "SpaceInvaders")


def _compare(game: str, steps: int, padding: str = "reset") -> int:
    """Plays the same actions in both; returns how many stacks were equal."""
    gymnasium.register_envs(ale_py)
    made: dict[str, Any] = {"frameskip": 1, "repeat_action_probability": 0.0}
    plain = gymnasium.make(f"ALE/{game}-v5", **made)
    wrapped = AtariPreprocessing(gymnasium.make(f"ALE/{game}-v5", **made), noop_max=0)
    stacked = FrameStackObservation(wrapped, 4, padding_type=padding)
    random = np.random.default_rng(0)
    frames = DeepMindFrames(padding=padding)
    compared = 0
    while compared < steps:
        seed = int(random.integers(1000))
        frames.reset(plain.reset(seed=seed)[0])
        expected, _ = stacked.reset(seed=seed)
        is_over = False
        while not is_over and compared < steps:
            assert np.array_equal(frames.stack(), expected), (game, compared)
            compared += 1
            action = int(random.integers(plain.action_space.n))  # type: ignore[attr-defined]  # Discrete
            expected, _, terminated, truncated, _ = stacked.step(action)
            is_over = terminated or truncated  # the wrapper shows something else where a skip was cut
            for _ in range(4):
                frame, _, ended, _, _ = plain.step(action)
                frames.push(frame)
                if ended:
                    break
    plain.close()
    stacked.close()
    return compared


@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_c43_stacks_are_those_of_gymnasium(padding: str) -> None:
    assert _compare("SpaceInvaders", 60, padding) == 60


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_c43_over_ten_thousand_frames_of_six_games(game: str) -> None:
    assert _compare(game, 2_500) == 2_500


def test_c43_at_any_frame_screens_are_four_apart() -> None:
    """Between two choices of an agent too: the maximum of two frames, 0, 4, 8 and 12 frames ago."""
    frames = DeepMindFrames(size=83)
    shades = [10, 50, 20, 30, 90, 60, 70]
    frames.reset(np.full((210, 160), shades[0], np.uint8))
    for shade in shades[1:]:
        frames.push(np.full((210, 160), shade, np.uint8))
    assert frames.stack()[:, 0, 0].tolist() == [10, 10, 50, 70]


def test_c42_a_policy_for_screens_acts_in_every_frame() -> None:
    """It chooses at every fourth frame, and repeats."""
    seen: list[int] = []

    def act(screens: np.ndarray) -> int:
        seen.append(int(screens[-1, 0, 0]))
        return len(seen)

    policy = every_frame(act)
    assert [policy(np.full((210, 160, 3), shade, np.uint8)) for shade in range(9)] == [1, 1, 1, 1, 2, 2, 2, 2, 3]
    assert seen == [0, 4, 8]


def test_c43_misuse_is_named() -> None:
    with pytest.raises(ValueError, match="expected one of reset, zero, got 'mirror'"):
        DeepMindFrames(padding="mirror")
    with pytest.raises(RuntimeError, match="expected reset"):
        DeepMindFrames().push(np.zeros((210, 160), np.uint8))
    with pytest.raises(RuntimeError, match="expected reset"):
        DeepMindFrames().stack()
