"""Answers to questions about a manual: passages of its text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rlds_kit.shaping.manuals.manual import Manual
from rlds_kit.shaping.manuals.said import Said
from rlds_kit.shaping.manuals.sentences import Span, chunks, sentences
from rlds_kit.shaping.manuals.tf_idf import similarity, vectors


@dataclass(frozen=True)
class Answer:
    """What a manual says about a question.

    Attributes:
      text: passages of the manual in its order, separated by spaces; "" if there is no answer.
      spans: of the passages in the text of the manual.
      score: in [0, 1], of the best passage; comparable for one answerer only.
      said: what a language model said; empty if there is none.
    """

    text: str
    spans: tuple[Span, ...] = ()
    score: float = 0.0
    said: tuple[Said, ...] = ()


class QuestionAnswerer(Protocol):
    """Whatever finds answers in a manual."""

    @property
    def fingerprint(self) -> str:
        """Names the method, its model with a hash, and its parameters: equal ones give equal answers."""

    def answer(self, question: str, manual: Manual) -> Answer:
        """Returns the answer, which consists of passages of the manual."""


@dataclass(frozen=True)
class WordAnswerer:
    """Takes the sentences of each chunk that share the rarest words with the question (TF-IDF). Needs no model.

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
        for chunk in chunks(manual.text, self.size, self.overlap):
            for span, score in self._best(question, manual.text, chunk):
                found[span] = max(score, found.get(span, 0.0))
        return joined(manual.text, found)

    def _best(self, question: str, text: str, chunk: Span) -> list[tuple[Span, float]]:
        """The best sentences of a chunk; of equal ones the first."""
        part = text[chunk.start : chunk.end]
        spans = [Span(chunk.start + start, chunk.start + end) for start, end in sentences(part)]
        wanted, *weights = vectors([question, *(text[start:end] for start, end in spans)])
        scored = [(span, similarity(wanted, each)) for span, each in zip(spans, weights, strict=True)]
        best = sorted(scored, key=lambda each: -each[1])[: self.most]
        return [each for each in best if each[1] >= self.least]


def joined(text: str, found: dict[Span, float]) -> Answer:
    """Joins the passages of several chunks in the order of the text; one that another contains is left out."""
    spans = sorted(found)
    spans = [span for span in spans if not any(_contains(other, span) for other in spans)]
    passages = " ".join(" ".join(text[start:end].split()) for start, end in spans)
    return Answer(passages, tuple(spans), max(found.values(), default=0.0))


def _contains(outer: Span, inner: Span) -> bool:
    return outer != inner and outer.start <= inner.start and inner.end <= outer.end


def mentions(manual: Manual, names: Sequence[str]) -> tuple[Span, ...]:
    """The sentences of a manual that contain one of some words, in order.

    >>> mentions(Manual("Pong", "Hit balls. Win.", source="an example"), ["ball"])
    (Span(start=0, end=10),)
    """
    wanted = [vectors([name])[0].keys() for name in names]
    found = [(span, vectors([manual.text[span.start : span.end]])[0].keys()) for span in sentences(manual.text)]
    return tuple(span for span, stems in found if any(each and each <= stems for each in wanted))
