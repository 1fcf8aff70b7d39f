"""The provenance entry of a repaired episode; provenance is not part of the content digest.

`{"repaired": {"undefined": [[path, first step, end step], ...], "start": bool, "end": bool}}`. Whole steps that were
lost show in `step_index`.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.storage.leaf import is_at_or_below

REPAIRED: Final = "repaired"


class Span(NamedTuple):
    """Steps `[begin, end)` of all columns at or below a path."""

    path: str
    begin: int
    end: int

    def covers(self, path: str, step: int) -> bool:
        """Whether the span includes the path, or a part of it, at a step."""
        return self.begin <= step < self.end and is_at_or_below(self.path, path)


@dataclass(frozen=True, slots=True)
class Repaired:
    """The losses of a repaired episode.

    Attributes:
      undefined: fields that were lost in some steps.
      start: whether metadata, seed and options were lost.
      end: whether the record of its end was lost or is no longer valid.
    """

    undefined: tuple[Span, ...] = ()
    start: bool = False
    end: bool = False


def mark(provenance: pb.Value, repaired: Repaired) -> pb.Value:
    """Provenance with an entry for the losses, which replaces that of an earlier repair."""
    content = value.decode(provenance) if provenance.WhichOneof("kind") else {}
    note = {
        "undefined": [list(span) for span in repaired.undefined],
        "start": repaired.start,
        "end": repaired.end,
    }
    return value.encode({**content, REPAIRED: note})


def marks(start: pb.EpisodeStart | None) -> Repaired:
    """The recorded losses of a repaired episode."""
    if start is None or not start.provenance.WhichOneof("kind"):
        return Repaired()
    try:
        return _parse(value.decode(start.provenance).get(REPAIRED, {}))
    except (AttributeError, TypeError, ValueError):
        return Repaired()  # an entry of the same name from another program


def _parse(note: Any) -> Repaired:  # whatever was recorded
    spans = tuple(Span(str(path), int(begin), int(end)) for path, begin, end in note.get("undefined", ()))
    return Repaired(spans, start=bool(note.get("start")), end=bool(note.get("end")))
