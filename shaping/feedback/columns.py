"""Converts events and marks to columns, which are stored, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from rlds_kit.shaping.feedback.event import Device, FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind

VERSION: Final = 1
"""Version of the columns. A reader refuses later ones."""
_NUMBERS: Final = {
    "number": np.int64,
    "time_ns": np.int64,
    "value": np.float64,
    "sent_ns": np.int64,
    "step": np.int64,
    "frame": np.int64,
    "marks": np.int64,
    "confidence": np.float64,
}
_TABLES: Final = ("annotator", "device", "key", "payload")
_T = TypeVar("_T")


def to_columns(events: Sequence[FeedbackEvent], marks: Sequence[Mark]) -> dict[str, Any]:
    """The columns of events and marks: numbers as arrays; text as its distinct values and the index of each.

    >>> columns = to_columns([FeedbackEvent(number=0, time_ns=5, value=1.0, key="p", annotator="anna")], [])
    >>> columns["events"]["key"]["values"], columns["events"]["time_ns"].tolist()
    (['p'], [5])
    """
    numbers = {name: np.array([getattr(each, name) for each in events], dtype) for name, dtype in _NUMBERS.items()}
    tables = {name: _table([_plain(getattr(each, name)) for each in events]) for name in _TABLES}
    kinds = np.array([each.kind for each in marks], np.int8)
    times = np.array([each.time_ns for each in marks], np.int64)
    return {"version": VERSION, "events": numbers | tables, "marks": {"kind": kinds, "time_ns": times}}


def from_columns(columns: Mapping[str, Any]) -> tuple[list[FeedbackEvent], list[Mark]]:
    """The events and marks of columns, exactly.

    Raises:
      ValueError: the columns have another version.
    """
    if columns["version"] != VERSION:
        raise ValueError(
            f"feedback: expected version {VERSION} of its columns, got {columns['version']}; a newer rlds_kit reads it"
        )
    stored, marks = columns["events"], columns["marks"]
    lists = {name: stored[name].tolist() for name in _NUMBERS} | {name: _entries(stored[name]) for name in _TABLES}
    lists["device"] = [Device(each) for each in lists["device"]]
    events = [FeedbackEvent(**dict(zip(lists, values, strict=True))) for values in zip(*lists.values(), strict=True)]
    found = zip(marks["kind"].tolist(), marks["time_ns"].tolist(), strict=True)
    return events, [Mark(MarkKind(kind), time) for kind, time in found]


def _plain(value: Any) -> Any:  # text or bytes
    return value.value if isinstance(value, Device) else value


def _table(values: Sequence[_T]) -> dict[str, Any]:
    places: dict[_T, int] = {}
    index = [places.setdefault(each, len(places)) for each in values]
    return {"values": list(places), "index": np.array(index, np.int32)}


def _entries(table: Mapping[str, Any]) -> list[Any]:
    values = table["values"]
    return [values[at] for at in table["index"].tolist()]
