"""Agreement of annotators: Krippendorff's alpha."""

import sys
import uuid

import numpy as np
import pytest

from rlds_kit.base import MissingExtraError
from rlds_kit.shaping import preferences as pf

PUBLISHED = """
*  *  *  *  *  3  4  1  2  1  1  3  3  *  3
1  *  2  1  3  3  4  3  *  *  *  *  *  *  *
*  *  2  1  3  4  4  *  2  1  1  3  3  *  4
"""
"""Three observers and 15 units: the example of Krippendorff, "Computing Krippendorff's Alpha-Reliability"."""


def test_published_example() -> None:
    """Alpha is 0.691 for nominal and 0.811 for interval data."""
    values = np.array([[float(each.replace("*", "nan")) for each in row.split()] for row in PUBLISHED.split("\n")[1:4]])
    nominal, interval = pf.krippendorff_alpha(values, "nominal"), pf.krippendorff_alpha(values, "interval")
    assert nominal == pytest.approx(0.691, abs=5e-4)
    assert interval == pytest.approx(0.811, abs=5e-4)


def pairs(annotator: str, *choices: pf.Choice) -> list[pf.Response]:
    """What an annotator answers about the first, second, ... pair."""
    made = []
    for number, choice in enumerate(choices):
        segments = pf.Segment(uuid.UUID(int=2 * number)), pf.Segment(uuid.UUID(int=2 * number + 1))
        query = pf.Query(kind="comparison", segments=segments)
        made.append(pf.Response(query=query, answer=pf.Comparison(choice), annotator=annotator))
    return made


A, B, TIE, NONE = pf.Choice


def test_comparisons_are_nominal_and_cannot_say_is_missing() -> None:
    """Of four pairs that both compared they agree on three; alpha by hand, from coincidences."""
    found = pf.agreement([*pairs("ann", A, B, TIE, A, NONE), *pairs("bob", A, B, TIE, B, A)])
    coincidences = 8 * 7 - (3 * 2 + 3 * 2 + 2 * 1)  # 3 times A, 3 times B, 2 ties: pairs of different values
    assert found.alpha == pytest.approx(1 - 7 * 2 / coincidences)
    assert (found.equal, found.units, found.annotators, found.level) == (0.75, 4, 2, "nominal")


def test_the_latest_answer_counts() -> None:
    found = pf.agreement([*pairs("ann", A, A), *pairs("bob", A, B), *pairs("ann", A, B)])
    assert (found.alpha, found.equal) == (1.0, 1.0)


def test_ratings_are_interval_and_rankings_ordinal() -> None:
    segments = [pf.Segment(uuid.UUID(int=number)) for number in range(3)]
    rated = [
        pf.Response(query=pf.Query(kind="rating", segments=(one,)), answer=pf.Rating(value, 1, 5), annotator=who)
        for who, values in {"ann": (1.0, 3.0, None), "bob": (2.0, 5.0, 4.0)}.items()
        for one, value in zip(segments, values, strict=True)
    ]
    table = np.array([[1.0, 3.0, np.nan], [2.0, 5.0, 4.0]])
    found = pf.agreement(rated)
    assert (found.alpha, found.units, found.level) == (pf.krippendorff_alpha(table, "interval"), 2, "interval")
    query = pf.Query(kind="ranking", segments=tuple(segments))
    ranked = [pf.Response(query=query, answer=pf.Ranking((1, 2, 3)), annotator=who) for who in ("ann", "bob")]
    assert (pf.agreement(ranked).alpha, pf.agreement(ranked).level) == (1.0, "ordinal")


def test_undefined_alpha_is_none() -> None:
    """One annotator, no units with two values, or nothing but equal values."""
    assert pf.agreement(pairs("ann", A, B)).alpha is None
    assert pf.agreement([*pairs("ann", A, A), *pairs("bob", A, A)]).alpha is None
    assert pf.agreement([]) == pf.Agreement(None, None, 0, 0, "nominal")


def test_kinds_are_not_mixed() -> None:
    remark = pf.Query(kind="text", segments=(pf.Segment(uuid.UUID(int=0)),))
    with pytest.raises(ValueError, match="of one kind"):
        pf.agreement([*pairs("ann", A), pf.Response(query=remark, answer=pf.Remark("good"), annotator="ann")])


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(MissingExtraError, match=r"krippendorff is not installed: .*\[agreement\]"):
        pf.agreement([*pairs("ann", A, B), *pairs("bob", A, B)])
