"""How an episode says that it was repaired: an entry of its provenance, which no digest covers.

`{"repaired": {"undefined": [[path, first, end], ...], "steps": [[first, end], ...], "start": bool, "end": bool}}` where
`undefined` counts steps as the repaired episode does, and `steps` as the original did.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage import value

REPAIRED: Final = "repaired"


class Span(NamedTuple):
    """Steps `[begin, end)` of whatever lies at or below a path."""

    path: str
    begin: int
    end: int

    def covers(self, path: str, step: int) -> bool:
        """Whether the path, or a part of it, is in the span at a step."""
        return self.begin <= step < self.end and (self.path + "/").startswith(path + "/")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What an episode lost.

    Attributes:
      undefined: fields that some steps have lost, in steps of the repaired episode.
      steps: lost steps `(first, end)`, as the original counted them.
      start: whether metadata, seed and options were lost.
      end: whether how it ended was lost, or no longer holds.
    """

    undefined: tuple[Span, ...] = ()
    steps: tuple[tuple[int, int], ...] = ()
    start: bool = False
    end: bool = False


def mark(provenance: pb.Value, repaired: Repaired) -> pb.Value:
    """Provenance with a note of what was lost, added to that of earlier repairs."""
    content = value.decode(provenance) if provenance.WhichOneof("kind") else {}
    note = {
        "undefined": [list(span) for span in repaired.undefined],
        "steps": [list(steps) for steps in repaired.steps],
        "start": repaired.start,
        "end": repaired.end,
    }
    return value.encode({**content, REPAIRED: note})


def marks(start: pb.EpisodeStart | None) -> tuple[Span, ...]:
    """The fields that an episode is known to have lost to damage before it was repaired."""
    if start is None or not start.provenance.WhichOneof("kind"):
        return ()
    try:
        return tuple(_spans(value.decode(start.provenance)))
    except (KeyError, TypeError, ValueError):
        return ()  # someone else's entry of that name


def _spans(provenance: Any) -> Iterable[Span]:  # whatever was recorded
    for path, begin, end in provenance.get(REPAIRED, {}).get("undefined", ()):
        yield Span(str(path), int(begin), int(end))
