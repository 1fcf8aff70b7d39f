"""How people come: platforms, raffles by e-mail, social media, the laboratory, and test users."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

SOURCES: Final = ("prolific", "mturk", "email", "social", "laboratory", "test")
"""Ways of recruitment, as the parameter `f` of a link names them."""
_PERSON: Final = {"prolific": "PROLIFIC_PID", "mturk": "workerId", "laboratory": "participant", "test": "participant"}
_APPENDED: Final = {"prolific": "PROLIFIC_PID", "mturk": "assignmentId"}
"""What a platform always appends: a preview at Mechanical Turk has no workerId."""
_MORE: Final = {"prolific": ("STUDY_ID", "SESSION_ID"), "mturk": ("assignmentId", "hitId", "turkSubmitTo")}
_IDS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SUBMIT: Final = ("https://www.mturk.com", "https://workersandbox.mturk.com")
_PREVIEW: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"


class RecruitmentError(ValueError):
    """A link does not have what its platform appends.

    >>> source_of({"f": "mturk"})
    Traceback (most recent call last):
    rlds_kit.crowd.tasks.recruitment.RecruitmentError: assignmentId: expected letters, digits, - and _, up to 64, got ''
    """


@dataclass(frozen=True, slots=True)
class Source:
    """Where a participant came from.

    Attributes:
      kind: one of `SOURCES`.
      person: the id that the platform has for them; empty where there is none.
      details: other parameters of the platform.
      is_preview: whether they only look at the task, as people at Mechanical Turk do before they accept it.

    >>> Source("test", "ada", {}).is_test
    True
    """

    kind: str
    person: str
    details: Mapping[str, str]
    is_preview: bool = False

    @property
    def is_test(self) -> bool:
        """Whether it is a test user, who counts for nothing and is exported only on request."""
        return self.kind == "test"

    @property
    def is_paid(self) -> bool:
        """Whether the platform pays people."""
        return self.kind in {"prolific", "mturk", "laboratory"}


def source_of(parameters: Mapping[str, str], allowed: tuple[str, ...] = SOURCES) -> Source:
    """Where a participant came from, by the parameters of their link.

    Prolific and Mechanical Turk are recognised by what they append; others by `f`.

    Args:
      parameters: of the link.
      allowed: kinds that the crowd takes.

    Raises:
      RecruitmentError: the kind is not allowed, or an id is missing or is none.

    >>> source_of({"PROLIFIC_PID": "5f1c", "STUDY_ID": "61a", "SESSION_ID": "9b"}).kind
    'prolific'
    """
    kind = parameters.get("f") or _recognised(parameters) or allowed[0]
    if kind not in allowed:
        raise RecruitmentError(f"the link: expected one of f={', f='.join(allowed)}, got f={kind!r}")
    details = {name: _id(parameters, name) for name in _MORE.get(kind, ()) if name != "turkSubmitTo"}
    if kind == "mturk":
        submit = parameters.get("turkSubmitTo", _SUBMIT[0])
        if submit not in _SUBMIT:
            raise RecruitmentError(f"turkSubmitTo: expected {' or '.join(_SUBMIT)}, got {submit!r}")
        details["turkSubmitTo"] = submit
        if details["assignmentId"] == _PREVIEW:
            return Source(kind, "", details, is_preview=True)
    name = _PERSON.get(kind)
    return Source(kind, "" if name is None else _id(parameters, name), details)


def _recognised(parameters: Mapping[str, str]) -> str | None:
    return next((kind for kind, name in _APPENDED.items() if name in parameters), None)


def _id(parameters: Mapping[str, str], name: str) -> str:
    found = parameters.get(name, "")
    if not _IDS.fullmatch(found):
        raise RecruitmentError(f"{name}: expected letters, digits, - and _, up to 64, got {found[:80]!r}")
    return found


def completion_address(source: Source, code: str) -> str:
    """Where a platform takes a completion code by link; empty where people enter it themselves.

    >>> completion_address(Source("prolific", "5f1c", {}), "C1AB23")
    'https://app.prolific.com/submissions/complete?cc=C1AB23'
    """
    address = f"https://app.prolific.com/submissions/complete?cc={quote(code, safe='')}"
    return address if source.kind == "prolific" else ""
