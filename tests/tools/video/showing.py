"""Datasets to make videos of, and how videos are read back."""

from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from PIL import Image

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter

SCREEN: Final = specs.Array((20, 30, 3), np.uint8)


def screen(episode: int, step: int) -> np.ndarray:
    """A screen like those of old games: few colours, sharp edges, another one for each step."""
    frame = np.zeros((20, 30, 3), np.uint8)
    frame[2 + step : 6 + step, 3 * step : 3 * step + 5] = (200, 30 * episode, 10 * step)
    frame[-2:] = (0, 255, 40 * episode)
    return frame


def record(path: Path, lengths: tuple[int, ...] = (3, 5), **options: Any) -> rlds_kit.Dataset:
    """Episodes of so many actions, so one screen more."""
    declared = specs.Dict(
        {"observation": SCREEN, "action": specs.Array((), np.int64), "reward": specs.Array((), np.float64)}
    )
    with EpisodeWriter(path, declared, record_time=False, **options) as writer:
        for number, length in enumerate(lengths):
            with writer.episode() as episode:
                episode.start(screen(number, 0))
                for step in range(1, length + 1):
                    episode.step(step, 0.5, screen(number, step), terminated=step == length)
    return rlds_kit.open(path)


def record_values(path: Path, values: Any, spec: specs.Spec | None = None) -> rlds_kit.Dataset:
    """One episode with these observations."""
    declared = specs.Dict(
        {"observation": spec or specs.Array(values[0].shape, values[0].dtype), "action": specs.Array((), np.int64)}
    )
    with EpisodeWriter(path, declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(values[0])
        for number, value in enumerate(values[1:]):
            episode.step(number, 0.0, value)
    return rlds_kit.open(path)


def frames_of(path: Path) -> list[np.ndarray]:
    """The frames of an MP4."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def rate_of(path: Path) -> float:
    """Frames a second of an MP4."""
    with av.open(str(path)) as container:
        rate = container.streams.video[0].average_rate
        assert rate is not None
        return float(rate)


def gif_frames_of(path: Path) -> list[tuple[np.ndarray, int]]:
    """The frames of a GIF, and the milliseconds that each is shown."""
    with Image.open(path) as image:
        found = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            found.append((np.asarray(image.convert("RGB")), int(image.info["duration"])))
        return found


def noise_ratio(shown: np.ndarray, given: np.ndarray) -> float:
    """The peak signal-to-noise ratio in decibels."""
    error = np.mean((shown.astype(np.float64) - given) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))
