"""Measures how a table of interactions depends on each question about the manual (Table 5 of the paper)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rlds_kit.shaping.manuals.answering import Answer, QuestionAnswerer, WordAnswerer
from rlds_kit.shaping.manuals.manual import Manual
from rlds_kit.shaping.manuals.questions import GENERIC
from rlds_kit.shaping.manuals.reading import read_manual
from rlds_kit.shaping.manuals.reasoning import Reasoner
from rlds_kit.shaping.manuals.table import InteractionTable


@dataclass(frozen=True)
class _SomeQuestions:
    """An answerer that answers only some questions, or all but some."""

    answerer: QuestionAnswerer
    questions: Collection[str]
    are_left_out: bool

    @property
    def fingerprint(self) -> str:
        what = "without" if self.are_left_out else "only"
        return f"{self.answerer.fingerprint} {what}={'|'.join(self.questions)}"

    def answer(self, question: str, manual: Manual) -> Answer:
        is_put = (question in self.questions) != self.are_left_out
        return self.answerer.answer(question, manual) if is_put else Answer("")


def generic_answers(manual: Manual, answerer: QuestionAnswerer | None = None) -> dict[str, str]:
    """The answers of a manual to the four generic questions; "" if there is none.

    Args:
      manual: of a game.
      answerer: finds answers; None: `WordAnswerer`.

    >>> pac = Manual("Pac", "Ghosts are your enemies. Eat dots to score.", "an example")
    >>> generic_answers(pac)["Who are your enemies?"]
    'Ghosts are your enemies.'
    """
    answerer = answerer or WordAnswerer()
    return {question: answerer.answer(question, manual).text for question in GENERIC}


def ablations(
    manual: Manual,
    *,
    objects: Mapping[str, Sequence[str]] | None = None,
    answerer: QuestionAnswerer | None = None,
    reasoner: Reasoner | None = None,
) -> dict[str, InteractionTable]:
    """Reads a manual with all questions, without each generic one, without all of them, and with these only.

    Args:
      manual: of a game.
      objects: as for `read_manual`.
      answerer: as for `read_manual`.
      reasoner: as for `read_manual`.

    Returns:
      The tables, by a description of their questions.

    Raises:
      ManualError: as for `read_manual`.

    >>> pac = Manual("Pac", "Eat every dot to score points. Avoid each ghost, or you lose a life.", "an example")
    >>> for done, table in ablations(pac, objects={"Ghost": ["ghost"]}).items():
    ...     print(f"{done}: {table['Ghost'].verdict}")
    all questions: no
    without "What is the objective of the game?": no
    without "How to succeed in the game?": no
    without "How to score at the game?": no
    without "Who are your enemies?": no
    only about the object: no
    only the generic ones: abstain
    """
    answerer = answerer or WordAnswerer()
    readers: dict[str, QuestionAnswerer] = {"all questions": answerer}
    readers |= {f'without "{each}"': _SomeQuestions(answerer, (each,), are_left_out=True) for each in GENERIC}
    readers["only about the object"] = _SomeQuestions(answerer, GENERIC, are_left_out=True)
    readers["only the generic ones"] = _SomeQuestions(answerer, GENERIC, are_left_out=False)
    return {
        done: read_manual(manual, objects=objects, answerer=each, reasoner=reasoner) for done, each in readers.items()
    }
