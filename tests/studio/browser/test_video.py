"""Videos of what people played."""

from pathlib import Path

import pytest

from tests.studio.browser import playing
from tests.studio.browser.conftest import Open
from tests.studio.studio_process import Api, StudioProcess


@pytest.mark.thorough
def test_r27_a_video_of_an_episode_plays_in_the_browser(
    open_page: Open, api: Api, studio: StudioProcess, tmp_path: Path
) -> None:
    """It has a frame for each observation, made of what was recorded."""
    pytest.importorskip("av", reason="needs the extra `video`")
    import rlds_kit
    from rlds_kit.tools.video import write_video

    study = api.study("video", {"environment": "ALE/Breakout-v5", "turn": "press"})
    page = open_page(playing.link(study))
    playing.begin(page)
    playing.press(page, "Space", "ArrowRight", "ArrowLeft")
    playing.end(page)
    playing.save(page)
    page.get_by_role("button", name="End session").click()
    dataset = rlds_kit.open(studio.recordings / study["id"] / study["environments"][0]["id"])
    (video,) = write_video(dataset, tmp_path / "episode.mp4", episodes=[0], fps=10)
    page.goto(video.path.as_uri())
    shown = page.locator("video")
    shown.evaluate(
        """(video) => new Promise((done, failed) => {
            video.onended = () => done(null);
            video.onerror = () => failed(new Error(video.error.message));
            video.muted = true;
            video.play();
        })"""
    )
    assert shown.evaluate("(video) => [video.videoWidth, video.videoHeight]") == [160, 210]
    assert shown.evaluate("(video) => Math.round(video.duration * 10)") == 4
