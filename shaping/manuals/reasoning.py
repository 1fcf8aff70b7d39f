"""Judges whether one should hit an object, from passages of a manual about it."""

import math
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from rlds_kit.shaping.manuals.model_reply import ModelReply
from rlds_kit.shaping.manuals.sentences import sentences, stem, words

Verdict = Literal["yes", "no", "abstain"]


@dataclass(frozen=True)
class Judgement:
    """The answer to "Should you hit it?".

    Attributes:
      yes: the probability of Yes against No, in [0, 1].
      verdict: "abstain" if the text does not answer the question.
      replies: of a language model; empty if there are none.
    """

    yes: float
    verdict: Verdict
    replies: tuple[ModelReply, ...] = ()


class Reasoner(Protocol):
    """The interface of reasoners, which judge from a text."""

    @property
    def fingerprint(self) -> str:
        """Identifies the method, its model with a hash, and its parameters: equal ones give equal judgements."""

    def judge(self, context: str, name: str) -> Judgement:
        """Judges whether to hit the object `name`, from questions and answers about a manual."""


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


GOOD: Final = _stems(
    "bonus catch catches clear collect collects complete deliver destroy destroys earn earns eat eats extra "
    "gain gains gather knock pick points rescue rescues return returned returning refuel refuels reward rewarded "
    "save saved score scores scoring shoot shot win wins worth pass between replenish reach"
)
"""Stems of words for wishes."""
BAD: Final = _stems(
    "avoid avoids avoiding bite bites blow collide colliding collision costs crash crashes crashing danger dangerous "
    "dead "
    "deadly death die dies dodge dodging end ends escape evade explode explodes fatal hazard hurt kill killed killing "
    "kills killer lethal lose loses losing loss lost obstacle obstacles penalty punch risk slow slows steer stop stops "
    "struck trap wreck"
)
"""Stems of words for fears."""
NEGATIONS: Final = frozenset({"not", "never", "no", "without", "don't", "cannot", "can't", "doesn't"})
_QUESTION, _ANSWER = "Question:", "Answer:"
REACH: Final = 3
"""Number of words after a negation that it inverts."""
FEAR: Final = 2.0
"""A fear weighs as much as two wishes: death also ends the collection of points."""


@dataclass(frozen=True)
class WordReasoner:
    """Counts positive and negative words in the sentences that mention the object. Needs no model.

    Attributes:
      undecided: abstains if the probability of Yes is closer than this to 0.5.

    >>> WordReasoner().judge("Question: Who? Answer: A ghost kills you. Eat dots to score.", "ghost").verdict
    'no'
    """

    undecided: float = 0.05

    @property
    def fingerprint(self) -> str:
        """See `Reasoner`."""
        return f"words-1 fear={FEAR} reach={REACH} undecided={self.undecided}"

    def judge(self, context: str, name: str) -> Judgement:
        """See `Reasoner`."""
        balance = math.fsum(_balance(each) for each in sentences_about(context, name))
        yes = 1 / (1 + math.exp(-max(-50.0, min(50.0, balance))))
        if abs(yes - 0.5) < self.undecided:
            return Judgement(yes, "abstain")
        return Judgement(yes, "yes" if yes > 0.5 else "no")


def sentences_about(context: str, name: str) -> list[str]:
    """The sentences of the answers that mention an object, each once, sorted.

    >>> sentences_about("Question: What do ghosts do? Answer: Ghosts kill. Eat dots.", "ghost")
    ['Ghosts kill.']
    """
    stems = set(words(name))
    answers = _answers(context)
    about = {answers[start:end] for start, end in sentences(answers)}
    return [each for each in sorted(about) if stems <= set(words(each))]


def _answers(context: str) -> str:
    r"""The text without its questions. A regular expression would take quadratic time for a text of many "Question:".

    >>> _answers("Question: Who? Answer: A ghost. Question: Why?")
    '\n\n A ghost. Question: Why?'
    """
    parts, at = [], 0
    while (question := context.find(_QUESTION, at)) >= 0 and (answer := context.find(_ANSWER, question)) >= 0:
        parts.append(context[at:question])
        at = answer + len(_ANSWER)
    return "\n\n".join([*parts, context[at:]])


def _balance(sentence: str) -> float:
    """The weighted number of positive minus negative words of a sentence; a negation inverts the next words.

    >>> _balance("Do not eat the mushroom."), _balance("Eat the mushroom.")
    (-2.0, 1.0)
    """
    found = words(sentence)
    balance = 0.0
    for place, word in enumerate(found):
        is_negated = not NEGATIONS.isdisjoint(found[max(0, place - REACH) : place])
        if word in GOOD:
            balance += -FEAR if is_negated else 1.0
        elif word in BAD:
            balance += 1.0 if is_negated else -FEAR
    return balance
