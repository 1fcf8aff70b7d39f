"""Simulators that have wheels, played and recorded."""

from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from tests.studio.play.server import playing, pressed, run, serving
from tests.studio.player import save

pytest.importorskip("nle", reason="NetHack has no wheel for this system")


def test_r25_nethack_is_played_as_text_and_recorded(tmp_path: Path) -> None:
    """Its picture is text; what is recorded is what it says in numbers."""
    with serving({"s": pressed("nle:NetHackScore-v0", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                for step, key in enumerate(("ArrowLeft", "ArrowRight", "Digit3"), start=1):
                    await client.press(key)
                    await client.frame_of(step)
                assert (await save(client))["steps"] == 3
                assert all("@" in data.decode() for data in client.payloads[:4])

        run(play)
    (episode, *_) = rlds_kit.open(tmp_path).episodes
    steps = list(episode.steps)
    assert [int(step["action"]) for step in steps[:-1]] == [0, 2, 3]
    chars = [np.asarray(step["observation"]["chars"]) for step in steps]
    assert all((each == ord("@")).any() for each in chars)
