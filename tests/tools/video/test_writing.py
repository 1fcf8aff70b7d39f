"""Videos are decoded and compared with what was recorded."""

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.cli import main
from rlds_kit.install import how_to_install
from rlds_kit.logger import EpisodeWriter, GymnasiumLogger
from rlds_kit.tools.video import VideoError, write_video
from tests.tools.video import showing
from tests.tools.video.showing import frames_of, gif_frames_of, noise_ratio, rate_of, screen


@pytest.fixture
def dataset(tmp_path: Path) -> rlds_kit.Dataset:
    """Two episodes, of four and six screens."""
    return showing.record(tmp_path / "data")


def given(*episodes: int) -> list[np.ndarray]:
    """The screens of the episodes, one after the other."""
    return [screen(number, step) for number in episodes for step in range((4, 6)[number])]


def test_lossless_keeps_every_pixel(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """All frames of both episodes, the final one included, at the requested rate."""
    (video,) = write_video(dataset, tmp_path / "all.mp4", fps=12.5, lossless=True)
    assert (video.episodes, video.frames, video.fps) == ((0, 1), 10, 12.5)
    assert np.array_equal(frames_of(video.path), given(0, 1))
    assert rate_of(video.path) == 12.5


def test_mp4_is_similar_to_the_recording(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Within what H.264 loses: 4:2:0 mixes the colours of neighbours, so pixels are made four to a side first."""
    (video,) = write_video(dataset, tmp_path / "one.mp4", episodes=[1], scale=4)
    shown = frames_of(video.path)
    assert len(shown) == 6
    for frame, expected in zip(shown, given(1), strict=True):
        assert frame.shape == (80, 120, 3)
        assert noise_ratio(frame, np.kron(expected, np.ones((4, 4, 1)))) > 30


def test_scaled_pixels_are_squares(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Nearest neighbour: nothing is smoothed."""
    (video,) = write_video(dataset, tmp_path / "one.mp4", episodes=[0], scale=3, lossless=True)
    for frame, expected in zip(frames_of(video.path), given(0), strict=True):
        assert np.array_equal(frame, np.kron(expected, np.ones((3, 3, 1), np.uint8)))


def test_gif_of_few_colours_keeps_every_pixel(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Each frame has a palette of its own colours, and the duration for the rate."""
    (video,) = write_video(dataset, tmp_path / "all.gif", fps=30)
    shown = gif_frames_of(video.path)
    assert np.array_equal([frame for frame, _ in shown], given(0, 1))
    assert sum(time for _, time in shown) == 330
    assert {time for _, time in shown} == {30, 40}


def test_gif_of_many_colours_is_near(tmp_path: Path) -> None:
    """256 of them are chosen."""
    values = [np.random.default_rng(seed).integers(0, 256, (40, 40, 3), dtype=np.uint8) // 4 * 4 for seed in range(3)]
    smooth = np.stack(np.meshgrid(np.arange(40) * 6, np.arange(40) * 6, [100], indexing="ij"), axis=-1)[:, :, 0].astype(
        np.uint8
    )
    dataset = showing.record_values(tmp_path / "data", [*values, smooth])
    (video,) = write_video(dataset, tmp_path / "all.gif")
    shown = gif_frames_of(video.path)
    assert len(shown) == 4
    assert noise_ratio(shown[3][0], smooth) > 28


def test_folder_gets_a_file_for_each_episode(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Named by their numbers in the dataset."""
    videos = write_video(dataset, tmp_path / "videos", lossless=True)
    assert [(video.path.name, video.frames) for video in videos] == [
        ("episode-000000.mp4", 4),
        ("episode-000001.mp4", 6),
    ]
    assert np.array_equal(frames_of(videos[1].path), given(1))


def test_grid_shows_episodes_side_by_side(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """As long as the longest; an unused place is black, and an ended episode shows its last picture."""
    (video,) = write_video(dataset, tmp_path / "grid.mp4", episodes=[0, 1, 0], grid=True, lossless=True)
    shown = frames_of(video.path)
    assert len(shown) == 6
    for step, frame in enumerate(shown):
        first = screen(0, min(step, 3))
        expected = np.block([[[first], [screen(1, step)]], [[first], [np.zeros_like(first)]]])
        assert np.array_equal(frame, expected)


def test_captions_stand_under_the_picture(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """The picture itself is not touched, and the strip differs from step to step."""
    (video,) = write_video(dataset, tmp_path / "told.mp4", episodes=[0], captions=True, lossless=True)
    shown = frames_of(video.path)
    assert np.array_equal([frame[:20] for frame in shown], given(0))
    strips = [frame[20:] for frame in shown]
    assert all(strip.shape == (48, 30, 3) and strip.any() for strip in strips)
    assert not any(np.array_equal(one, other) for one, other in itertools.pairwise(strips))


def test_odd_sizes_get_a_black_line(tmp_path: Path) -> None:
    """H.264 of 4:2:0 needs even ones; lossless does not."""
    dataset = showing.record_values(tmp_path / "data", [np.full((17, 19, 3), 200, np.uint8)] * 2)
    (video,) = write_video(dataset, tmp_path / "odd.mp4")
    (frame, _) = frames_of(video.path)
    assert frame.shape == (18, 20, 3)
    assert noise_ratio(frame[:16, :18], np.full((16, 18, 3), 200)) > 30
    assert frame[-1].mean() < 60
    write_video(dataset, tmp_path / "kept.mp4", lossless=True)
    assert frames_of(tmp_path / "kept.mp4")[0].shape == (17, 19, 3)


def test_rate_is_the_environments(tmp_path: Path) -> None:
    """From metadata first, then from Gymnasium's render rate, then 30; for a GIF at most 50."""
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path / "cart", step_fn=_with_screen) as env:
        env.reset(seed=0)
        for _ in range(3):
            env.step(0)
    cart = rlds_kit.open(tmp_path / "cart")
    (video,) = write_video(cart, tmp_path / "cart.mp4", field="screen")
    assert (video.fps, rate_of(video.path)) == (50, 50)
    named = showing.record(tmp_path / "named", metadata={"fps": 60})
    assert write_video(named, tmp_path / "named.mp4")[0].fps == 60
    assert write_video(named, tmp_path / "named.gif")[0].fps == 50
    assert write_video(showing.record(tmp_path / "plain"), tmp_path / "plain.mp4")[0].fps == 30


def _with_screen(*_: Any) -> dict[str, Any]:
    return {"screen": np.full((16, 16, 3), 9, np.uint8)}


def test_progress_comes_to_its_end(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_video(dataset, tmp_path / "all.mp4", progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.mp4", {"episodes": [7]}, "has 2 episodes"),
        ("a.mp4", {"episodes": []}, "no episodes"),
        ("a.mp4", {"field": "nothing"}, "nothing"),
        ("a.mp4", {"field": "action"}, "expected an image"),
        ("a.mp4", {"scale": 0}, "scale"),
        ("a.mp4", {"scale": 33}, "scale"),
        ("a.mp4", {"fps": 0}, "frames a second"),
        ("a.mp4", {"fps": float("nan")}, "frames a second"),
        ("a.mp4", {"white": -1}, "white"),
        ("a.gif", {"fps": 60}, "at most 50"),
        ("a.avi", {}, "ends in .mp4 or .gif"),
        ("folder", {"grid": True}, "a grid is one file"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    name: str, options: dict[str, Any], message: str, dataset: rlds_kit.Dataset, tmp_path: Path
) -> None:
    """With an error that says what to do, and without leaving a file."""
    (tmp_path / "out").mkdir()
    with pytest.raises(VideoError, match=message):
        write_video(dataset, tmp_path / "out" / name, **options)
    assert [path for path in (tmp_path / "out").iterdir() if path.is_file()] == []


def test_what_is_there_is_not_overwritten(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Another path has to be given."""
    (tmp_path / "a.mp4").write_bytes(b"mine")
    with pytest.raises(DatasetExistsError):
        write_video(dataset, tmp_path / "a.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == b"mine"


def test_a_folder_that_has_one_of_the_files_is_left_as_it_is(dataset: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Nothing is written before all can be."""
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "episode-000001.mp4").write_bytes(b"mine")
    with pytest.raises(DatasetExistsError):
        write_video(dataset, tmp_path / "videos")
    assert [each.read_bytes() for each in (tmp_path / "videos").iterdir()] == [b"mine"]


def test_names_of_fields_may_have_slashes(tmp_path: Path) -> None:
    """A field of that name is meant before a part of a nest; a nest need not be in every step."""
    frames = [screen(0, step) for step in range(3)]
    top: list[dict[str, Any]] = [{"camera/top": frame} for frame in frames]
    with EpisodeWriter(tmp_path / "d", record_time=False) as writer, writer.episode() as episode:
        episode.start({"x": 1}, **top[0], info={"side": frames[0]})
        episode.step(0, 0.0, {"x": 2}, **top[1], info={"other": 3})
        episode.step(0, 0.0, {"x": 3}, **top[2], info={"side": frames[2]})
    opened = rlds_kit.open(tmp_path / "d")
    for field, shown in (("camera/top", frames), ("info/side", [frames[0], frames[2]])):
        (video,) = write_video(opened, tmp_path / f"{field[:4]}.mp4", field=field, lossless=True)
        assert np.array_equal(frames_of(video.path), shown)


def test_episodes_of_different_sizes_need_files_of_their_own(tmp_path: Path) -> None:
    """One file has one size."""
    values = [np.zeros((16, 16, 3), np.uint8), np.zeros((16, 18, 3), np.uint8)]
    dataset = showing.record_values(tmp_path / "data", values, rlds_kit.spec.Array((16, None, 3), np.uint8))
    with pytest.raises(VideoError, match="give a folder"):
        write_video(dataset, tmp_path / "a.mp4", field="observation")
    assert not list(tmp_path.glob("*.mp4"))


@pytest.mark.parametrize(
    ("name", "module", "options"),
    [("a.mp4", "av", {}), ("a.gif", "PIL", {}), ("b.mp4", "PIL", {"captions": True})],
)
def test_missing_libraries_are_named_with_the_line_to_install_them(
    name: str,
    module: str,
    options: dict[str, Any],
    dataset: rlds_kit.Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(rlds_kit.MissingExtraError, match=re.escape(how_to_install("video"))):
        write_video(dataset, tmp_path / name, **options)
    assert not (tmp_path / name).exists()


def test_what_was_not_recorded_is_drawn_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An environment of numbers is rendered again; the command reports that these pictures were not recorded."""
    with GymnasiumLogger(gymnasium.make("CartPole-v1", render_mode="rgb_array"), tmp_path / "cart") as env:
        env.reset(seed=3)
        seen = [np.asarray(env.render())]
        for number in range(5):
            env.step(number % 2)
            seen.append(np.asarray(env.render()))
    to = tmp_path / "cart.mp4"
    main(["video", str(tmp_path / "cart"), "--to", str(to), "--fps", "10", "--lossless"], standalone_mode=False)
    assert "1 episode, 6 frames, 10 a second, drawn again" in " ".join(capsys.readouterr().out.split())
    assert np.array_equal(frames_of(to), seen)


def test_what_cannot_be_drawn_again_is_no_video(tmp_path: Path) -> None:
    """The error has the reason, and nothing is written."""
    with GymnasiumLogger(gymnasium.make("Pendulum-v1", render_mode="rgb_array"), tmp_path / "data") as env:
        env.reset(seed=3)
        for action in (0.5, -0.5):
            env.step(np.array([action], np.float32))
        env.unwrapped.state = np.zeros(2)  # type: ignore[attr-defined]  # Pendulum has one
        env.step(np.array([0.0], np.float32))
    with pytest.raises(VideoError, match=r"episode 0 .* cannot be drawn again: from step 2 on"):
        write_video(rlds_kit.open(tmp_path / "data"), tmp_path / "out.gif")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
