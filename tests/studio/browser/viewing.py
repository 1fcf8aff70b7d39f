"""Datasets to look at, `rlds-kit view` in a process of its own, and pages in front of it."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import ale_py
import gymnasium
import httpx
import numpy as np
from playwright.sync_api import Browser, Locator, Page, expect

from rlds_kit.logger import EpisodeWriter, GymnasiumLogger
from tests.studio.browser.conftest import DESKTOP, PATIENCE_MS, Console
from tests.studio.studio_process import PATIENCE

ABSENT: Final = "\N{EN DASH}"
"""What stands where a step has no such value."""
COMMAND: Final = "from rlds_kit.studio.command import view; view()"
STEPS: Final = 60
"""Of each episode of `record_breakout`."""
CELLS: Final = 24
"""Height and width of the cameras of `record_robot`."""


def record_breakout(directory: Path, episodes: int = 2) -> None:
    """A game: pictures, discrete actions, few rewards; every episode is cut off."""
    gymnasium.register_envs(ale_py)
    with GymnasiumLogger(gymnasium.make("ALE/Breakout-v5"), directory, record_time=True) as env:
        env.action_space.seed(0)
        for seed in range(episodes):
            env.reset(seed=seed)
            for _ in range(STEPS):
                env.step(env.action_space.sample())


def record_robot(directory: Path, episodes: int = 1) -> None:
    """Several cameras, one of them of floats, nested values, and rewards at two steps."""
    with EpisodeWriter(directory, record_time=False) as writer:
        for _ in range(episodes):
            with writer.episode(metadata={"task": "stack"}) as episode:
                episode.start(robot_observation(0))
                for step in range(1, 30):
                    episode.step(
                        action={"arm": np.arange(3, dtype=np.float32) + step, "grip": True},
                        reward={11: 0.5, 29: 1.0}.get(step, 0.0),
                        discount=1.0,
                        observation=robot_observation(step),
                        truncated=step == 29,
                    )


def robot_observation(step: int) -> dict[str, Any]:
    """What the robot of `record_robot` sees."""
    front = np.full((CELLS, CELLS, 3), (step * 8, 255 - step * 8, 7), np.uint8)
    return {
        "cameras": {
            "front": front,
            "wrist": np.full((CELLS, CELLS, 3), step, np.uint8),
            "depth": np.full((CELLS, CELLS), step / 30, np.float32),
        },
        "joints": np.linspace(0, step, 7, dtype=np.float32),
        "cloud": np.arange(6000, dtype=np.float32).reshape(2000, 3) + step,
        "goal": "put the yellow block on the blue one",
    }


def record_words(directory: Path) -> None:
    """A game of text; its first reward is None."""
    with EpisodeWriter(directory, record_time=False) as writer, writer.episode() as episode:
        episode.start("You are in a dark cave.\nA lamp is here.")
        episode.step(action="take lamp", reward=None, discount=1.0, observation="Taken.\n")
        episode.step(action="go north", reward=3.0, discount=0.0, observation="You win!\n", terminated=True)


def record_many(directory: Path, episodes: int) -> None:
    """Short episodes of different lengths; episode k has k % 7 + 2 steps and a return of k."""
    with EpisodeWriter(directory, record_time=False) as writer:
        for number in range(episodes):
            with writer.episode() as episode:
                episode.start(np.float32(0))
                actions = number % 7 + 1
                for step in range(1, actions + 1):
                    is_last = step == actions
                    reward = float(number) if is_last else 0.0
                    episode.step(action=1, reward=reward, discount=1.0, observation=np.float32(step), truncated=is_last)


@contextlib.contextmanager
def viewing(directory: Path, source: str = "ann") -> Iterator[str]:
    """Runs `rlds-kit view` and gives the link that it prints."""
    arguments = [sys.executable, "-c", COMMAND, str(directory), "--no-browser", "--source", source]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            assert link.startswith("http://127.0.0.1:"), link
            yield link
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


@contextlib.contextmanager
def looking(browser: Browser, console: Console, link: str, place: str = "", **options: Any) -> Iterator[Page]:
    """A page in a browser of its own; `place` as "#episodes", else where the link leads."""
    context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
    context.set_default_timeout(PATIENCE_MS)
    context.on("page", console.watch)
    page = context.new_page()
    page.goto(f"{link}{place}")
    try:
        yield page
    finally:
        context.close()


@contextlib.contextmanager
def replaying(
    browser: Browser, console: Console, link: str, number: int = 0, step: int = 0, **options: Any
) -> Iterator[Page]:
    """The same at a step of an episode of the dataset."""
    with httpx.Client(trust_env=False, timeout=PATIENCE, follow_redirects=True) as client:
        client.get(link).raise_for_status()
        found = client.get(urljoin(link, "/api/episodes"), params={"size": 200}).raise_for_status().json()["episodes"]
    place = f"#replay?episode={found[number]['id']}&step={step}"
    with looking(browser, console, link, place, **options) as page:
        expect_step(page, step)
        yield page


def open_replay(page: Page, number: int = 0, step: int = 0) -> None:
    """Opens an episode of the table at a step by its link."""
    found = page.evaluate("async () => (await (await fetch('/api/episodes?size=200')).json()).episodes")
    page.evaluate("hash => { location.hash = hash; }", f"#replay?episode={found[number]['id']}&step={step}")
    expect_step(page, step)


def expect_step(page: Page, step: int) -> None:
    """Waits until a step is shown, in its values and on the slider."""
    expect(page.get_by_role("heading", name=f"Step {step}", exact=True)).to_be_visible()
    expect(page.get_by_role("slider", name="Step")).to_have_value(str(step))


def pixels(picture: Locator, step: int) -> np.ndarray:
    """What a canvas shows, once it shows a step: `[height, width, 3]` uint8."""
    expect(picture).to_have_attribute("data-step", str(step))
    read = """canvas => {
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
        return [canvas.height, canvas.width, Array.from(data)];
    }"""
    height, width, flat = picture.evaluate(read)
    return np.array(flat, np.uint8).reshape(height, width, 4)[..., :3]
