"""Invalid answers, queries and segments raise an error that states what was expected."""

import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping.preferences.answers import from_plain
from tests.shaping.preferences.recorded import record

HERE = pf.Segment(uuid.UUID(int=1), range(2, 6))
INVALID: list[tuple[Callable[[], object], str]] = [
    (lambda: pf.Segment(uuid.UUID(int=1), range(3, 3)), "consecutive steps"),
    (lambda: pf.Segment(uuid.UUID(int=1), range(0, 9, 2)), "consecutive steps"),
    (lambda: pf.Segment(uuid.UUID(int=1), range(-1, 3)), "consecutive steps"),
    (lambda: pf.Segment("1"), "a UUID"),  # type: ignore[arg-type]  # what is tested
    (lambda: pf.Comparison("first"), "a Choice"),  # type: ignore[arg-type]  # what is tested
    (lambda: pf.Ranking((1, 0)), "ranks from 1 on"),
    (lambda: pf.Ranking((1.5, 1)), "ranks from 1 on"),  # type: ignore[arg-type]  # what is tested
    (lambda: pf.Rating(6.0, 1.0, 5.0), "from 1.0 to 5.0"),
    (lambda: pf.Rating(float("nan"), 1.0, 5.0), "from 1.0 to 5.0"),
    (lambda: pf.Rating(None, 5.0, 5.0), "a scale"),
    (lambda: pf.Correction(0), "got neither"),
    (lambda: pf.Correction(-1, np.zeros(3)), "from 0 on"),
    (lambda: pf.Remark(""), "not empty"),
    (pf.Marks, "at least one"),
    (lambda: pf.Marks(places=(pf.PlaceMark(0, 0, 0, 0, 5),)), "a rectangle"),
    (lambda: pf.Query(kind="opinion", segments=(HERE,)), "got 'opinion'"),
    (lambda: pf.Query(kind="text", segments=()), "got none"),
    (lambda: answered(pf.Remark("good"), "rating"), "of the kind 'rating'"),
    (lambda: answered(pf.Comparison(pf.Choice.TIE), "comparison"), "about 1 segments"),
    (lambda: from_plain("smell", {}), "got 'smell'"),
    (lambda: from_plain("text", {"words": "x"}), "expected the fields"),
]


def answered(answer: pf.Answer, kind: str) -> pf.Response:
    """An answer to a query about one segment."""
    return pf.Response(query=pf.Query(kind=kind, segments=(HERE,)), answer=answer, annotator="ann")


@pytest.mark.parametrize(("make", "message"), INVALID, ids=[each[1] for each in INVALID])
def test_invalid_ones_say_what_was_expected(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_ids_of_queries_follow_from_what_they_are_about() -> None:
    """Not from their author; another order of segments is another query, because an answer numbers them."""
    other = pf.Segment(uuid.UUID(int=2))
    query = pf.Query(kind="comparison", segments=(HERE, other), question="?")
    assert pf.Query(kind="comparison", segments=(HERE, other), question="?", strategy="mine").id == query.id
    others = [
        pf.Query(kind="comparison", segments=(other, HERE), question="?"),
        pf.Query(kind="ranking", segments=(HERE, other), question="?"),
        pf.Query(kind="comparison", segments=(HERE, other), question="!"),
        pf.Query(kind="comparison", segments=(HERE, pf.Segment(uuid.UUID(int=2), range(3))), question="?"),
    ]
    assert len({query.id, *(each.id for each in others)}) == 5


def test_segments_have_actions_in_every_step(tmp_path: Path) -> None:
    """12, 9 and 10 actions: the last observation of an episode is in no segment."""
    dataset = record(tmp_path / "data")
    assert [each.steps for each in pf.cut(dataset.episodes, 5)] == [
        *(range(5), range(5, 10)),
        range(5),
        *(range(5), range(5, 10)),
    ]
    assert [each.steps for each in pf.cut([dataset.episodes[1]], 8, stride=1)] == [range(8), range(1, 9)]
    assert pf.Segment.of(dataset.episodes[1]).steps is None
    with pytest.raises(ValueError, match="at least 1"):
        pf.cut(dataset.episodes, 5, stride=0)


def test_lists_are_taken_as_what_is_read_back() -> None:
    """So that a response equals the stored one."""
    assert pf.Ranking([2, 1]) == pf.Ranking((2, 1))  # type: ignore[arg-type]  # what is tested
    assert pf.Correction(0, [1, 2]) == pf.Correction(0, np.array([1, 2]))  # type: ignore[arg-type]  # what is tested
