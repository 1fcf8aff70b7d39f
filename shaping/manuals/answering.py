"""Answers to questions about a manual: passages of its text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from rlds_kit.shaping.manuals.manual import Manual
from rlds_kit.shaping.manuals.model_reply import ModelReply
from rlds_kit.shaping.manuals.sentence_index import SentenceIndex
from rlds_kit.shaping.manuals.sentences import Span, chunks, sentences
from rlds_kit.shaping.manuals.tf_idf import telling


@dataclass(frozen=True)
class Answer:
    """The answer of a manual to a question.

    Attributes:
      text: passages of the manual in its order, separated by spaces; "" if there is no answer.
      spans: of the passages in the text of the manual.
      score: in [0, 1], of the best passage; comparable for one answerer only.
      replies: of a language model; empty if there are none.
    """

    text: str
    spans: tuple[Span, ...] = ()
    score: float = 0.0
    replies: tuple[ModelReply, ...] = ()


class QuestionAnswerer(Protocol):
    """The interface of answerers, which find answers in a manual."""

    @property
    def fingerprint(self) -> str:
        """Identifies the method, its model with a hash, and its parameters: equal ones give equal answers."""

    def answer(self, question: str, manual: Manual) -> Answer:
        """Returns the answer, which consists of passages of the manual."""


@dataclass(frozen=True)
class WordAnswerer:
    """Selects the sentences of each chunk that share the rarest words with the question (TF-IDF). Needs no model.

    Attributes:
      most: the number of sentences of each chunk.
      least: the smallest score of a sentence.
      size: of chunks, in words.
      overlap: of chunks, in words.

    >>> manual = Manual("Pac-Man", "Eat all dots. A ghost takes a life.", source="an example")
    >>> WordAnswerer().answer("What happens when the player hit a ghost?", manual).text
    'A ghost takes a life.'
    """

    most: int = 3
    least: float = 0.1
    size: int = 384
    overlap: int = 64

    @property
    def fingerprint(self) -> str:
        """See `QuestionAnswerer`."""
        return f"words-1 most={self.most} least={self.least} size={self.size} overlap={self.overlap}"

    def answer(self, question: str, manual: Manual) -> Answer:
        """See `QuestionAnswerer`."""
        found: dict[Span, float] = {}
        for chunk in _indexed(manual.text, self.size, self.overlap):
            for span, score in best(chunk.scores(question, zeros=self.least <= 0), self.most, self.least):
                found[span] = max(score, found.get(span, 0.0))
        return joined(manual.text, found)


def best(scored: Iterable[tuple[Span, float]], most: int, least: float) -> list[tuple[Span, float]]:
    """The passages with the largest scores, of equal ones the first.

    Args:
      scored: passages in the order of the text.
      most: their maximum number.
      least: the smallest score.
    """
    found = sorted(scored, key=lambda each: -each[1])[:most]
    return [each for each in found if each[1] >= least]


def joined(text: str, found: dict[Span, float]) -> Answer:
    """Joins the passages of several chunks in the order of the text, without those that another one contains."""
    spans: list[Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if not spans or span.end > spans[-1].end:
            spans.append(span)
    passages = " ".join(" ".join(text[start:end].split()) for start, end in spans)
    return Answer(passages, tuple(spans), max(found.values(), default=0.0))


def mentions(manual: Manual, names: Sequence[str]) -> tuple[Span, ...]:
    """The sentences of a manual that contain one of some words, in order.

    >>> mentions(Manual("Pong", "Hit balls. Win.", source="an example"), ["ball"])
    (Span(start=0, end=10),)
    """
    wanted = [set(telling(name)) for name in names]
    return tuple(span for span, stems in _sentence_stems(manual.text) if any(each and each <= stems for each in wanted))


@lru_cache(maxsize=2)  # a manual is read with many questions
def _indexed(text: str, size: int, overlap: int) -> tuple[SentenceIndex, ...]:
    return tuple(SentenceIndex(text, chunk) for chunk in chunks(text, size, overlap))


@lru_cache(maxsize=2)
def _sentence_stems(text: str) -> tuple[tuple[Span, frozenset[str]], ...]:
    return tuple((span, frozenset(telling(text[span.start : span.end]))) for span in sentences(text))
