"""Small forms: questions with text, a number, a choice, or a Likert scale."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.crowd.tasks.table import Table

KINDS: Final = ("text", "number", "choice", "likert")
_LONGEST: Final = 10_000
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
      name: of the answer.
      label: what people read.
      kind: text, number, choice, or likert: a whole number from 1 to `points`.
      options: of a choice.
      points: of a Likert scale.
      least, most: of a number.
      is_required: whether it must be answered.
      correct: the answer that a comprehension check expects; None: there is none.

    >>> Question("age", "Your age", "number", least=18, most=120).problem(17)
    'age: expected a number from 18 to 120, got 17'
    """

    name: str
    label: str
    kind: str = "text"
    options: tuple[str, ...] = ()
    points: int = 5
    least: float = float("-inf")
    most: float = float("inf")
    is_required: bool = True
    correct: Any = None  # text or a number, by kind

    def problem(self, answer: object) -> str | None:
        """What is wrong with an answer; None: nothing."""
        if answer is None or answer == "":
            return f"{self.name}: expected an answer, got nothing" if self.is_required else None
        return None if self._fits(answer) else f"{self.name}: expected {self.expected}, got {_shown(answer)}"

    @property
    def expected(self) -> str:
        """What an answer has to be."""
        if self.kind == "number":
            return f"a number from {self.least:g} to {self.most:g}"
        if self.kind == "likert":
            return f"a whole number from 1 to {self.points}"
        return f"one of {', '.join(self.options)}" if self.kind == "choice" else f"text of up to {_LONGEST} characters"

    def _fits(self, answer: object) -> bool:
        if self.kind == "number":
            is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
            is_finite = is_number and -math.inf < answer < math.inf  # type: ignore[operator]  # it is a number
            return is_finite and self.least <= answer <= self.most  # type: ignore[operator]  # it is a number
        if self.kind == "likert":
            return isinstance(answer, int) and not isinstance(answer, bool) and 1 <= answer <= self.points
        if self.kind == "choice":
            return answer in self.options
        return isinstance(answer, str) and len(answer) <= _LONGEST


def _shown(answer: object) -> str:
    """An answer in a message: the beginning of one that is long, and no digits of a number that has thousands."""
    if isinstance(answer, int) and answer.bit_length() > 64:
        return f"a number of {answer.bit_length()} bits"
    text = repr(answer)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


Form = tuple[Question, ...]


def problems(form: Form, answers: Mapping[str, object]) -> list[str]:
    """All that is wrong with answers, by name of the question; unknown names too.

    >>> problems((Question("age", "Your age", "number"),), {"agge": 3})
    ['age: expected an answer, got nothing', 'agge: there is no such question']
    """
    found = [each.problem(answers.get(each.name)) for each in form]
    unknown = [f"{name}: there is no such question" for name in answers.keys() - {each.name for each in form}]
    return [each for each in found if each is not None] + sorted(unknown)


def mistakes(form: Form, answers: Mapping[str, object]) -> tuple[str, ...]:
    """The questions of a comprehension check that were not answered correctly.

    >>> mistakes((Question("goal", "What is shot?", correct="aliens"),), {"goal": "shields"})
    ('goal',)
    """
    return tuple(each.name for each in form if each.correct is not None and answers.get(each.name) != each.correct)


def read_form(rows: Sequence[Table], *, is_check: bool = False) -> Form:
    """A form from the tables of a file; problems are noted in the tables."""
    form: list[Question] = []
    for row in rows:
        kind = row.choice("kind", KINDS, "text")
        question = Question(
            row.text("name"),
            row.text("label"),
            kind,
            row.texts("options"),
            row.integer("points", 5, least=2),
            row.number("least", float("-inf"), least=float("-inf")),
            row.number("most", float("inf"), least=float("-inf")),
            row.flag("required", default=True),
            row.value("correct"),
        )
        if not question.name.isidentifier() or any(each.name == question.name for each in form):
            row.wrong("name", "letters, digits and _, different from all others")
        if kind == "choice" and len(question.options) < 2:
            row.wrong("options", "at least two texts")
        if is_check and (question.correct is None or question.problem(question.correct) is not None):
            row.wrong("correct", f"the correct answer: {question.expected}")
        if question.least > question.most:
            row.wrong("most", f"a number from {question.least:g}, which is the least, on")
        row.no_more()
        form.append(question)
    return tuple(form)
