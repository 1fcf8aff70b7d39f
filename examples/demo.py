"""Records Atari episodes, verifies them, serves them through `tfds.load`, draws some frames. `make demo` runs it."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import click
import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import rlds_kit
from rlds_kit import riegeli
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.tools.upkeep import verify

ENVIRONMENT: Final = "ALE/SpaceInvaders-v5"
DIRECTORY: Final = Path("data/demo-space-invaders")
SHEET: Final = "contact-sheet.png"
FRAMES: Final = 8
"""Of each episode, on the contact sheet."""


@click.command()
@click.option("--directory", type=click.Path(file_okay=False, path_type=Path), default=DIRECTORY, show_default=True)
@click.option("--episodes", type=click.IntRange(min=1), default=5, show_default=True)
def main(directory: Path, episodes: int) -> None:
    """Record a few episodes of Space Invaders into DIRECTORY, or beside it if a dataset is there already."""
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(f"rlds_kit {rlds_kit.__version__}, with the {implementation()}")
    directory = record(directory, episodes)
    console.print(f"Recorded {ENVIRONMENT} in {directory}")

    report = verify(directory)  # what `rlds-kit verify` does
    for problem in report.problems:
        console.print(f"{problem}", style="red")
    if not report.ok:
        raise SystemExit(1)
    console.print(f"Verified: all is well ({report.steps:,} steps, {report.bytes:,} bytes)")

    dataset = rlds_kit.open(directory)
    console.print(overview(dataset, report.bytes))
    console.print("Serving them through tfds.load (the first import of TensorFlow takes a while) ...")
    console.print(first_batch(directory))
    console.print(f"Frames: {draw(dataset.episodes[:10], directory / SHEET)}")


def implementation() -> str:
    """Which code does the hot loops."""
    return "C extensions" if riegeli.HAS_EXTENSION else "pure-Python twins of its C extensions (slower, same results)"


def record(directory: Path, episodes: int) -> Path:
    """Plays at random; returns where the episodes are."""
    try:
        import ale_py
    except ImportError:
        raise SystemExit('The demo plays Atari games: pip install ".[atari,plot,tfds]"') from None
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no banner
    gymnasium.register_envs(ale_py)
    env = gymnasium.make(ENVIRONMENT)
    env.action_space.seed(0)
    # "new": a second run records beside the first, in directory-2.
    logger = GymnasiumLogger(env, directory, mode="new", metadata={"policy": "random"})
    with logger as env:
        for episode in range(episodes):
            env.reset(seed=episode)
            done = False
            while not done:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                done = terminated or truncated
    return logger.recorder.directory


def overview(dataset: rlds_kit.Dataset, stored: int) -> Table:
    """A table of episodes, of which only rewards are decoded, and how many bytes a step takes on disk."""
    table = Table("episode")
    for heading in ("steps", "return", "end"):
        table.add_column(heading, justify="left" if heading == "end" else "right")
    for number, episode in enumerate(dataset.episodes):
        total = episode["reward"].sum()
        table.add_row(f"{number}", f"{episode.length:,}", f"{total:g}", episode.end.name)
    steps = len(dataset.steps)
    table.add_section()
    table.add_row(f"all {len(dataset.episodes)}", f"{steps:,}", "", "")
    frame = dataset.episodes[0].steps[0]["observation"]
    table.caption = f"One frame has {frame.nbytes:,} bytes in memory; on disk a step takes {stored / steps:.1f} bytes."
    return table


def first_batch(directory: Path) -> Table:
    """What training gets out of `tfds.load`: a batch of transitions, read from the recording as it is."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}  # TensorFlow says less
    try:
        import tensorflow_datasets as tfds

        from rlds_kit import transformations as rlt
        from rlds_kit.tfds_builders import DirectoryBuilder, DirectoryConfig
    except ImportError as error:
        raise SystemExit(f'The demo reads with TFDS: pip install ".[atari,plot,tfds]" ({error})') from None

    class DemoRecording(DirectoryBuilder):
        """Tells `tfds.load` the name `demo_recording`."""

        BUILDER_CONFIGS: ClassVar = [DirectoryConfig(name="space_invaders", directories={"train": directory})]

    episodes = tfds.load(
        "demo_recording/space_invaders",
        split="train",
        shuffle_files=True,
        decoders={"steps": tfds.decode.SkipDecoding()},  # an episode's steps as tensors [T, ...]
    )
    batch = next(iter(episodes.map(lambda episode: rlt.transitions(episode["steps"])).rebatch(32)))
    table = Table("field", "dtype", "shape", title="A batch of transitions, from tfds.load")
    for name, tensor in batch.items():
        if hasattr(tensor, "shape"):
            table.add_row(name, tensor.dtype.name, str(tuple(tensor.shape)))
    return table


def draw(episodes: Sequence[rlds_kit.Episode], path: Path) -> Path:
    """Writes a picture: an episode in each line, from its first frame to its last."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise SystemExit('The demo draws with Pillow: pip install ".[atari,plot,tfds]"') from None
    chosen = [np.linspace(0, episode.length - 1, FRAMES).astype(int).tolist() for episode in episodes]
    frames = [
        [episode.steps[step]["observation"] for step in steps] for episode, steps in zip(episodes, chosen, strict=True)
    ]
    sheet = Image.fromarray(np.vstack([np.hstack(line) for line in frames]))
    height, width = frames[0][0].shape[:2]
    pen = ImageDraw.Draw(sheet)
    for line, steps in enumerate(chosen):
        for column, step in enumerate(steps):
            pen.text((column * width + 4, line * height + height - 14), f"episode {line}, step {step}", fill="white")
    sheet.save(path)
    return path


if __name__ == "__main__":
    main()
