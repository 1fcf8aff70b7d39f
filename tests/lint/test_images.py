"""Rules RK401 and RK402: images that were lossy once."""

from pathlib import Path

import cv2
import gymnasium
import numpy as np
import pytest

from rlds_kit.convert import images as codecs
from rlds_kit.lint.jpeg_grid import has_traces
from tests.lint.datasets import Course, courses, found, write

SIZE = 128


def camera(count: int, noise: float, seed: int = 0) -> list[np.ndarray]:
    """Smooth pictures at many scales, with a sensor's noise."""
    random = np.random.default_rng(seed)
    scene = np.zeros((2 * SIZE, 2 * SIZE, 3))
    for scale in (1, 2, 4, 8, 16, 32):
        scene += cv2.GaussianBlur(random.normal(0, 1, scene.shape), (0, 0), scale) * scale
    scene = (scene - scene.min()) / np.ptp(scene) * 200 + 25
    made = []
    for top, left in random.integers(0, SIZE, (count, 2)):
        picture = scene[top : top + SIZE, left : left + SIZE] + random.normal(0, noise, (SIZE, SIZE, 3))
        made.append(np.clip(np.round(picture), 0, 255).astype(np.uint8))
    return made


def compressed(image: np.ndarray, quality: int) -> np.ndarray:
    """An image that was JPEG."""
    _, data = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return codecs.decode(data.tobytes(), image.shape, image.dtype)


def _course(number: int, quality: int | None) -> Course:
    course = Course(number)
    shots = camera(21, 2, number)
    course.observations = [{"camera": shot if quality is None else compressed(shot, quality)} for shot in shots]
    return course


def test_images_that_were_jpeg(tmp_path: Path) -> None:
    """Only the images show it."""
    report = found(write(tmp_path / "d", [_course(number, 75) for number in range(2)]), "RK4")
    assert [(each.rule, each.field) for each in report.findings] == [("RK402", "observation/camera")]


def test_images_that_were_not(tmp_path: Path) -> None:
    assert found(write(tmp_path / "d", [_course(number, None) for number in range(2)]), "RK4").findings == ()


def test_loss_that_is_known(tmp_path: Path) -> None:
    """A conversion notes it; then the images are not looked at."""
    known = {"source": {"format": "minari", "lossy_at_the_source": {"observation": "jpeg"}}}
    report = found(write(tmp_path / "d", [_course(0, 75)], metadata=known), "RK4")
    assert [(each.rule, each.field, each.message) for each in report.findings] == [
        ("RK401", "observation", "lossy at the source: jpeg")
    ]
    assert found(write(tmp_path / "e", courses(1)), "RK4").findings == ()


@pytest.mark.parametrize("quality", [50, 75, 90])
@pytest.mark.parametrize("noise", [0, 1, 3, 8])
def test_detector_sees_jpeg(quality: int, noise: float) -> None:
    """Whatever the noise of the sensor."""
    assert has_traces([compressed(shot, quality) for shot in camera(12, noise)])


@pytest.mark.parametrize("noise", [0, 1, 3, 8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_detector_sees_nothing_in_photographs(noise: float, seed: int) -> None:
    assert not has_traces(camera(12, noise, seed))


@pytest.mark.parametrize("game", ["Breakout", "SpaceInvaders", "MontezumaRevenge", "Pitfall", "Solaris", "Krull"])
def test_detector_sees_nothing_in_games(game: str) -> None:
    """Sprites of eight pixels and backgrounds that stand still, in colour and as agents see them."""
    ale_py = pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    frames = []
    with gymnasium.make(f"ALE/{game}-v5") as env:
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(120):
            frame, _, terminated, truncated, _ = env.step(env.action_space.sample())
            frames.append(frame)
            if terminated or truncated:
                env.reset()
    grey = [cv2.resize(frame.mean(axis=2).astype(np.uint8), (84, 84), interpolation=cv2.INTER_AREA) for frame in frames]
    assert not has_traces(frames[::5])
    assert not has_traces(grey[::5])
