"""Whole trainings in the browser, by a person who sees nothing but the page. They take as long as people need."""

import statistics
from pathlib import Path

import pytest

import rlds_kit
from tests.studio.browser import trainer
from tests.studio.browser.conftest import Open
from tests.studio.studio_process import running, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_mountain_car_is_trained_in_the_browser(tmp_path: Path, open_page: Open) -> None:
    """Eight games at 151 ms a step; then the agent alone drives ten of the check, and its weights are learned again."""
    with running(tmp_path, "--task", "train") as studio:
        page = open_page("#task-train", person=studio.designer)
        trainer.begin(page, "Mountain Car", "training 1")
        n_presses = trainer.train_car(page, lambda: trainer.counter(page, "Game") > 8)
        page.get_by_role("button", name="Done with this stage").click()
        page.get_by_role("button", name="Start").click()
        wait_for(lambda: trainer.counter(page, "Game") > 10)
        page.goto("/#studies")
        recording = tmp_path / "tasks" / "train" / "mountain_car"
        wait_for(lambda: trainer.learned_again(recording) >= 19)
    games = rlds_kit.open(recording).episodes
    stages = ("training 1", "check 1")
    lengths = {stage: [each.length - 1 for each in games if each.metadata["stage"] == stage] for stage in stages}
    print(n_presses, "presses:", lengths)
    assert statistics.median(lengths["check 1"][:10]) < 200  # it may get stuck in a game, which the check is for


def test_a_game_of_tetris_is_trained_in_the_browser(tmp_path: Path, open_page: Open) -> None:
    """Forty pieces of half a second are judged; then the game ends at full speed, and its weights are learned again."""
    with running(tmp_path, "--task", "train") as studio:
        page = open_page("#task-train", person=studio.designer)
        trainer.begin(page, "Tetris", "practice 1")
        trainer.set_speed(page, 56)
        n_presses = trainer.train_tetris(page, lambda: trainer.counter(page, "All steps") > 40)
        trainer.set_speed(page, 100)
        wait_for(lambda: trainer.counter(page, "Game") > 1)
        page.goto("/#studies")
        recording = tmp_path / "tasks" / "train" / "tetris"
        wait_for(lambda: trainer.learned_again(recording) >= 2)
    game = rlds_kit.open(recording).episodes[0]
    print(n_presses, "presses,", game.length - 1, "pieces,", game["reward"].sum(), "lines")
    assert n_presses > 20
