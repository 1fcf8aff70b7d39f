"""What is said of a part that is done: a file beside it, which is written last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from rlds_kit.base.whole_file import write_json
from rlds_kit.convert.parts import Part

_READ_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class PartNote:
    """A part that is done.

    Attributes:
      part: which one.
      contents: the content digest of each of its episodes.
      steps: how many were written.
      losses: how many values were lost, by field and reason.
      files: that were made, by their path in the part's directory: size, and XXH3-128 in hexadecimal digits.
    """

    part: Part
    contents: Sequence[bytes]
    steps: int
    losses: Mapping[tuple[str, str], int]
    files: Mapping[str, tuple[int, str]]


def part_path(directory: Path, number: int) -> Path:
    """Where a part is when it is done."""
    return directory / f"part-{number:05d}"


def note_path(directory: Path, number: int) -> Path:
    """Where it is said that it is done."""
    return directory / f"part-{number:05d}.json"


def files_in(directory: Path) -> dict[str, tuple[int, str]]:
    """The files of a part."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): (path.stat().st_size, _digest(path)) for path in found}


def write_note(path: Path, note: PartNote) -> None:
    """Says that a part is done, durably."""
    content = {
        "part": [note.part.number, note.part.begin, note.part.end],
        "contents": [each.hex() for each in note.contents],
        "steps": note.steps,
        "losses": [[*names, count] for names, count in note.losses.items()],
        "files": note.files,
    }
    write_json(path, content)


def read_note(directory: Path, part: Part) -> PartNote | None:
    """What was said of a part, if its files still are what they were then; else None."""
    try:
        content = json.loads(note_path(directory, part.number).read_bytes())
        note = PartNote(
            Part(*content["part"]),
            [bytes.fromhex(each) for each in content["contents"]],
            int(content["steps"]),
            {(field, reason): count for field, reason, count in content["losses"]},
            {name: (size, digest) for name, (size, digest) in content["files"].items()},
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or nothing that was written here
        return None
    return note if note.part == part and note.files == files_in(part_path(directory, part.number)) else None


def _digest(path: Path) -> str:
    found = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while data := file.read(_READ_BYTES):
            found.update(data)
    return found.hexdigest()
