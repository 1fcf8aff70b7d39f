"""What is compared with what, on which input."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from side_by_side.venvs import MINARI, Peer

from pipelines_side.inputs import Input

ATARI: Final = "84 x 84 Atari frames"
CAMERA: Final = "128 x 128 x 3 noisy camera"
VECTORS: Final = "17 floats"
LARGE: Final = "2 GB of noisy camera"

Check = Literal["all", "some", "values"]
"""Compared are all elements of an epoch, or some, or computed values."""


@dataclass(frozen=True)
class System:
    """One way of doing it.

    Attributes:
      name: for the tables.
      player: its script.
      stream: the argument of the player.
      files: that it reads, a folder of the input.
      peer: whose virtual environment it runs in; None: in this one.
    """

    name: str
    player: str
    stream: str
    files: str = "arrays"
    peer: Peer | None = None


@dataclass(frozen=True)
class Contest:
    """Systems that do the same work.

    Attributes:
      row: of the promises, as `--rows` names it.
      work: for the title of its table.
      given: what they work on.
      verb: what players measure.
      unit: of the speed.
      systems: ours first.
      check: how what they deliver is compared with the input; None: it is not.
    """

    row: str
    work: str
    given: Input
    verb: Literal["speed", "memory", "startup", "bytes"]
    unit: str
    systems: tuple[System, ...]
    check: Check | None = None

    @property
    def title(self) -> str:
        """For its table."""
        return f"{self.work}, {self.given.title}"


DENSE: Final = System("rlds_kit, dense episodes", "play_transformations.py", "transitions dense")
NESTED: Final = System("rlds_kit, nested episodes", "play_transformations.py", "transitions nested")
TUTORIAL: Final = System("rlds, tutorial idiom", "play_rlds.py", "transitions tutorial")
BEST: Final = System("rlds, best ordering", "play_rlds.py", "transitions best")
OUR_MEMORY_WINDOWS: Final = System("rlds_kit, dense episodes", "play_transformations.py", "windows")
RLDS_WINDOWS: Final = System("rlds", "play_rlds.py", "windows")
OUR_STATISTICS: Final = System("rlds_kit, mean, std, min, max", "play_transformations.py", "statistics")
OUR_QUANTILES: Final = System("rlds_kit, quantiles too", "play_transformations.py", "statistics and quantiles")
RLDS_STATISTICS: Final = System("rlds, mean, std", "play_rlds.py", "statistics")
BLOCKS: Final = System('rlds_kit, shuffle="blocks"', "play_rlds_kit.py", "blocks", "recording")
GLOBAL: Final = System('rlds_kit, shuffle="global"', "play_rlds_kit.py", "global", "recording")
IN_ORDER: Final = System("rlds_kit, no shuffle", "play_rlds_kit.py", "in order", "recording")
FEED_BLOCKS: Final = System('rlds_kit in tf.data, shuffle="blocks"', "play_feed.py", "blocks", "recording")
FEED_GLOBAL: Final = System('rlds_kit in tf.data, shuffle="global"', "play_feed.py", "global", "recording")
FEED_EPISODES: Final = System("rlds_kit in tf.data, dense episodes", "play_feed.py", "dense episodes", "recording")
OUR_WINDOWS: Final = System('rlds_kit, shuffle="global"', "play_rlds_kit.py", "windows", "recording")
DRAWN_WINDOWS: Final = System("rlds_kit, drawn by the caller", "play_rlds_kit.py", "drawn windows", "recording")
OUR_FILES: Final = System("rlds_kit", "", "", "recording")
MINARI_WINDOWS: Final = System("Minari HDF5", "play_minari.py", "minari", "minari", MINARI)
H5PY_WINDOWS: Final = System("h5py on Minari's file", "play_minari.py", "h5py", "minari", MINARI)


def tfds(encoding: str, variant: str) -> System:
    """TFDS and rlds on tfrecord files: "tutorial", "best", "shuffled" or "shuffled whole"."""
    words = {
        "tutorial": "tutorial idiom",
        "best": "best ordering",
        "shuffled": "best + shuffle(10,000)",
        "shuffled whole": "best + shuffle(all)",
    }
    name = f"TFDS {_NAMES[encoding]} + rlds, {words[variant]}"
    return System(name, "play_tfds.py", f"{encoding} {variant}", f"tfrecord-{encoding}")


def tfds_files(encoding: str) -> System:
    """TFDS's tfrecord files."""
    return System(f"TFDS {_NAMES[encoding]}", "", "", f"tfrecord-{encoding}")


def tfds_windows(encoding: str) -> System:
    """TFDS's data source on array_record files."""
    name = f"TFDS array_record {_NAMES[encoding]}"
    return System(name, "play_tfds.py", f"{encoding} windows", f"array_record-{encoding}")


_NAMES: Final = {"zlib": "zlib", "png": "PNG", "none": "tensor"}


def contests(*, quick: bool) -> Iterator[Contest]:
    """All of them, in the order of the promises."""
    atari = Input(ATARI, "atari", 2_000 if quick else 30_000)
    camera = Input(CAMERA, "camera", 1_000 if quick else 16_000)
    vectors = Input(VECTORS, "vectors", 20_000 if quick else 200_000)
    for given in (atari, vectors):
        yield from _in_memory(given)
    for given, encodings in ((atari, ("zlib", "png")), (camera, ("zlib", "png")), (vectors, ("none",))):
        yield from _from_disk(given, encodings)
    for state in ("warm", "cold"):
        systems = (GLOBAL, BLOCKS, IN_ORDER, tfds("zlib", "best"), tfds("zlib", "shuffled"))
        given = camera if quick else Input(LARGE, "camera", 60_000)
        yield Contest("startup", f"import and first batch, page cache {state}", given, "startup", state, systems)


def _in_memory(given: Input) -> Iterator[Contest]:
    row, unit = "transitions-in-memory", "transitions/s"
    yield Contest(row, "transitions from memory", given, "speed", unit, (DENSE, NESTED, BEST, TUTORIAL), "all")
    row, unit = "windows-in-memory", "windows/s"
    yield Contest(row, "8-step windows from memory", given, "speed", unit, (OUR_MEMORY_WINDOWS, RLDS_WINDOWS), "all")
    systems = (OUR_STATISTICS, OUR_QUANTILES, RLDS_STATISTICS)
    yield Contest("statistics", "statistics of all steps in memory", given, "speed", "passes/s", systems, "values")


def _from_disk(given: Input, encodings: tuple[str, ...]) -> Iterator[Contest]:
    ours: tuple[System, ...] = (OUR_WINDOWS, DRAWN_WINDOWS)
    theirs: tuple[System, ...] = (tfds_windows(encodings[0]), MINARI_WINDOWS, H5PY_WINDOWS)
    yield Contest("windows", "random 8-step windows from disk", given, "speed", "windows/s", (*ours, *theirs), "some")
    ours = (BLOCKS, GLOBAL, IN_ORDER, FEED_BLOCKS, FEED_GLOBAL, FEED_EPISODES)
    theirs = tuple(tfds(encoding, variant) for encoding in encodings for variant in ("best", "shuffled"))
    systems = (*ours, *theirs, tfds(encodings[0], "tutorial"))
    yield Contest("transitions", "transitions from disk", given, "speed", "transitions/s", systems, "all")
    systems = (OUR_FILES, *map(tfds_files, encodings))
    yield Contest("bytes", "size on disk", given, "bytes", "", systems)
    systems = (GLOBAL, tfds(encodings[0], "shuffled whole"), tfds(encodings[0], "shuffled"))
    yield Contest("memory", "memory of an epoch of shuffled transitions", given, "memory", "", systems)
