"""The questions about a manual, verbatim from the paper "Read and Reap the Rewards" (section 3)."""

from collections.abc import Iterable
from typing import Final

GENERIC: Final = (
    "What is the objective of the game?",
    "How to succeed in the game?",
    "How to score at the game?",
    "Who are your enemies?",
)
"""Table 5 of the paper."""
OBJECT: Final = "What happens when the player hit a {object}?"
"""The question about an object, with the grammar of the paper."""
REASONING: Final = "{context} Question: Should you hit a {object} if you want to win? Answer: "


def object_question(name: str) -> str:
    """The question about one object.

    >>> object_question("ghost")
    'What happens when the player hit a ghost?'
    """
    return OBJECT.format(object=name)


def context(pairs: Iterable[tuple[str, str]]) -> str:
    """Joins questions and answers like a dialogue; pairs without an answer are left out.

    >>> context([("How to score at the game?", "Eat dots."), ("Who are your enemies?", "")])
    'Question: How to score at the game? Answer: Eat dots.'
    """
    return " ".join(f"Question: {question} Answer: {answer}" for question, answer in pairs if answer)


def reasoning_prompt(text: str, name: str) -> str:
    """The question that a reasoner answers with Yes or No.

    Args:
      text: of `context`.
      name: of the object.

    >>> reasoning_prompt("Ghosts kill.", "ghost")
    'Ghosts kill. Question: Should you hit a ghost if you want to win? Answer: '
    """
    return REASONING.replace("{object}", name).replace("{context}", text)
