"""The way of a person through a crowd: each function takes their row, and returns the next one, or refuses."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.crowd.tasks import form
from rlds_kit.crowd.tasks.assignment import Draw, assign, is_full
from rlds_kit.crowd.tasks.book import Book
from rlds_kit.crowd.tasks.person import WAY, Person, Stage
from rlds_kit.crowd.tasks.recruitment import Source
from rlds_kit.crowd.tasks.screening import Device
from rlds_kit.crowd.tasks.task import Crowd

FULL: Final = "There are enough participants for now."
CHECKED: Final = "The questions about the instructions were not answered correctly."


class RefusedError(ValueError):
    """What a participant sent is not possible where they are; nothing has changed.

    >>> raise RefusedError("the consent: expected first")
    Traceback (most recent call last):
    rlds_kit.crowd.tasks.flow.RefusedError: the consent: expected first
    """


def arrive(crowd: Crowd, book: Book, source: Source, group: str, key: str, person: str, now: float) -> Person:
    """The row of a participant who opens the link: their earlier one, if they are not done, else a new one.

    Args:
      crowd: the tasks.
      book: the rows of all people.
      source: where they came from.
      group: of the link.
      key: keyed hash of the platform's id; empty if there is none.
      person: id of a new row; random.
      now: seconds since 1970.

    Raises:
      RefusedError: there is no such group; they took part before and may not again; or they are new, and the crowd is
        not open, admits no participants of that source, or this is only a preview. Test users may begin at any time.
    """
    if group not in crowd.groups:
        raise RefusedError(f"the link: expected one of the groups {', '.join(crowd.groups)}, got {group!r}")
    earlier = book.of_key(key) if key else ()
    if earlier and not (earlier[-1].stage is Stage.DONE and source.is_test):
        last = earlier[-1]
        was_full = last.stage is Stage.SENT_AWAY and last.reason == FULL
        if last.stage in {Stage.DONE, Stage.SENT_AWAY} and not was_full and not _may_again(crowd, last):
            raise RefusedError("You took part already.")
        if last.stage is not Stage.DONE and last.stage is not Stage.SENT_AWAY:
            return come_back(crowd, book, last, now) if last.stage is Stage.DROPPED else last
    _require_open(crowd, source, now)
    fresh = Person(person, group, source.kind, key, Stage.CONSENT, now, now)
    if not source.is_test and is_full(crowd, book, group):
        return dataclasses.replace(fresh, stage=Stage.SENT_AWAY, reason=FULL)
    return _skip(crowd, fresh, now)


def _require_open(crowd: Crowd, source: Source, now: float) -> None:
    """Whether a new participant may begin.

    Raises:
      RefusedError: they may not.
    """
    if source.kind not in crowd.recruitment:
        raise RefusedError(f"the link: expected to come from {', '.join(crowd.recruitment)}, got {source.kind!r}")
    if source.is_preview:
        raise RefusedError("This is a preview: accept the task first.")
    if not source.is_test and not crowd.is_open(dt.datetime.fromtimestamp(now, dt.UTC)):
        raise RefusedError("This study is not open now.")


def consent(crowd: Crowd, person: Person, accepted: str, now: float) -> Person:
    """They accepted the consent text with this hash.

    Raises:
      RefusedError: it is not the text of now, or they are elsewhere.
    """
    _require(person, Stage.CONSENT)
    if accepted != crowd.consent_hash:
        raise RefusedError("the consent: its text has changed; load the page again and read it")
    return _next(crowd, dataclasses.replace(person, consent=accepted, consented=now), now)


def answer(crowd: Crowd, person: Person, answers: Mapping[str, Any], now: float) -> Person:
    """They answered the questions before or after the game, by the stage where they are.

    Raises:
      RefusedError: an answer is missing or wrong; all are listed. Or they are elsewhere.
    """
    _require(person, Stage.QUESTIONS, Stage.AFTER)
    form_of = crowd.before if person.stage is Stage.QUESTIONS else crowd.after
    _require_answers(form_of, answers)
    return _next(crowd, person, now)


def screen(crowd: Crowd, person: Person, device: Device, now: float) -> Person:
    """Their device was measured: they go on, or are sent away with the reasons.

    Raises:
      RefusedError: they are elsewhere.
    """
    _require(person, Stage.SCREENING)
    reasons = crowd.screening.problems(device)
    return _away(person, "; ".join(reasons), now) if reasons else _next(crowd, person, now)


def instructed(crowd: Crowd, person: Person, now: float) -> Person:
    """They read the instructions.

    Raises:
      RefusedError: they are elsewhere.
    """
    _require(person, Stage.INSTRUCTIONS)
    return _next(crowd, person, now)


def check(crowd: Crowd, person: Person, answers: Mapping[str, Any], now: float) -> Person:
    """They did the comprehension check: they go on, read the instructions again, or are sent away.

    Raises:
      RefusedError: an answer is missing, or they are elsewhere.
    """
    _require(person, Stage.CHECK)
    _require_answers(crowd.check, answers)
    if not form.mistakes(crowd.check, answers):
        return _next(crowd, person, now)
    again = dataclasses.replace(person, wrong_checks=person.wrong_checks + 1)
    if again.wrong_checks >= crowd.attempts:
        return _away(again, CHECKED, now)
    return dataclasses.replace(again, stage=Stage.INSTRUCTIONS, changed=now)


def place(
    crowd: Crowd, book: Book, person: Person, game: str, draw: Draw, now: float, *, chosen: str | None = None
) -> Person:
    """They reach the lobby and get a seat; or they are sent away because nothing is left. Arguments as for `assign`.

    Raises:
      RefusedError: they are elsewhere, have a seat already, or the task is not one of the cards.
    """
    _require(person, Stage.LOBBY)
    if person.place is not None:
        raise RefusedError("the game: you have a seat already")
    try:
        found = assign(crowd, book, person, game, draw, chosen)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    if found is None:
        return _away(person, FULL, now)
    return dataclasses.replace(person, place=found, changed=now)


def may_start(crowd: Crowd, book: Book, game: str, now: float) -> bool:
    """Whether a game starts: all seats are taken, or it waited as long as its task says; programs take the others."""
    players = book.players(game)
    if not players or any(each.stage is not Stage.LOBBY for each in players):
        return False
    place_of = players[0].place
    task = crowd.tasks[place_of.task] if place_of is not None else None
    if task is None:
        return False
    return len(players) >= task.seats or now - min(each.changed for each in players) >= task.wait_seconds


def start(book: Book, game: str, now: float) -> tuple[Person, ...]:
    """The rows of the players of a game that starts."""
    return tuple(dataclasses.replace(each, stage=Stage.PLAY, changed=now) for each in book.players(game))


def progress(person: Person, completion: float, quality: float = 1.0) -> Person:
    """What they did so far, as counted by the server.

    Raises:
      RefusedError: they do not play.
    """
    _require(person, Stage.PLAY, Stage.AFTER)
    return dataclasses.replace(person, completion=min(1.0, max(0.0, completion)), quality=min(1.0, max(0.0, quality)))


def finish(crowd: Crowd, person: Person, now: float, reason: str = "") -> Person:
    """Their game is over, or they ended it; with a reason, the study ended it.

    Raises:
      RefusedError: they do not play.
    """
    _require(person, Stage.PLAY)
    return _next(crowd, dataclasses.replace(person, reason=reason), now)


def drop(person: Person, now: float) -> Person:
    """They left: their seat is free, or a program's. Someone whose way is over stays as they are."""
    if person.stage.is_over:
        return person
    return dataclasses.replace(person, stage=Stage.DROPPED, left=person.stage, changed=now)


def come_back(crowd: Crowd, book: Book, person: Person, now: float) -> Person:
    """They come back to where they were.

    To the game only within the grace time: later they go on with what they did so far. To the lobby if their seat is
    taken, or the game began without them.

    Raises:
      RefusedError: they did not leave.
    """
    _require(person, Stage.DROPPED)
    stage = person.left or Stage.CONSENT
    if stage not in {Stage.LOBBY, Stage.PLAY}:
        return dataclasses.replace(person, stage=stage, left=None, changed=now)
    if stage is Stage.PLAY and now - person.changed > crowd.grace_seconds:
        return _skip(crowd, dataclasses.replace(person, stage=Stage.AFTER, left=None, changed=now), now)
    if person.place is not None and _is_free(book, person):
        return dataclasses.replace(person, stage=stage, left=None, changed=now)
    return dataclasses.replace(person, stage=Stage.LOBBY, place=None, left=None, changed=now)


def _is_free(book: Book, person: Person) -> bool:
    """Whether a seat is there for a participant who left it: in a lobby only while the others still wait."""
    own = person.place
    players = () if own is None else book.players(own.game)
    is_taken = any(each.place is not None and each.place == own for each in players)
    has_begun = any(each.stage is not Stage.LOBBY for each in players)
    return not is_taken and not (person.left is Stage.LOBBY and has_begun)


def _may_again(crowd: Crowd, person: Person) -> bool:
    return person.place is not None and person.stage is Stage.DONE and crowd.tasks[person.place.task].play_again


def _require(person: Person, *stages: Stage) -> None:
    if person.stage not in stages:
        wanted = " or ".join(each.value for each in stages)
        raise RefusedError(f"expected a person at the stage {wanted}, got one at {person.stage.value}")


def _require_answers(form_of: form.Form, answers: Mapping[str, Any]) -> None:
    found = form.problems(form_of, answers)
    if found:
        raise RefusedError("; ".join(found))


def _away(person: Person, reason: str, now: float) -> Person:
    return dataclasses.replace(person, stage=Stage.SENT_AWAY, reason=reason, changed=now)


def _next(crowd: Crowd, person: Person, now: float) -> Person:
    following = WAY[WAY.index(person.stage) + 1]
    return _skip(crowd, dataclasses.replace(person, stage=following, changed=now), now)


def _skip(crowd: Crowd, person: Person, now: float) -> Person:
    """Goes on over the stages that this crowd does not have."""
    without = {
        Stage.CONSENT: not crowd.consent,
        Stage.QUESTIONS: not crowd.before,
        Stage.CHECK: not crowd.check,
        Stage.AFTER: not crowd.after,
    }
    return _next(crowd, person, now) if without.get(person.stage, False) else person
