"""One row of a table of interactions, for contacts with one kind of object; read from JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, get_args

from rlds_kit.base.errors import RldsKitError
from rlds_kit.shaping.manuals.model_reply import ModelReply
from rlds_kit.shaping.manuals.reasoning import Verdict

VERDICTS: Final[tuple[str, ...]] = get_args(Verdict)
_REPLIES: Final = "replies"
REWARD: Final = 5.0
"""The paper's auxiliary reward; any in (2, 50) has the same effect where rewards are clipped (section A.1)."""


class TableError(RldsKitError, ValueError):
    """A table of interactions is invalid, or lacks an object."""


@dataclass(frozen=True)
class Interaction:
    """The effect of contacts with one kind of object.

    Attributes:
      object: the category of the object in the game.
      word: its name in the manual; "" if the manual does not mention it.
      context: the questions and answers from which the verdict was made.
      yes: the probability of "Yes, hit it".
      verdict: of the reasoner.
      override: the verdict of a person, which replaces that of the reasoner; None: there is no override.
      overridden_by: the name of this person.
      replies: of a language model about this object; empty if there are none.
    """

    object: str
    word: str
    context: str
    yes: float
    verdict: Verdict
    override: Verdict | None = None
    overridden_by: str = ""
    replies: tuple[ModelReply, ...] = ()

    @property
    def decided(self) -> Verdict:
        """The effective verdict: the override if there is one."""
        return self.override or self.verdict

    @property
    def reward(self) -> float:
        """The reward of a contact: 5, -5, or 0 if there is no verdict."""
        return {"yes": REWARD, "no": -REWARD, "abstain": 0.0}[self.decided]


def interaction_of(row: object, number: int) -> Interaction:
    """Parses a row.

    Raises:
      TableError: it is invalid; the message names the field.
    """
    where = f"interaction {number}"
    read = Interaction(**checked(Interaction, row, where))
    for name in ("verdict", "override"):
        value = getattr(read, name)
        if value not in VERDICTS and not (name == "override" and value is None):
            raise TableError(f"expected {name} of {where} to be one of {', '.join(VERDICTS)}, got {value!r}")
    if not 0 <= read.yes <= 1:
        raise TableError(f"expected yes of {where} in [0, 1], got {read.yes}")
    return read


def _replies(rows: object, where: str) -> tuple[ModelReply, ...]:
    """Parses the replies of a language model; errors name their place."""
    return tuple(reply_of(row, f"statement {number} of {where}") for number, row in enumerate(list_of(rows, where)))


def reply_of(row: object, where: str) -> ModelReply:
    """Parses a reply of a language model.

    Raises:
      TableError: it is invalid; the message names the field.
    """
    values = checked(ModelReply, row, where)
    try:
        candidates = tuple((_token(token), float(logarithm)) for token, logarithm in values["log_probabilities"])
        return ModelReply(**{**values, "log_probabilities": candidates})
    except (TypeError, ValueError) as error:
        raise TableError(f"expected log-probabilities of {where} as pairs of text and number: {error}") from error


def _token(value: object) -> str:
    if not isinstance(value, str) or not _is_whole(value):
        raise ValueError(f"expected a token, got {value!r}")
    return value


def list_of(value: object, where: str) -> list[Any]:
    """A list from JSON.

    Raises:
      TableError: it is not a list.
    """
    if not isinstance(value, list):
        raise TableError(f"expected a list of {where}, got {type(value).__name__}")
    return value


def checked(kind: type, content: object, where: str) -> dict[str, Any]:
    """The fields of a dataclass, with the types of texts and numbers checked; `replies` may be missing.

    Raises:
      TableError: a field is missing, has another type, or is not known.
    """
    if not isinstance(content, Mapping):
        raise TableError(f"expected {where} to be an object with fields, got {type(content).__name__}")
    expected: dict[str, Any] = {field.name: field.type for field in fields(kind)}
    if odd := sorted((content.keys() ^ expected.keys()) - {_REPLIES}):
        raise TableError(
            f"expected {where} to have the fields {', '.join(expected)}; wrong or missing: {', '.join(odd)}"
        )
    for name, declared in expected.items():
        allowed = {str: (str,), float: (int, float), int: (int,)}.get(declared)
        if allowed is not None and not isinstance(content[name], allowed):
            raise TableError(f"expected {name} of {where} to be a {declared.__name__}, got {content[name]!r}")
        if declared is str and not _is_whole(content[name]):
            raise TableError(f"expected {name} of {where} to be text, got halves of characters: {content[name]!r}")
    replies = {_REPLIES: _replies(content[_REPLIES], where)} if _REPLIES in content and _REPLIES in expected else {}
    return {**content, **replies}


def _is_whole(text: str) -> bool:
    """Whether a text has no lone surrogates, which UTF-8 cannot encode."""
    return not any("\ud800" <= each <= "\udfff" for each in text)
