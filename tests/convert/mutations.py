"""Files that were changed at random, and a process of its own that reads them: native libraries may crash or hang.

`read_mutated` runs this file. The process stops at the first file that ends in anything but an answer or an error of
ours; a native crash, a hang or running out of memory ends it by a signal. Which file it was can be made again from the
kind, the seed and the number.
"""

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 20
"""That one file may take."""
MEMORY: Final = 8 << 30
"""Bytes of address space."""
EXTREMES: Final = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
_ENDS: Final = 512
"""Bytes at the begin and the end of a file where most formats have their headers."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The data with one or a few kinds of harm done to them."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = chance.choice((_flipped, _flipped, _truncated, _spliced, _zeroed, _with_extreme, _with_extreme))(
            data, chance
        )
    return data


def _place(data: bytes | bytearray, chance: random.Random) -> int:
    """Half of the time near the begin or the end."""
    size = max(len(data), 1)
    return chance.choice(
        (chance.randrange(size), chance.randrange(min(size, _ENDS)), size - 1 - chance.randrange(min(size, _ENDS)))
    )


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 2, 5, 20))):
        changed[_place(changed, chance)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(max(len(data), 1))]


def _spliced(data: bytes, chance: random.Random) -> bytes:
    """A piece of it again in another place: over what was there, or between."""
    begin, there, length = (chance.randrange(max(len(data), 1)) for _ in range(3))
    piece = data[begin : begin + length]
    return data[:there] + piece + data[there + chance.choice((0, len(piece))) :]


def _zeroed(data: bytes, chance: random.Random) -> bytes:
    begin, length = _place(data, chance), chance.choice((1, 8, 64, 4096))
    piece = data[begin : begin + length]
    return data[:begin] + bytes(len(piece)) + data[begin + length :]


def _with_extreme(data: bytes, chance: random.Random) -> bytes:
    """A number in a header made very small or large."""
    size = chance.choice((1, 2, 4, 8))
    number = chance.choice(EXTREMES) % (1 << 8 * size)
    begin = _place(data, chance) & ~(chance.choice((1, 4, 8)) - 1)
    return data[:begin] + number.to_bytes(size, "little") + data[begin + size :]


def read_mutated(format_name: str, source: Path, count: int, *, is_checked: bool = False) -> dict[str, int]:
    """Lets a process read a dataset so many times, each time with one of its files mutated; asserts that it ends well.

    Args:
      format_name: of the reader.
      source: a sound dataset.
      count: how many times.
      is_checked: whether every step of an answer must be one of the sound dataset, and missing ones must be named as
        lost: the format has checksums.

    Returns:
      How many ended in an error, and how many in an answer.
    """
    command = [
        sys.executable,
        "-m",
        "tests.convert.mutations",
        format_name,
        str(source),
        str(count),
        str(int(is_checked)),
    ]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, timeout=count * SECONDS)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"file {last} ended the process with {done.returncode}: {done.stderr[-3000:]}"
    ended: dict[str, int] = json.loads(last[0])
    return ended


def _main(format_name: str, source: Path, count: int, is_checked: bool) -> None:
    import signal

    from rlds_kit.base.errors import RldsKitError
    from rlds_kit.convert import formats
    from rlds_kit.riegeli import RiegeliError

    _limit_memory()
    sound = _steps(formats.named(format_name).open(source))
    files = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
    good = {path: path.read_bytes() for path in files if path.stat().st_size}
    ended = {"errors": 0, "answers": 0}
    for number in range(count):
        print(number, flush=True)
        chance = random.Random(number)
        path = chance.choice(sorted(good))
        path.write_bytes(mutated(good[path], chance))
        signal.alarm(SECONDS)  # without a handler: it ends the process, also in native code
        try:
            reader = formats.named(format_name).open(source)
            found = _steps(reader)
            ended["answers"] += 1
            if is_checked and not set(found) <= set(sound):
                sys.exit(f"file {number}: {path} gave steps that were never recorded")
            if is_checked and len(found) < len(sound) and not (reader.losses or reader.lossy):
                sys.exit(f"file {number}: {path} gave fewer steps and does not say so")
        except (RldsKitError, RiegeliError) as error:
            ended["errors"] += 1
            if not str(error):
                sys.exit(f"file {number}: {path} gave an error that says nothing: {error!r}")
        finally:
            signal.alarm(0)
            path.write_bytes(good[path])
    print(json.dumps(ended))


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _steps(reader: Any) -> Sequence[bytes]:
    """The content of each step of the first episodes."""
    from rlds_kit.base.step import EpisodeEnd
    from rlds_kit.convert.episode_content import content_of
    from rlds_kit.convert.protocol import ForeignEpisode

    found = []
    for episode in itertools.islice(reader, 50):
        content_of(episode)
        found += [
            content_of(ForeignEpisode([row], list(episode.acted[number : number + 1]), EpisodeEnd.INTERRUPTED))
            for number, row in enumerate(itertools.islice(episode.observed, 200))
        ]
    return found


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1")
