"""Pairs to learn from, of responses."""

import uuid

from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping import rewards as rw

S = [pf.Segment(uuid.UUID(int=number)) for number in range(4)]
FIRST, SECOND, TIE, CANNOT_SAY = pf.Choice


def compared(choice: pf.Choice, annotator: str = "ann", confidence: float = 1.0) -> pf.Response:
    query = pf.Query(kind="comparison", segments=(S[0], S[1]))
    return pf.Response(query=query, answer=pf.Comparison(choice), annotator=annotator, confidence=confidence)


def test_comparisons_become_pairs() -> None:
    """Not those that cannot be decided, nor those without confidence; the latest of an annotator counts."""
    given = [compared(FIRST), compared(TIE, "bob", 0.5), compared(CANNOT_SAY, "eve"), compared(FIRST, "kim", 0.0)]
    assert rw.pairs(given) == [rw.Pair(S[0], S[1], FIRST, 1.0), rw.Pair(S[0], S[1], TIE, 0.5)]
    assert rw.pairs([compared(FIRST), compared(SECOND)]) == [rw.Pair(S[0], S[1], SECOND, 1.0)]
    assert rw.pairs([compared(FIRST), compared(CANNOT_SAY)]) == []


def test_rankings_become_pairs_of_the_same_weight_in_sum() -> None:
    """Three of four segments have a rank: three pairs."""
    query = pf.Query(kind="ranking", segments=tuple(S))
    ranking = pf.Response(query=query, answer=pf.Ranking((2, None, 1, 2)), annotator="ann", confidence=0.6)
    wanted = [(S[0], S[2], SECOND), (S[0], S[3], TIE), (S[2], S[3], FIRST)]
    found = rw.pairs([ranking])
    assert [each[:3] for each in found] == wanted
    assert abs(sum(each.weight for each in found) - 0.6) < 1e-12


def test_other_kinds_are_left_out() -> None:
    query = pf.Query(kind="text", segments=(S[0],))
    assert rw.pairs([pf.Response(query=query, answer=pf.Remark("good"), annotator="ann")]) == []
