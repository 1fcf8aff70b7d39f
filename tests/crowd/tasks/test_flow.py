"""The way of one person, from the link to the end."""

import dataclasses
import datetime as dt
import random
from typing import Any

import pytest

from rlds_kit.crowd.tasks import (
    Book,
    Device,
    Person,
    Place,
    RecruitmentError,
    RefusedError,
    Source,
    Stage,
    code_hash,
    completion_address,
    new_code,
    parse_crowd,
    source_of,
)
from rlds_kit.crowd.tasks import flow as _flow
from rlds_kit.crowd.tasks.form import Question, problems
from tests.crowd.tasks.crowds import FILE, crowd

CROWD = crowd()
GOOD = Device(1200, 800, has_keyboard=True, latency_ms=30)
ANSWERS = {"age": 30, "often": 4}
PROLIFIC = Source("prolific", "5f1c", {})


def arrived(book: Book, key: str = "k", group: str = "main", source: Source = PROLIFIC, now: float = 0.0) -> Person:
    """A person who opened the link."""
    person = _flow.arrive(CROWD, book, source, group, key, f"{key}{len(book)}", now)
    book.put(person)
    return person


def in_lobby(person: Person) -> Person:
    """They did all that comes before the lobby."""
    person = _flow.consent(CROWD, person, CROWD.consent_hash, 1.0)
    person = _flow.answer(CROWD, person, ANSWERS, 2.0)
    person = _flow.screen(CROWD, person, GOOD, 3.0)
    person = _flow.instructed(CROWD, person, 4.0)
    return _flow.check(CROWD, person, {"goal": "the inner ones"}, 5.0)


def seated(book: Book, key: str, group: str = "main", now: float = 6.0) -> Person:
    """They have a seat."""
    person = _flow.place(CROWD, book, in_lobby(arrived(book, key, group)), f"g{key}", random.Random(0).randrange, now)
    book.put(person)
    return person


@pytest.mark.parametrize(
    ("change", "source", "now", "message"),
    [
        ({"recruitment": ("mturk",)}, PROLIFIC, 0.0, "expected to come from mturk, got 'prolific'"),
        ({}, Source("mturk", "", {}, is_preview=True), 0.0, "accept the task first"),
        ({"opens": dt.datetime.fromtimestamp(10, dt.UTC)}, PROLIFIC, 9.0, "not open now"),
        ({"closes": dt.datetime.fromtimestamp(10, dt.UTC)}, PROLIFIC, 10.0, "not open now"),
    ],
)
def test_new_people_come_in_time_and_from_where_they_may(
    change: dict[str, Any], source: Source, now: float, message: str
) -> None:
    """Test users may begin at any time; who is under way when it closes goes on."""
    changed = dataclasses.replace(CROWD, **change)
    with pytest.raises(RefusedError, match=message):
        _flow.arrive(changed, Book(), source, "main", "k", "k0", now)
    assert _flow.arrive(CROWD, Book(), PROLIFIC, "main", "k", "k0", now).stage is Stage.CONSENT
    if {"opens", "closes"} & change.keys():
        assert _flow.arrive(changed, Book(), Source("test", "", {}), "main", "", "t", now).stage is Stage.CONSENT
        book = Book()
        under_way = arrived(book)
        assert _flow.arrive(changed, book, PROLIFIC, "main", "k", "again", now) == under_way


def test_c32_consent_has_a_hash_and_a_time() -> None:
    """Of the text that was shown; another text, and going on without it, are refused."""
    person = arrived(Book())
    assert person.stage is Stage.CONSENT
    with pytest.raises(RefusedError, match="its text has changed"):
        _flow.consent(CROWD, person, "0" * 64, 1.0)
    with pytest.raises(RefusedError, match="expected a person at the stage questions or after, got one at consent"):
        _flow.answer(CROWD, person, ANSWERS, 1.0)
    accepted = _flow.consent(CROWD, person, CROWD.consent_hash, 12.5)
    assert (accepted.stage, accepted.consent, accepted.consented) == (Stage.QUESTIONS, CROWD.consent_hash, 12.5)


def test_c32_the_way_goes_from_consent_to_the_end() -> None:
    book = Book()
    person = seated(book, "k", "quota")
    assert person.place == Place("inside_out", "gk", 0)
    assert _flow.may_start(CROWD, book, "gk", 6.0)
    (person,) = _flow.start(book, "gk", 7.0)
    person = _flow.finish(CROWD, _flow.progress(person, 0.8), 8.0)
    assert (person.stage, person.completion) == (Stage.AFTER, 0.8)
    assert _flow.answer(CROWD, person, {}, 9.0).stage is Stage.DONE


def test_c31_answers_are_checked_by_kind() -> None:
    """All problems are listed, unknown names too."""
    found = problems(CROWD.before, {"age": 17, "often": 6, "name": "Ada"})
    assert [each.partition(":")[0] for each in found] == ["age", "often", "name"]
    for wrong in (True, "30", float("nan"), None):
        assert len(problems(CROWD.before, {"age": wrong, "often": 3})) == 1
    assert problems(CROWD.after, {"remarks": "x" * 10_001}) != []


def test_c32_a_check_sends_back_to_the_instructions_then_away() -> None:
    person = arrived(Book())
    for number, expected in ((1, Stage.INSTRUCTIONS), (2, Stage.SENT_AWAY)):
        ready = dataclasses.replace(person, stage=Stage.CHECK, wrong_checks=number - 1)
        person = _flow.check(CROWD, ready, {"goal": "the outer ones"}, 1.0)
        assert (person.stage, person.wrong_checks) == (expected, number)
    assert person.reason == _flow.CHECKED


@pytest.mark.parametrize(
    "device",
    [
        Device(700, 800, has_keyboard=True),
        Device(1200, 800, has_keyboard=False, is_touch=True),
        Device(1200, 800, has_keyboard=True, browser="Firefox"),
        Device(1200, 800, has_keyboard=True, latency_ms=151),
        Device(1200, 800, has_keyboard=True, latency_ms=float("nan")),
    ],
)
def test_c29_screening_sends_away_with_the_reason(device: Device) -> None:
    person = Person("p", "main", "prolific", "", Stage.SCREENING, 0, 0)
    away = _flow.screen(CROWD, person, device, 1.0)
    assert away.stage is Stage.SENT_AWAY
    assert "expected" in away.reason


def test_c29_links_tell_where_people_come_from() -> None:
    """Prolific and Mechanical Turk by what they append, others by `f`; what is missing is named."""
    turk = {"workerId": "W1", "assignmentId": "A1", "hitId": "H1", "turkSubmitTo": "https://www.mturk.com"}
    assert source_of(turk).details["assignmentId"] == "A1"
    assert source_of({**turk, "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}).is_preview
    assert [source_of({"f": kind}).kind for kind in ("email", "social")] == ["email", "social"]
    assert source_of({"f": "test", "participant": "ada"}).is_test
    with pytest.raises(RecruitmentError, match="STUDY_ID: expected"):
        source_of({"PROLIFIC_PID": "5f1c", "SESSION_ID": "9"})
    with pytest.raises(RecruitmentError, match="turkSubmitTo: expected"):
        source_of({**turk, "turkSubmitTo": "https://evil.example"})
    with pytest.raises(RecruitmentError, match=r"workerId: expected letters.*=1"):
        source_of({**turk, "workerId": "=1+1"})
    with pytest.raises(RecruitmentError, match="expected one of f=email, got f='test'"):
        source_of({"f": "test"}, ("email",))


def test_c30_codes_cannot_be_guessed() -> None:
    """Of 80 random bits; only a hash is stored; Prolific takes the study's code by link."""
    codes = {new_code() for _ in range(1000)}
    assert len({code_hash(each) for each in codes}) == 1000
    assert not any(each in code_hash(each) for each in codes)
    assert completion_address(PROLIFIC, "C1") == "https://app.prolific.com/submissions/complete?cc=C1"
    assert completion_address(Source("email", "", {}), "C1") == ""


def test_c37_who_opens_the_link_again_is_where_they_were() -> None:
    """Before they are done it is their earlier row; afterwards they took part already."""
    book = Book()
    person = seated(book, "k", "quota")
    assert arrived(book, "k", "quota") == person
    book.put(dataclasses.replace(person, stage=Stage.DONE))
    with pytest.raises(RefusedError, match="You took part already"):
        arrived(book, "k", "quota")
    assert arrived(book, "other", "quota").stage is Stage.CONSENT


def test_c37_who_comes_back_in_time_has_their_seat_again() -> None:
    """Later they go on with what they did; a seat in a lobby that another person took is gone."""
    book = Book()
    first = seated(book, "a", "quota")
    (first,) = _flow.start(book, "ga", 7.0)
    book.put(first)
    gone = _flow.drop(first, 10.0)
    book.put(gone)
    assert gone.stage is Stage.DROPPED
    assert _flow.come_back(CROWD, book, gone, 69.0).stage is Stage.PLAY
    assert _flow.come_back(CROWD, book, gone, 71.0).stage is Stage.AFTER


def test_c38_a_seat_that_another_person_took_is_gone() -> None:
    book = Book()
    rows = [Person(name, "main", "prolific", name, Stage.LOBBY, 0, 0) for name in "abc"]
    first = dataclasses.replace(rows[0], place=Place("pair", "g", 0))
    book.put(first)
    book.put(left := _flow.drop(first, 1.0))
    second = dataclasses.replace(rows[1], place=Place("pair", "g", 0))
    book.put(second)
    back = _flow.come_back(CROWD, book, left, 2.0)
    assert (back.stage, back.place) == (Stage.LOBBY, None)


def test_c35_a_game_starts_with_all_or_after_a_wait() -> None:
    """Two seats: with both taken at once, with one after 60 seconds."""
    book = Book()
    alone = Person("a", "main", "prolific", "a", Stage.LOBBY, 0, 0, Place("pair", "g", 0))
    book.put(alone)
    assert not _flow.may_start(CROWD, book, "g", 59.9)
    assert _flow.may_start(CROWD, book, "g", 60.0)
    book.put(Person("b", "main", "prolific", "b", Stage.LOBBY, 5, 5, Place("pair", "g", 1)))
    assert _flow.may_start(CROWD, book, "g", 5.0)
    assert {each.stage for each in _flow.start(book, "g", 6.0)} == {Stage.PLAY}


def test_c2_a_crowd_has_opening_times() -> None:
    found = parse_crowd("opens = 2026-01-02T00:00:00Z\ncloses = 2026-01-03T00:00:00Z\n" + FILE)
    times = [dt.datetime(2026, 1, day, 12, tzinfo=dt.UTC) for day in (1, 2, 3)]
    assert [found.is_open(each) for each in times] == [False, True, False]


def test_hostile_numbers_are_no_answers() -> None:
    """JSON has numbers of any length, and infinity in Python; messages stay short."""
    form = (Question("age", "Your age", "number"), Question("name", "Your name", "choice", ("a", "b")))
    assert problems(form, {"age": float("inf"), "name": "a"}) == ["age: expected a number from -inf to inf, got inf"]
    assert problems(form, {"age": 10**400, "name": "a"}) == []
    assert "a number of 33220 bits" in problems(CROWD.before, {"age": 10**10_000, "often": 4})[0]
    assert len(problems(form, {"age": 3, "name": "x" * 1_000_000})[0]) < 300


def test_who_came_when_it_was_full_may_come_again() -> None:
    """They took no part: there were enough participants only for now."""
    book = Book()
    full = dataclasses.replace(arrived(book), stage=Stage.SENT_AWAY, reason=_flow.FULL)
    book.put(full)
    assert arrived(book).stage is Stage.CONSENT
    book.put(dataclasses.replace(book.of_key("k")[-1], stage=Stage.SENT_AWAY, reason="the link: too slow"))
    with pytest.raises(RefusedError, match="took part already"):
        arrived(book)


def test_c38_two_people_never_have_one_seat() -> None:
    """Also when two places follow from the same book."""
    book = Book()
    one, two = (in_lobby(arrived(book, key)) for key in "ab")
    places = [_flow.place(CROWD, book, each, "g", random.Random(0).randrange, 6.0) for each in (one, two)]
    assert places[0].place == places[1].place
    book.put(places[0])
    with pytest.raises(ValueError, match="a seat that is free"):
        book.put(places[1])
    assert [each.id for each in book.players("g")] == [one.id]


def test_codes_are_quoted_in_links() -> None:
    assert completion_address(PROLIFIC, "C1&x=y").endswith("cc=C1%26x%3Dy")


def test_c29_a_preview_is_recognised_without_a_worker() -> None:
    found = source_of({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "h1"})
    assert (found.kind, found.is_preview, found.person) == ("mturk", True, "")
