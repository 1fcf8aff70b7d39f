"""A person in front of the page on which agents are trained: what they see of its picture, and what they do."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner
from playwright.sync_api import Page, expect

from rlds_kit.cli import main

CAR: Final = """() => {
    const img = document.querySelector(".training-stage img");
    if (!img.complete || !img.naturalWidth) return null;
    const canvas = new OffscreenCanvas(img.naturalWidth, img.naturalHeight);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(img, 0, 0);
    const { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
    let [car, bar] = [width, width];
    for (let y = 0; y < height; y += 2) for (let x = 0; x < width; x += 1) {
        const at = 4 * (y * width + x);
        const isBar = data[at] === 137 && data[at + 1] === 207;
        if (isBar) bar = Math.min(bar, x);
        if (isBar || (data[at] === 214 && data[at + 1] === 40)) car = Math.min(car, x);
    }
    return bar < width ? { left: car, action: Math.round((bar - car) / 11), frame: img.src.slice(-400) } : null;
}"""
"""Where the car is, and where its bar: at the left, in the middle, at the right."""
BOARD: Final = """() => {
    const img = document.querySelector(".training-stage img");
    if (!img.complete || !img.naturalWidth) return null;
    const canvas = new OffscreenCanvas(img.naturalWidth, img.naturalHeight);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(img, 0, 0);
    const { data, width } = context.getImageData(0, 0, canvas.width, canvas.height);
    const at = (row, column) => data[4 * ((20 * row + 10) * width + 20 * column + 10)];
    const cells = (row) => Array.from({ length: 10 }, (_, column) => at(row, column) === 96 ? 1 : 0);
    return Array.from({ length: 20 }, (_, row) => cells(row + 4));
}"""
"""The cells at rest."""


def begin(page: Page, what: str, stage: str) -> None:
    """Begins a training and goes on to a stage."""
    page.goto("/#task-train")
    page.locator("li", has_text=what).get_by_role("link", name="Begin").click()
    while True:
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        if page.get_by_role("heading", name=f"Train: {stage}", exact=True).is_visible():
            break
        before = page.get_by_role("heading", level=1).inner_text()
        page.get_by_role("button", name="Next stage").click()
        expect(page.get_by_role("heading", level=1)).not_to_have_text(before)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def counter(page: Page, name: str) -> int:
    """A number beside the picture."""
    text = page.locator(".training-counters > div").filter(has_text=name).locator("dd").first.inner_text()
    return int(float(text.split(" ")[0]))


def set_speed(page: Page, place: int) -> None:
    """Moves the slider: 100 is full speed."""
    page.get_by_role("slider", name="Speed").evaluate(
        "(slider, place) => { slider.value = place; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        place,
    )


def train_car(page: Page, is_enough: Callable[[], bool], *, share: float = 0.5) -> int:
    """Judges pushes by the direction of the car, 0.2 to 0.6 seconds after they are seen; returns how many presses."""
    draw, waiting, seen, n_presses = random.Random(0), list[tuple[float, str]](), dict[str, Any](), 0
    while not is_enough():
        found = page.evaluate(CAR)
        if found and seen and found["frame"] != seen["frame"] and found["left"] != seen["left"]:
            is_good = found["action"] == (2 if found["left"] > seen["left"] else 0)
            if draw.random() < share and abs(found["left"] - seen["left"]) < 40:  # else another game began
                waiting.append((time.monotonic() + draw.uniform(0.2, 0.6), "p" if is_good else "n"))
        seen = found or seen
        for due in [each for each in waiting if each[0] <= time.monotonic()]:
            waiting.remove(due)
            page.keyboard.press(due[1])
            n_presses += 1
    return n_presses


def train_tetris(page: Page, is_enough: Callable[[], bool]) -> int:
    """Praises placements that make no hole, and rebukes others; returns how many presses."""
    before, n_presses = None, 0
    while not is_enough():
        board = page.evaluate(BOARD)
        if board is None or board == before:
            continue
        if before is not None:
            worse = holes(board) - holes(before)
            for _ in range(min(max(worse, 1), 2)):
                page.keyboard.press("n" if worse > 0 else "p")
                n_presses += 1
        before = board
    return n_presses


def holes(board: list[list[int]]) -> int:
    """Empty cells below filled ones."""
    columns = [list(each) for each in zip(*board, strict=True)]
    return sum(each[each.index(1) :].count(0) for each in columns if 1 in each)


def learned_again(recording: Path) -> int:
    """Learns from a recording; returns for how many games the weights have the same bits: all that were noted."""
    result = CliRunner().invoke(main, ["relearn", str(recording)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output.count("same bits")
