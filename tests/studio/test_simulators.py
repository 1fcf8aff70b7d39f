"""Simulators that are large, or need other versions than this package: tested where they are installed."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from tests.studio.play.server import playing, pressed, run, serving
from tests.studio.player import save


def need(module: str, hint: str) -> None:
    """Skips a test if a simulator is not installed; only workers import it."""
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed; {hint}")


def test_r25_nethack_is_played_as_text_and_recorded(tmp_path: Path) -> None:
    """Its picture is text; the recording has its numeric observations."""
    need("nle", "it wants another Gymnasium than ours: pip install --no-deps nle")
    with serving({"s": pressed("nle:NetHackScore-v0", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                for step, key in enumerate(("ArrowLeft", "ArrowRight", "Digit3"), start=1):
                    await client.press(key)
                    await client.frame_of(step)
                assert (await save(client))["steps"] == 3
                assert all("@" in data.decode() for data in client.payloads[:4])

        run(play)
    episode = rlds_kit.open(tmp_path).episodes[0]
    steps = list(episode.steps)
    assert [int(step["action"]) for step in steps[:-1]] == [0, 2, 3]
    assert all((np.asarray(step["observation"]["chars"]) == ord("@")).any() for step in steps)


def test_r25_an_arm_of_robosuite_is_moved_by_seven_axes(tmp_path: Path) -> None:
    """Each axis of a gamepad sets one number of the action, and the hand moves accordingly."""
    need("robosuite", "it is large, and draws with OpenGL: pip install robosuite; MUJOCO_GL=egl")
    held = {"Axis0": 0.5, "Axis1": 0.25, "Axis6": 1.0}
    with serving({"s": pressed("tests.studio.robosuite_lift:rlds_kit_tests/Lift-v0", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                for step in range(1, 5):
                    await client.send("keys", held=held)
                    await client.frame_of(step)
                    await client.send("keys", held={})
                assert (await save(client))["steps"] == 4

        run(play)
    steps = list(rlds_kit.open(tmp_path).episodes[0].steps)
    np.testing.assert_array_equal(steps[0]["action"], np.array([0.5, -0.25, 0, 0, 0, 0, 1], np.float32))
    moved = steps[-1]["observation"]["hand"] - steps[0]["observation"]["hand"]
    assert moved[0] > 0 > moved[1]
    assert len({step["observation"]["picture"].tobytes() for step in steps}) > 1
