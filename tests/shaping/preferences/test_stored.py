"""Responses of every kind are stored as a layer, and read back exactly."""

import dataclasses
import uuid
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping.preferences.answers import from_plain, to_plain
from rlds_kit.tools import edit
from tests.shaping.preferences.recorded import record

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)
MARKS = st.builds(
    pf.Marks,
    features=st.lists(st.builds(pf.FeatureMark, st.text(), st.tuples(st.integers(0, 9)), NUMBERS), min_size=1).map(
        tuple
    ),
    places=st.lists(st.builds(pf.PlaceMark, *[st.integers(1, 99)] * 5, st.text(), NUMBERS, st.text()), max_size=2).map(
        tuple
    ),
)
ANSWERS = st.one_of(
    st.builds(pf.Comparison, st.sampled_from(pf.Choice)),
    st.builds(pf.Ranking, st.lists(st.none() | st.integers(1, 9), min_size=1, max_size=5).map(tuple)),
    st.builds(lambda value: pf.Rating(value, low=-1e9, high=1e9), st.none() | st.floats(-1e9, 1e9)),
    st.builds(
        pf.Correction,
        st.integers(0, 3),
        st.lists(st.floats(width=32), min_size=1).map(lambda values: np.array(values, np.float32)),
        st.none() | st.uuids(),
    ),
    st.builds(pf.Demonstration, st.text()),
    st.builds(pf.Remark, st.text(min_size=1)),
    MARKS,
)


def segments_for(answer: pf.Answer, dataset: rlds_kit.Dataset) -> tuple[pf.Segment, ...]:
    """As many segments as an answer fits, of different episodes and whole ones."""
    some = [pf.Segment.of(dataset.episodes[0][2:6]), pf.Segment.of(dataset.episodes[1]), *pf.cut(dataset.episodes, 3)]
    count = next(number for number in range(1, 10) if answer.fits(number))
    return tuple(some[:count])


@settings(max_examples=10)
@given(answers=st.lists(ANSWERS, min_size=1, max_size=9), confidence=st.floats(0, 1))
def test_every_answer_is_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, answers: list[pf.Answer], confidence: float
) -> None:
    """Whatever the kind, with all bits of arrays, and in order."""
    dataset = record(tmp_path_factory.mktemp("exact"))
    given_ = [
        pf.Response(
            query=pf.Query(
                kind=each.KIND,
                segments=segments_for(each, dataset),
                question="Which?",
                strategy="mine",
                parameters={"p": [0.1, None, ("a", 2**70)]},
            ),
            answer=each,
            annotator=f"annotator {number}",
            confidence=confidence,
        )
        for number, each in enumerate(answers)
    ]
    dataset.annotate("opinions", pf.drafts(given_), source="import")
    found = pf.responses(dataset.layer("opinions"))
    assert list(found.whole) == given_
    assert [each.query.parameters for each in found.whole] == [each.query.parameters for each in given_]
    assert found.partial == ()
    assert all(each.time_ns > 0 for each in found.whole)


@given(answer=ANSWERS)
def test_plain_form_has_an_inverse(answer: pf.Answer) -> None:
    """Types of all parts included."""
    back = from_plain(answer.KIND, to_plain(answer))
    assert type(back) is type(answer)
    assert back == answer


def compared(dataset: rlds_kit.Dataset, choice: pf.Choice = pf.Choice.FIRST, annotator: str = "ann") -> pf.Response:
    """A comparison of steps of two episodes."""
    pair = pf.Segment.of(dataset.episodes[0][2:6]), pf.Segment.of(dataset.episodes[1][4:8])
    return pf.Response(
        query=pf.Query(kind="comparison", segments=pair), answer=pf.Comparison(choice), annotator=annotator
    )


def test_latest_answer_of_each_annotator_counts(tmp_path: Path) -> None:
    """All are stored; corrections supersede what the same annotator answered, not what others did."""
    dataset = record(tmp_path / "data")
    mind = [compared(dataset), compared(dataset, pf.Choice.TIE, "bob"), compared(dataset, pf.Choice.CANNOT_SAY)]
    for each in mind:
        dataset.annotate("opinions", pf.drafts([each]), source="import")
    stored = pf.responses(dataset.layer("opinions")).whole
    assert list(stored) == mind
    assert pf.latest(stored) == mind[1:]


def test_a_response_can_be_taken_back(tmp_path: Path) -> None:
    dataset = record(tmp_path / "data")
    dataset.annotate("opinions", pf.drafts([compared(dataset), compared(dataset, annotator="bob")]), source="import")
    first, second = pf.responses(dataset.layer("opinions")).whole
    dataset.annotate("opinions", pf.retractions(first), source="ann")
    assert pf.responses(dataset.layer("opinions")) == pf.Responses((second,), ())
    with pytest.raises(ValueError, match="does not know its annotations"):
        pf.retractions(compared(dataset))


def test_copies_of_episodes_take_their_responses_along(tmp_path: Path) -> None:
    """A merge has each once; a copy without one of the episodes, or their steps, names the response that lost it."""
    dataset = record(tmp_path / "data")
    dataset.annotate("opinions", pf.drafts([compared(dataset)]), source="import")
    wanted = pf.responses(dataset.layer("opinions"))
    edit.merge([tmp_path / "data"], tmp_path / "all")
    assert pf.responses(rlds_kit.open(tmp_path / "all").layer("opinions")) == wanted
    edit.filter(tmp_path / "data", tmp_path / "one", "length > 12")
    edit.trim(tmp_path / "data", tmp_path / "short", end=6)
    for name in ("one", "short"):
        lost = pf.responses(rlds_kit.open(tmp_path / name).layer("opinions"))
        assert lost == pf.Responses((), (wanted.whole[0].id,)), name


def test_a_trim_renumbers_segments(tmp_path: Path) -> None:
    """Where all of their steps are left."""
    dataset = record(tmp_path / "data")
    dataset.annotate("opinions", pf.drafts([compared(dataset)]), source="import")
    edit.trim(tmp_path / "data", tmp_path / "later", begin=2)
    (found,) = pf.responses(rlds_kit.open(tmp_path / "later").layer("opinions")).whole
    assert [each.steps for each in found.query.segments] == [range(4), range(2, 6)]
    assert found.answer == pf.Comparison(pf.Choice.FIRST)


def test_other_notes_of_the_layer_are_not_responses(tmp_path: Path) -> None:
    dataset = record(tmp_path / "data")
    remark = rlds_kit.layers.note(dataset.episodes[0], "nice", user_data={"schema": "another"})
    dataset.annotate("opinions", [remark, rlds_kit.layers.tag(dataset.episodes[0], "good")], source="ann")
    assert pf.responses(dataset.layer("opinions")) == pf.Responses((), ())


def test_newer_versions_are_refused(tmp_path: Path) -> None:
    dataset = record(tmp_path / "data")
    data = {"schema": "rlds_kit.preferences", "version": 2, "response": str(uuid.uuid4())}
    dataset.annotate("opinions", [rlds_kit.layers.note(dataset.episodes[0], "x", user_data=data)], source="ann")
    with pytest.raises(rlds_kit.FormatError, match="expected version 1 of responses, got 2"):
        pf.responses(dataset.layer("opinions"))


@pytest.mark.parametrize(
    "change",
    [
        {"response": None},
        {"response": 7},
        {"segments": "2"},
        {"answer": 3},
        {"answer": {"choice": []}},
        {"kind": "marks", "answer": {"features": [{"x": 1}], "places": []}},
        {"kind": "correction", "answer": {"step": 0, "actions": None, "played": 5}},
    ],
    ids=str,
)
def test_faults_of_another_writer_name_the_annotation(tmp_path: Path, change: dict[str, object]) -> None:
    dataset = record(tmp_path / "data")
    first, second = pf.drafts([compared(dataset)])
    broken = dataclasses.replace(first, user_data={**first.user_data, **change})
    dataset.annotate("opinions", [broken, second], source="ann")
    with pytest.raises(rlds_kit.FormatError, match=r"annotation [0-9a-f-]+: "):
        pf.responses(dataset.layer("opinions"))
