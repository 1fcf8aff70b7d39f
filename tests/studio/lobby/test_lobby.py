"""People wait in a lobby that holds nothing; a session is made when enough are there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rlds_kit.studio.lobby.lobbies import Lobbies
from rlds_kit.studio.lobby.lobby import Gathered, LobbyPlan, NoPlaceError, Person
from rlds_kit.studio.lobby.matchmaking import Matchmaker, Waiting, first_come
from rlds_kit.studio.lobby.messages import Countdown, Matched, Message, Queue, Refused
from rlds_kit.studio.play.host import NotAdmittedError
from rlds_kit.trials.workers.pool import WorkerPool


@dataclass
class Page:
    """What somebody's page was sent."""

    person: Person
    said: list[Message]

    def last(self, kind: type) -> Any:
        """The latest message of a kind."""
        return [each for each in self.said if isinstance(each, kind)][-1]

    @property
    def seat(self) -> str | None:
        """Where they play."""
        return next((each.seat for each in self.said if isinstance(each, Matched)), None)


@dataclass
class Maker:
    """Makes sessions: `people` of each, and what became of it.

    Attributes:
      problem: raised in place of the next session.
      late_problem: raised when the next one is to begin.
    """

    sessions: list[dict[str, str]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    problem: Exception | None = None
    late_problem: Exception | None = None

    def of(self, key: str) -> Callable[[dict[str, Person]], Awaitable[Gathered]]:
        """Of any environment."""
        del key
        return self._gather

    async def _gather(self, people: dict[str, Person]) -> Gathered:
        await asyncio.sleep(0)
        if self.problem is not None:
            raise self.problem
        self.sessions.append({seat: each.agent for seat, each in people.items()})
        return _Session(self, len(self.sessions))


@dataclass
class _Session:
    maker: Maker
    number: int

    def token(self, seat: str) -> Matched:
        return Matched(str(self.number), "token", seat)

    async def begin(self) -> None:
        if self.maker.late_problem is not None:
            raise self.maker.late_problem
        self.maker.begun.append(self.number)

    async def cancel(self, reason: str) -> None:
        self.maker.cancelled.append(reason)


class Waiters:
    """A lobby, and those who come to it.

    Args:
      plan: changes of the plan for two people.
    """

    def __init__(self, **plan: Any) -> None:
        self.maker, self.time = Maker(), 0.0
        self.lobbies = Lobbies(self.maker.of, lambda: self.time)
        self.plan = LobbyPlan(
            **{
                "seats": ("left", "right"),
                "needed": frozenset({"left", "right"}),
                "fill_seconds": None,
                "wait_seconds": 900.0,
                "most_waiting": 1000,
                "countdown_seconds": 0.0,
                "match": first_come,
                **plan,
            }
        )

    def come(self, name: str, **more: Any) -> Page:
        """Somebody comes."""
        said: list[Message] = []
        person = Person(name, name, is_guest=False, send=said.append, **more)
        self.lobbies.enter("pong", self.plan, person)
        return Page(person, said)

    def go(self, page: Page) -> None:
        """Somebody closes the page."""
        self.lobbies.leave("pong", page.person)

    async def until(self, condition: Callable[[], Any]) -> None:
        """Lets the lobby work until something is so."""
        async with asyncio.timeout(60):
            while not condition():  # noqa: ASYNC110  its own turns, no time
                await asyncio.sleep(0)

    async def settled(self) -> None:
        """Lets the lobby do what it can do now."""
        for _ in range(20):
            await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Runs a test."""
    asyncio.run(asyncio.wait_for(test(), 120))


def test_c34_people_wait_see_how_many_and_play_after_a_countdown() -> None:
    """The first sees that one is missing; with the second, both count down and get a seat of the same session."""

    async def test() -> None:
        here = Waiters()
        ann = here.come("ann")
        assert ann.said == [Queue(1, 2, 1, None)]
        bob = here.come("bob")
        await here.until(lambda: bob.seat)
        assert ann.said[1:] == [Countdown(0.0, 2, 0), Matched("1", "token", "left")]
        assert bob.said == [Countdown(0.0, 2, 0), Matched("1", "token", "right")]
        assert here.maker.sessions == [{"left": "ann", "right": "bob"}]
        assert here.lobbies.waiting == 0

    run(test)


def test_c34_who_leaves_in_the_countdown_leaves_the_others_at_the_head_of_the_queue() -> None:
    """The session that was made is given back; the one who stays plays with the next who comes."""

    async def test() -> None:
        here = Waiters(countdown_seconds=60.0)
        ann, bob = here.come("ann"), here.come("bob")
        await here.until(lambda: any(isinstance(each, Countdown) for each in ann.said))
        here.go(bob)
        await here.until(lambda: here.maker.cancelled)
        await here.settled()
        assert ann.said[-1] == Queue(1, 2, 1, None)
        here.plan = LobbyPlan(**{**{n: getattr(here.plan, n) for n in here.plan.__slots__}, "countdown_seconds": 0.0})
        eve = here.come("eve")
        await here.until(lambda: eve.seat)
        assert here.maker.sessions[1] == {"left": "ann", "right": "eve"}

    run(test)


def test_c35_a_program_takes_the_empty_seat_after_a_while() -> None:
    """By the clock of the lobby; who waits sees when; the seat that no program can take is the person's."""

    async def test() -> None:
        here = Waiters(fill_seconds=30.0, needed=frozenset({"right"}))
        ann = here.come("ann")
        assert ann.said[-1] == Queue(1, 2, 1, 30.0)
        here.time = 29.0
        here.lobbies.tick()
        await here.settled()
        assert ann.seat is None
        assert ann.said[-1] == Queue(1, 2, 1, 1.0)
        here.time = 30.0
        here.lobbies.tick()
        await here.until(lambda: ann.seat)
        assert ann.last(Countdown) == Countdown(0.0, 1, 1)
        assert ann.seat == "right"

    run(test)


def test_a_seat_that_no_program_can_take_is_waited_for_and_not_for_ever() -> None:
    """Programs never take all seats; after the longest wait, the person is sent away with a reason."""

    async def test() -> None:
        here = Waiters(fill_seconds=1.0, wait_seconds=10.0)
        ann = here.come("ann")
        here.time = 9.0
        here.lobbies.tick()
        await here.settled()
        assert here.maker.sessions == []
        here.time = 10.0
        here.lobbies.tick()
        assert ann.last(Refused).code == "late"
        assert here.lobbies.waiting == 0

    run(test)


def test_c38_a_second_window_of_a_person_takes_the_place_of_the_first() -> None:
    """Nobody plays against themselves; the place in the queue stays."""

    async def test() -> None:
        here = Waiters()
        old = here.come("ann")
        new = here.come("ann")
        assert old.last(Refused).code == "displaced"
        here.go(old)  # its socket closes
        assert here.lobbies.waiting == 1
        bob = here.come("bob")
        await here.until(lambda: bob.seat)
        assert new.seat == "left"

    run(test)


def test_a_full_lobby_refuses() -> None:
    """With the number of those who wait."""
    here = Waiters(most_waiting=1)
    here.come("ann")
    bob = here.come("bob")
    assert bob.last(Refused).code == "full"
    assert here.lobbies.waiting == 1


def test_people_wait_for_a_place_in_the_pool_and_know_why() -> None:
    """They stay at the head of the queue; the next tick tries again."""

    async def test() -> None:
        here = Waiters()
        here.maker.problem = NoPlaceError("all places are taken")
        ann, bob = here.come("ann"), here.come("bob")
        await here.until(lambda: ann.last(Queue).notice)
        assert [each.last(Queue) for each in (ann, bob)] == [
            Queue(2, 2, place, None, "all places are taken") for place in (1, 2)
        ]
        here.maker.problem = None
        here.lobbies.tick()
        await here.until(lambda: bob.seat)

    run(test)


def test_people_who_cannot_play_are_sent_away_with_the_reason() -> None:
    """As when the study was closed while they waited."""

    async def test() -> None:
        here = Waiters()
        here.maker.problem = NotAdmittedError("closed", "this study is not open now")
        ann, bob = here.come("ann"), here.come("bob")
        await here.until(lambda: any(isinstance(each, Refused) for each in bob.said))
        assert ann.said[-1] == bob.said[-1] == Refused("closed", "this study is not open now")

    run(test)


def last_comes_first(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
    """A matchmaker of a study."""
    return first_come(waiting[::-1], size) if len(waiting) >= 3 else []


def failing(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
    """One that has a defect."""
    raise ZeroDivisionError


def dishonest(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
    """One that takes the same person twice."""
    return [[waiting[0], waiting[0]]]


def test_a_matchmaker_of_a_study_decides_and_one_that_fails_leaves_people_waiting() -> None:
    """Its groups are checked."""

    async def test(match: Matchmaker) -> list[dict[str, str]]:
        here = Waiters(match=match)
        for name in ("ann", "bob", "eve"):
            here.come(name)
        await here.settled()
        return here.maker.sessions

    assert asyncio.run(test(last_comes_first)) == [{"left": "eve", "right": "bob"}]
    assert asyncio.run(test(failing)) == []
    assert asyncio.run(test(dishonest)) == []


def test_a_thousand_people_wait_without_a_worker() -> None:
    """No process, no task; each knows the number within a tick."""

    async def test() -> None:
        async with WorkerPool(1) as pool:
            here = Waiters(seats=tuple(map(str, range(1001))), needed=frozenset(map(str, range(1001))))
            tasks = len(asyncio.all_tasks())
            pages = [here.come(f"person {number}") for number in range(1000)]
            here.lobbies.tick()
            assert {page.last(Queue).waiting for page in pages} == {1000}
            assert [page.last(Queue).place for page in pages] == list(range(1, 1001))
            assert (len(asyncio.all_tasks()), list(pool.processes)) == (tasks, [])
            for page in pages:
                here.go(page)
            assert here.lobbies.waiting == 0

    run(test)


def test_a_pause_ends_countdowns_and_all_wait_until_it_goes_on() -> None:
    """With a notice; the time of the pause is no waiting, and nobody is sent away in it."""

    async def test() -> None:
        here = Waiters(countdown_seconds=60.0, wait_seconds=30.0)
        ann, bob = here.come("ann"), here.come("bob")
        await here.until(lambda: any(isinstance(each, Countdown) for each in bob.said))
        here.lobbies.pause(["pong", "another"], "it pauses")
        await here.until(lambda: here.maker.cancelled)
        await here.settled()
        assert ann.said[-1] == Queue(2, 2, 1, None, "it pauses")
        eve = here.come("eve")
        here.time = 100.0
        here.lobbies.tick()
        await here.settled()
        assert (len(here.maker.sessions), here.lobbies.waiting) == (1, 3)
        here.plan = replace(here.plan, countdown_seconds=0.0)
        zoe = here.come("zoe")
        here.time = 110.0
        here.lobbies.go_on(["pong"])
        await here.until(lambda: zoe.seat)
        assert [each.seat for each in (ann, bob, eve, zoe)] == ["left", "right", "left", "right"]
        assert ann.said[-2:] == [Countdown(0.0, 2, 0), Matched("2", "token", "left")]

    run(test)


def test_a_pause_in_the_moment_in_which_a_game_begins_sends_people_back() -> None:
    """The session that was made is given back."""

    async def test() -> None:
        here = Waiters()
        here.maker.late_problem = NotAdmittedError("paused", "it pauses")
        ann, bob = here.come("ann"), here.come("bob")
        await here.until(lambda: here.maker.cancelled)
        assert ann.seat is None
        here.maker.late_problem = None
        here.lobbies.tick()
        await here.until(lambda: bob.seat)
        assert ann.last(Queue).notice == "it pauses"

    run(test)


def test_people_who_wait_for_what_is_gone_are_sent_away_and_games_that_begin_begin() -> None:
    """As when the environment of a study was replaced."""

    async def test() -> None:
        here = Waiters(countdown_seconds=0.01)
        ann, bob, eve = (here.come(name) for name in ("ann", "bob", "eve"))
        await here.until(lambda: any(isinstance(each, Countdown) for each in bob.said))
        here.lobbies.dismiss(["pong", "another"], Refused("changed", "wait again"))
        assert (eve.said[-1], here.lobbies.waiting) == (Refused("changed", "wait again"), 0)
        await here.until(lambda: ann.seat)

    run(test)
