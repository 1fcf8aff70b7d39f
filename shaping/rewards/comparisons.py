"""Pairs of segments with an outcome, from responses: the training data of reward models."""

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from rlds_kit.shaping.preferences.answers import Choice, Comparison, Ranking
from rlds_kit.shaping.preferences.query import Response, latest
from rlds_kit.shaping.preferences.segment import Segment


class Pair(NamedTuple):
    """Two segments, and which is better.

    Attributes:
      first: segment.
      second: segment.
      choice: FIRST, SECOND or TIE.
      weight: of the pair: the confidence of the annotator; for rankings divided between the pairs, so that all kinds of
        responses have the same weight.
    """

    first: Segment
    second: Segment
    choice: Choice
    weight: float


def pairs(responses: Iterable[Response]) -> list[Pair]:
    """The pairs of comparisons and rankings, in their order. Other kinds are left out.

    Only the latest response of an annotator to a query is used. "Cannot say", and responses with confidence 0, give no
    pairs.
    """
    return [pair for each in latest(responses) for pair in _pairs(each) if pair.weight > 0]


def _pairs(response: Response) -> list[Pair]:
    answer, segments = response.answer, response.query.segments
    if isinstance(answer, Comparison):
        given = answer.choice is not Choice.CANNOT_SAY
        return [Pair(segments[0], segments[1], answer.choice, response.confidence)] if given else []
    if not isinstance(answer, Ranking):
        return []
    ranked = [(each, rank) for each, rank in zip(segments, answer.ranks, strict=True) if rank is not None]
    both = list(combinations(ranked, 2))
    weight = response.confidence / max(1, len(both))
    return [Pair(first[0], second[0], _better(first[1], second[1]), weight) for first, second in both]


def _better(first: int, second: int) -> Choice:
    if first == second:
        return Choice.TIE
    return Choice.FIRST if first < second else Choice.SECOND
