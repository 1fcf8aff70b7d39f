"""A study from its making to the export, as people see it, and what is recorded of it, bit for bit."""

import itertools
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from playwright.sync_api import Page, expect

import rlds_kit
from tests.studio.browser import playing
from tests.studio.browser.conftest import Open
from tests.studio.browser.gamepad import Gamepad
from tests.studio.play.test_recorded import assert_same_offline
from tests.studio.player import played
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess

BREAKOUT = "ALE/Breakout-v5"
MOUNTAIN = "MountainCarContinuous-v0"


def test_r1_r2_a_designer_makes_a_study_and_plays_it(page: Page, api: Api) -> None:
    """By the form, with nothing but the mouse and a name."""
    page.get_by_role("link", name="New study").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("Across the lake")
    page.get_by_role("combobox", name="Environment").fill("frozenlake-v1")
    page.get_by_role("option", name="FrozenLake-v1").click()
    page.get_by_role("radio", name="Step by step").check()
    page.get_by_role("button", name="Make study").click()
    page.get_by_role("link", name="Try it").click()
    page.get_by_role("link", name="Play FrozenLake-v1").click()
    playing.begin(page)
    playing.press(page, "ArrowLeft")
    (study,) = [each for each in api.get("studies")["studies"] if each["name"] == "Across the lake"]
    assert (study["environments"][0]["turn"], study["enabled"]) == ("press", False)


def test_r8_r17_keys_step_by_step_are_recorded_bit_for_bit(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """The same actions give the same steps offline; each key is recorded with the frame that was on the screen."""
    study = api.study("by step", {"environment": BREAKOUT, "turn": "press"})
    page = open_page(playing.link(study))
    playing.begin(page)
    chords = ("Space", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "ArrowLeft", "ArrowLeft", "Space")
    playing.press(page, *chords)
    playing.end(page)
    playing.save(page)
    (episode,) = playing.recorded(studio, study)
    assert episode.length == len(chords) + 1
    assert_same_offline(BREAKOUT, episode, {})
    steps = list(episode.steps)[:-1]
    assert [step["play"]["seats"]["player"]["keys"] for step in steps] == [{chord: 1.0} for chord in chords]
    assert [step["play"]["seats"]["player"]["shown_frame"] for step in steps] == list(range(len(chords)))


def test_r9_r17_keys_in_real_time_are_recorded_bit_for_bit(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Sixty steps a second; the end of the game asks by itself, and suggests that it was completed."""
    study = api.study("in time", {"environment": BREAKOUT, "turn": "clock", "fps": 60.0, "max_steps": 60})
    page = open_page(playing.link(study))
    playing.begin(page)
    page.keyboard.down("Space")
    page.keyboard.down("ArrowRight")
    playing.play_out(page, lambda: page.keyboard.press("KeyX"))
    expect(page.get_by_role("dialog").get_by_role("checkbox")).to_be_checked()
    playing.save(page)
    (episode,) = playing.recorded(studio, study)
    assert episode.length == 61
    assert_same_offline(BREAKOUT, episode, {})
    keys = [step["play"]["seats"]["player"]["keys"] for step in list(episode.steps)[:-1]]
    assert {"Space": 1.0, "ArrowRight": 1.0} in keys
    assert {"Space", "ArrowRight"} <= set(keys[-1]) <= {"Space", "ArrowRight", "KeyX"}


def test_r19_a_gamepad_plays_step_by_step(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Its buttons are the arrows, and each press is a step."""
    study = api.study("pad by step", {"environment": CORRIDOR, "turn": "press"})
    page = open_page(playing.link(study))
    pad = Gamepad(page)
    expect(page.get_by_role("heading", name="Ready?")).to_be_visible()
    pad.connect()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Gamepad: Fake gamepad")
    expect(page.locator(".legend")).to_contain_text("Gamepad: Fake gamepad")
    playing.begin(page)
    for step, button in enumerate((15, 14, 15), start=1):
        pad.press(button)
        playing.expect_fact(page, "Step", str(step))
    playing.end(page)
    playing.save(page)
    (episode,) = playing.recorded(studio, study)
    steps = list(episode.steps)[:-1]
    assert [int(step["action"]) for step in steps] == [1, 0, 1]
    assert [step["play"]["seats"]["player"]["keys"] for step in steps] == [
        {"Button15": 1.0},
        {"Button14": 1.0},
        {"Button15": 1.0},
    ]


@pytest.mark.thorough
def test_r19_a_stick_in_real_time_is_recorded_unrounded(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Whatever it says is the action, in the precision of the environment's own."""
    study = api.study("stick", {"environment": MOUNTAIN, "turn": "clock", "fps": 30.0, "max_steps": 40})
    page = open_page(playing.link(study))
    pad = Gamepad(page)
    pad.connect()
    playing.begin(page)
    value = 0.7123456789012345
    pad.tilt(0, value)
    other = itertools.cycle((0.5, 0.0))  # of a stick that does nothing here
    playing.play_out(page, lambda: pad.tilt(3, next(other)))
    playing.save(page)
    (episode,) = playing.recorded(studio, study)
    assert_same_offline(MOUNTAIN, episode, {})
    held = [step for step in list(episode.steps)[:-1] if step["play"]["seats"]["player"]["keys"]]
    assert {step["play"]["seats"]["player"]["keys"]["Axis0"] for step in held} == {value}
    assert {step["action"].tobytes() for step in held} == {type(held[0]["action"][0])(value).tobytes()}


def test_r20_six_axes_move_an_arm(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """A SpaceMouse is a gamepad with six axes; forward is down there, and up here."""
    study = api.study("arm", {"environment": "rlds_kit_tests/Arm-v0", "turn": "press"})
    page = open_page(playing.link(study))
    pad = Gamepad(page)
    pad.connect("SpaceMouse Compact (Vendor: 256f Product: c635)")
    expect(page.locator(".legend")).to_contain_text("Gamepad: SpaceMouse Compact")
    playing.begin(page)
    values = [0.11, -0.22, 0.33, -0.44, 0.55, -0.66]
    for step, value in enumerate(values, start=1):
        pad.tilt(step - 1, value)
        playing.expect_fact(page, "Step", str(step))
    expect(page.locator(".text-picture")).to_have_text("+0.11 +0.22 +0.33 +0.44 +0.55 +0.66")
    playing.end(page)
    playing.save(page)
    (episode,) = playing.recorded(studio, study)
    last = list(episode.steps)[-2]
    assert last["action"].tolist() == [0.11, 0.22, 0.33, 0.44, 0.55, 0.66]
    assert last["play"]["seats"]["player"]["keys"] == {f"Axis{axis}": value for axis, value in enumerate(values)}


def test_r11_a_pause_adds_no_steps(open_page: Open, api: Api) -> None:
    """Escape pauses and goes on; keys between do nothing."""
    study = api.study("pause", {"environment": CORRIDOR, "turn": "press"})
    page = open_page(playing.link(study))
    playing.begin(page)
    playing.press(page, "ArrowRight")
    page.keyboard.press("Escape")
    expect(page.get_by_role("group", name="Paused")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(page.get_by_role("group", name="Paused")).to_have_count(0)
    playing.expect_fact(page, "Step", "1")
    playing.press(page, "ArrowLeft")


def test_r12_r14_what_was_broken_off_is_cancelled_and_the_next_one_is_ready(open_page: Open, api: Api) -> None:
    """Enter asks; what is saved and not marked as completed is cancelled."""
    study = api.study("cancel", {"environment": CORRIDOR, "turn": "press"})
    page = open_page(playing.link(study))
    playing.begin(page)
    playing.press(page, "ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("checkbox")).not_to_be_checked()
    playing.save(page, completed=False)
    playing.expect_fact(page, "Episode", "2")
    assert [row["status"] for row in api.episodes(study=study["id"])][:1] == ["cancelled"]


def test_r13_r14_what_was_rejected_is_kept_as_rejected(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Escape after the end of a game is a no."""
    study = api.study("reject", {"environment": CORRIDOR, "turn": "press"})
    page = open_page(playing.link(study))
    playing.begin(page)
    playing.press(page, "ArrowRight", "ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog", name="The episode is over")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("status").filter(has_text="is recorded as rejected")).to_be_visible()
    assert [row["status"] for row in api.episodes(study=study["id"])][:1] == ["rejected"]
    assert [episode.length for episode in playing.recorded(studio, study, "rejected")] == [4]


def test_a_person_who_lost_the_connection_goes_on_where_they_were(open_page: Open, api: Api) -> None:
    """The page says that it is lost, and comes back by itself to the same episode."""
    study = api.study("cable", {"environment": CORRIDOR, "turn": "press"})
    cable = playing.Cable()
    page = open_page(playing.link(study), prepare=cable.lay)
    playing.begin(page)
    playing.press(page, "ArrowRight")
    cable.pull()
    expect(page.get_by_role("status").filter(has_text="The connection is lost")).to_be_visible()
    cable.plug()
    page.get_by_role("button", name="Continue").first.click()
    expect(page.get_by_role("group", name="Paused")).to_have_count(0)
    playing.expect_fact(page, "Step", "1")
    playing.press(page, "ArrowRight")
    playing.end(page)
    playing.save(page)
    assert [row["steps"] for row in api.episodes(study=study["id"], status="completed")] == [2]


def test_r30_a_replay_shows_what_was_played(open_page: Open, api: Api) -> None:
    """The player leads to it; every step has its action and its reward."""
    study = api.study("again", {"environment": CORRIDOR, "turn": "press"})
    page = open_page(playing.link(study))
    playing.begin(page)
    playing.press(page, "ArrowRight", "ArrowRight", "ArrowLeft")
    playing.end(page)
    playing.save(page)
    page.get_by_role("region", name="Messages").get_by_role("link", name="Replay").click()
    values = page.get_by_role("region", name="Values of the step")
    for step, (action, reward) in enumerate([("1", "1.000"), ("1", "2.000"), ("0", "1.000")]):
        expect(values.get_by_role("heading", name=f"Step {step}", exact=True)).to_be_visible()
        expect(values.get_by_role("definition").nth(0)).to_have_text(action)
        expect(values.get_by_role("definition").nth(1)).to_have_text(reward)
        page.keyboard.press("ArrowRight")
    expect(values.get_by_role("heading", name="Step 3", exact=True)).to_be_visible()


@pytest.mark.thorough
def test_r32_two_people_tag_one_episode_at_once(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Both tags stay, both see both at once, and so does the table."""
    study = api.study("tagged", {"environment": CORRIDOR, "turn": "press"})
    (episode,) = played(api, study, 4)
    pages = {
        "good": open_page(f"#replay?episode={episode}"),
        "slow": open_page(f"#replay?episode={episode}", person=studio.person("reviewer", "rita")),
    }
    for label, page in pages.items():
        expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()
        page.get_by_role("combobox", name="Tag the episode (e)").fill(label)
    for page in pages.values():
        page.keyboard.press("Enter")
    for page in pages.values():
        tags = page.get_by_role("region", name="Tags of the episode")
        expect(tags).to_contain_text("good")
        expect(tags).to_contain_text("slow")
    table = open_page(f"#episodes?study={study['id']}")
    row = table.locator(f"[data-episode='{episode}']")
    expect(row).to_contain_text("good")
    expect(row).to_contain_text("slow")


def offline(environment: str, seed: int | None, actions: list[Any]) -> tuple[list[Any], list[float]]:
    """The observations and rewards that actions bring."""
    with gymnasium.make(environment) as env:
        observations, rewards = [env.reset(seed=seed)[0]], []
        for action in actions:
            observation, reward, *_ = env.step(action)
            observations.append(observation)
            rewards.append(float(reward))
    return observations, rewards


def test_r36_r37_r38_r40_an_export_is_downloaded_and_opens_everywhere(
    open_page: Open, api: Api, tmp_path: Path
) -> None:
    """With `rlds_kit.open` and through TFDS it has what was played, a column for the tag, and no keys."""
    builders = pytest.importorskip("rlds_kit.tfds_builders", reason="needs the extra `tfds`")
    study = api.study("exported", {"environment": BREAKOUT, "turn": "press"})
    ids = played(api, study, 6, 4, keys=("Space", "ArrowRight", "ArrowLeft"))
    api.post(f"replay/{ids[0]}/annotations", kind="tag", text="served", steps=[1, 3])
    page = open_page(f"#episodes?study={study['id']}&status=completed")
    page.get_by_role("checkbox", name="Select all of this page").check()
    page.get_by_role("button", name="Export…").click()
    page.get_by_role("dialog").get_by_role("button", name="Export 2 episodes").click()
    download = page.get_by_role("link", name="Download")
    expect(download).to_be_visible(timeout=120_000)  # a process is started for it
    with page.expect_download() as downloading:
        download.click()
    archive = tmp_path / "export.zip"
    downloading.value.save_as(archive)
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(tmp_path)
    (description,) = tmp_path.glob("**/dataset.json")
    dataset = rlds_kit.open(description.parent)
    lengths = [episode.length for episode in dataset.episodes]
    assert sorted(lengths) == [5, 7]
    of_tfds = list(builders.builder_from_directory(description.parent).as_dataset(split="train"))
    for episode, same in zip(dataset.episodes, of_tfds, strict=True):
        steps = list(episode.steps)
        observations, rewards = offline(BREAKOUT, episode.seed, [step["action"] for step in steps[:-1]])
        assert [step["reward"] for step in steps[:-1]] == rewards
        assert all(np.array_equal(step["observation"], seen) for step, seen in zip(steps, observations, strict=True))
        tagged = [number for number, step in enumerate(steps) if step["tag:served"]]
        assert tagged == ([1, 2] if len(steps) == 7 else [])
        assert not {"play", "info"} & set(steps[0])
        read = list(same["steps"])
        assert all(np.array_equal(step["observation"], seen) for step, seen in zip(read, observations, strict=True))
        assert [bool(step["tag:served"]) for step in read] == [bool(step["tag:served"]) for step in steps]
