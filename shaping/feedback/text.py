"""Feedback as text, which seats of a trial send to each other and which the trial records."""

import base64
import json
import logging
from collections.abc import Iterable
from typing import Any, Final

from rlds_kit.shaping.feedback.event import Device, FeedbackEvent, whole
from rlds_kit.shaping.feedback.step_clock import Mark, MarkKind

log = logging.getLogger(__name__)
_KEY: Final = "feedback"
_SHOWN: Final = 200
_FIELDS: Final = (
    *("number", "time_ns", "value", "annotator", "key", "device", "sent_ns", "step", "frame", "confidence", "payload"),
)


def to_text(items: Iterable[Mark | FeedbackEvent]) -> str:
    """Marks and events as exact JSON, without `marks` of events, because the receiver counts its own marks.

    >>> to_text([Mark(MarkKind.STEP, 5)])
    '{"feedback": [["STEP", 5]]}'
    """
    return json.dumps({_KEY: [_listed(each) for each in items]})


def from_text(text: str) -> list[Mark | FeedbackEvent] | None:
    """The marks and events of a text; None: it is a message for people.

    Raises:
      ValueError: it begins like feedback but is invalid.

    >>> from_text('{"feedback": [["STEP", 5]]}'), from_text("Well done!")
    ([Mark(kind=<MarkKind.STEP: 0>, time_ns=5)], None)
    """
    if not text.startswith(f'{{"{_KEY}"'):
        return None
    try:
        return [_item(each) for each in json.loads(text)[_KEY]]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        got = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise ValueError(f"expected marks and events of feedback as `to_text` writes them, got {got!r}") from error


def received(text: str) -> list[Mark | FeedbackEvent]:
    """The marks and events of a text from another seat; empty if it is for people, or malformed.

    A malformed one is logged as a warning and not raised, so that another seat cannot end the trial of a learner.

    >>> received('{"feedback": [["STEP", 5]]}'), received("Well done!"), received('{"feedback": 7}')
    ([Mark(kind=<MarkKind.STEP: 0>, time_ns=5)], [], [])
    """
    try:
        return from_text(text) or []
    except (TypeError, ValueError) as error:
        log.warning("malformed feedback is ignored: %s", error)
        return []


def _listed(item: Mark | FeedbackEvent) -> list[Any] | dict[str, Any]:
    if isinstance(item, Mark):
        return [item.kind.name, whole("time_ns", item.time_ns)]
    values = {name: getattr(item, name) for name in _FIELDS}
    return {**values, "device": item.device.value, "payload": base64.b64encode(item.payload).decode()}


def _item(listed: Any) -> Mark | FeedbackEvent:  # of JSON
    if isinstance(listed, list):
        kind, time_ns = listed
        return Mark(MarkKind[kind], whole("time_ns", time_ns))
    return FeedbackEvent(
        **{**listed, "device": Device(listed["device"]), "payload": base64.b64decode(listed["payload"])}
    )
