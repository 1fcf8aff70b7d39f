"""The note on a finished part: a JSON file beside it, which is written last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rlds_kit.base.file_digest import file_digest
from rlds_kit.base.whole_file import write_json
from rlds_kit.convert.parts import Part


@dataclass(frozen=True, slots=True)
class PartNote:
    """The note that a part was finished.

    Attributes:
      part: number of the part.
      contents: the content digest of each of its episodes.
      steps: number of steps written.
      losses: number of lost values, by field and reason.
      files: size and XXH3-128 in hexadecimal digits, by path in the part's directory.
    """

    part: Part
    contents: Sequence[bytes]
    steps: int
    losses: Mapping[tuple[str, str], int]
    files: Mapping[str, tuple[int, str]]


def part_path(directory: Path, number: int) -> Path:
    """The directory of a finished part."""
    return directory / f"part-{number:05d}"


def note_path(directory: Path, number: int) -> Path:
    """The file of its note."""
    return directory / f"part-{number:05d}.json"


def files_in(directory: Path) -> dict[str, tuple[int, str]]:
    """Size and digest of each file of a part."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): (path.stat().st_size, file_digest(path).hex()) for path in found}


def write_note(path: Path, note: PartNote) -> None:
    """Writes the note on a finished part atomically."""
    losses = [[*names, count] for names, count in note.losses.items()]
    write_json(path, asdict(note) | {"contents": [each.hex() for each in note.contents], "losses": losses})


def read_note(directory: Path, part: Part) -> PartNote | None:
    """Reads the note on a part; None if there is none, or files of the part have changed since."""
    try:
        content = json.loads(note_path(directory, part.number).read_bytes())
        contents = [bytes.fromhex(each) for each in content["contents"]]
        losses = {(field, reason): count for field, reason, count in content["losses"]}
        files = {name: (size, digest) for name, (size, digest) in content["files"].items()}
        note = PartNote(Part(**content["part"]), contents, int(content["steps"]), losses, files)
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # no note, or not one of `write_note`
        return None
    return note if note.part == part and note.files == files_in(part_path(directory, part.number)) else None
