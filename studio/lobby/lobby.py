"""The lobby of one environment: a queue of people, and the groups that are about to play."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.studio.lobby.matchmaking import Matchmaker, Waiting, are_groups
from rlds_kit.studio.lobby.messages import Countdown, Matched, Message, Queue, Refused
from rlds_kit.studio.play.host import NotAdmittedError

log = logging.getLogger(__name__)


class NoPlaceError(Exception):
    """All environments are in use; those who have found each other wait for one."""


@dataclass(eq=False)
class Person:
    """A person in a lobby.

    Attributes:
      account: of the person.
      agent: the person as recordings know them.
      is_guest: whether the person came by the link of a study.
      send: sends a message to their page.
      since: when they came, in seconds of the lobby's clock.
      latency_ms: median round trip that was measured when they came; None: it was not.
      group: of the link by which they came; "": of none.
    """

    account: str
    agent: str
    is_guest: bool
    send: Callable[[Message], None]
    since: float = 0.0
    latency_ms: float | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class LobbyPlan:
    """What a study says of a lobby.

    Attributes:
      seats: of people; a group has as many.
      needed: seats that no program can take.
      fill_seconds: that a person waits at most until programs take the seats that are empty; None: never.
      wait_seconds: that a person waits at most.
      most_waiting: people in the lobby.
      countdown_seconds: until those who have found each other play.
      match: the matchmaker.
    """

    seats: tuple[str, ...]
    needed: frozenset[str]
    fill_seconds: float | None
    wait_seconds: float
    most_waiting: int
    countdown_seconds: float
    match: Matchmaker


class Gathered(Protocol):
    """A session that has its environment, and waits for its people."""

    def token(self, seat: str) -> Matched:
        """What the person in a seat gets."""

    async def begin(self) -> None:
        """The countdown is over, and all are there.

        Raises:
          NotAdmittedError: they cannot begin now; they wait again.
        """

    async def cancel(self, reason: str) -> None:
        """A person left in the countdown: it is not played."""


Gather = Callable[[dict[str, Person]], Awaitable[Gathered]]
"""Makes a session for people by seat: it raises `NoPlaceError`, or `NotAdmittedError` if they cannot play at all."""


@dataclass(eq=False)
class _Group:
    people: dict[str, Person]
    left: asyncio.Event = field(default_factory=asyncio.Event)


class Lobby:
    """The lobby of an environment. It has no worker: `gather` makes a session when there are enough people.

    Args:
      plan: what the study says; it may be replaced.
      gather: makes sessions.
      now: seconds of a clock that does not go back.

    Attributes:
      plan: what the study says now.
    """

    def __init__(self, plan: LobbyPlan, gather: Gather, now: Callable[[], float]) -> None:
        self.plan, self._gather, self._now = plan, gather, now
        self._waiting: dict[str, Person] = {}
        self._groups: dict[str, _Group] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._shown: dict[str, Queue] = {}
        self._notice = ""
        self._is_gathering = False
        self._paused_since: float | None = None

    @property
    def waiting(self) -> Sequence[Person]:
        """Those who wait; who came first is first."""
        return tuple(self._waiting.values())

    @property
    def is_empty(self) -> bool:
        """Whether no person is in it."""
        return not self._waiting and not self._groups

    def enter(self, person: Person) -> bool:
        """A person comes; in another window, the one before waits no more. Returns whether there is room."""
        known = self._waiting.get(person.account)
        if person.account in self._groups:
            person.send(Refused("displaced", "your game is about to begin in another window of yours"))
            return False
        if known is None and len(self._waiting) >= self.plan.most_waiting:
            person.send(Refused("full", f"{len(self._waiting)} people wait already, as many as may; come later"))
            return False
        person.since = self._now() if known is None else known.since
        self._waiting[person.account] = person  # in the place of the window before
        if known is not None:
            known.send(Refused("displaced", "you wait in another window"))
        self._match()
        self._show(person)
        return True

    def leave(self, person: Person) -> None:
        """A person waits no more."""
        if self._waiting.get(person.account) is person:
            del self._waiting[person.account]
            self._shown.pop(person.account, None)
        group = self._groups.get(person.account)
        if group is not None and person in group.people.values():
            group.left.set()
            group.people = {seat: each for seat, each in group.people.items() if each is not person}
            del self._groups[person.account]

    def pause(self, notice: str) -> None:
        """Countdowns end, and all wait, and see the notice, until `go_on`."""
        self._paused_since, self._notice = self._now() if self._paused_since is None else self._paused_since, notice
        for each in self._groups.values():
            each.left.set()
        self._show_all()

    def go_on(self) -> None:
        """People are put together again; the time of the pause is not counted as waiting."""
        paused = 0.0 if self._paused_since is None else self._now() - self._paused_since
        for each in self._waiting.values():
            each.since += min(paused, self._now() - each.since)
        self._paused_since, self._notice = None, ""
        self._match()
        self._show_all()

    def dismiss(self, refused: Refused) -> None:
        """Sends away all who wait."""
        self._send_away(self.waiting, refused)

    def _send_away(self, people: Sequence[Person], refused: Refused) -> None:
        for each in people:
            self.leave(each)
            each.send(refused)

    def tick(self) -> None:
        """Once a second: sends away who waited too long, puts people together, and shows how it stands."""
        if self._paused_since is not None:
            return
        late = [each for each in self.waiting if self._now() - each.since >= self.plan.wait_seconds]
        self._send_away(late, Refused("late", "no partner came in time; try again later"))
        self._match()
        self._show_all()

    def _show_all(self) -> None:
        for place, each in enumerate(self.waiting):
            self._show(each, place + 1)

    def _show(self, person: Person, place: int | None = None) -> None:
        """Sends how it stands, if that is new."""
        if person.account not in self._waiting:
            return
        fill = self.plan.fill_seconds
        left = None if fill is None else max(0.0, round(fill - (self._now() - self.waiting[0].since)))
        shown = Queue(len(self._waiting), len(self.plan.seats), place or len(self._waiting), left, self._notice)
        if self._shown.get(person.account) != shown:
            self._shown[person.account] = shown
            person.send(shown)

    def _match(self) -> None:
        """Begins a group, if there is one; one after another, as each needs an environment."""
        if self._is_gathering or not self._waiting or self._paused_since is not None:
            return
        now = self._now()
        by_waiting = {Waiting(each.agent, now - each.since, each.latency_ms, each.group): each for each in self.waiting}
        groups = self._groups_of(list(by_waiting), len(self.plan.seats))
        chosen = groups[0] if groups else self._with_programs(list(by_waiting))
        if chosen:
            self._begin([by_waiting[each] for each in chosen])

    def _with_programs(self, waiting: list[Waiting]) -> Sequence[Waiting]:
        """The person who waited longest, with as many others as possible, when programs are due to take the rest."""
        fill, oldest, least = self.plan.fill_seconds, waiting[0], max(1, len(self.plan.needed))
        if fill is None or oldest.seconds < fill:
            return ()
        for size in range(min(len(waiting), len(self.plan.seats) - 1), least - 1, -1):
            for group in self._groups_of(waiting, size):
                if oldest in group:
                    return group
        return [oldest] if least == 1 and len(self.plan.seats) > 1 else ()

    def _groups_of(self, waiting: list[Waiting], size: int) -> list[Sequence[Waiting]]:
        """What the matchmaker returns; nothing, if it fails."""
        try:
            groups = list(self.plan.match(waiting, size))
        except Exception:  # a matchmaker may raise anything
            log.exception("the matchmaker failed; people go on waiting")
            return []
        if not are_groups(groups, waiting, size):
            log.error("the matchmaker returned %r, expected groups of %d of those who wait", groups, size)
            return []
        return groups

    def _begin(self, people: Sequence[Person]) -> None:
        """These people are about to play."""
        group = _Group(dict(zip(self._order(len(people)), people, strict=False)))
        for each in people:
            del self._waiting[each.account]
            self._shown.pop(each.account, None)
            self._groups[each.account] = group
        self._is_gathering = True
        task = asyncio.create_task(self._form(group))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _order(self, people: int) -> list[str]:
        """The seats in the order in which they are taken: if programs take some, first those that they cannot take."""
        seats, needed = self.plan.seats, self.plan.needed
        return list(seats) if people == len(seats) else sorted(seats, key=lambda seat: seat not in needed)

    async def _form(self, group: _Group) -> None:
        people = dict(group.people)
        try:
            gathered = await self._gather(people)
        except NoPlaceError as error:
            self._is_gathering = False
            self._note(str(error))
            self._wait_again(group)  # until the next tick
            return
        except Exception as error:
            if not isinstance(error, NotAdmittedError):
                log.exception("a session could not be made")
            self._is_gathering = False
            self._dismiss(group, _refusal(error))
            self._match()
            return
        self._is_gathering = False
        self._note("")
        self._match()
        is_whole = await self._counted_down(group, len(self.plan.seats) - len(people))
        if is_whole and await self._has_begun(gathered):
            for seat, each in group.people.items():
                self._groups.pop(each.account, None)
                each.send(gathered.token(seat))
            return
        await gathered.cancel("a person left, or it paused, before it began")
        self._wait_again(group)
        if not is_whole:  # else until the next tick
            self._match()

    async def _has_begun(self, gathered: Gathered) -> bool:
        try:
            await gathered.begin()
        except NotAdmittedError as error:
            self._note(str(error))
            return False
        return True

    def _note(self, notice: str) -> None:
        """Why those who have found each other do not play; a pause says so itself."""
        if self._paused_since is None:
            self._notice = notice

    async def _counted_down(self, group: _Group, programs: int) -> bool:
        """Counts down; returns whether all are still there."""
        seconds = self.plan.countdown_seconds
        for each in group.people.values():
            each.send(Countdown(seconds, len(group.people), programs))
        try:
            async with asyncio.timeout(seconds):
                await group.left.wait()
        except TimeoutError:
            pass
        return not group.left.is_set()

    def _wait_again(self, group: _Group) -> None:
        """Those who are left wait again, in the places that they had."""
        for each in group.people.values():
            self._groups.pop(each.account, None)
            self._waiting[each.account] = each
        self._waiting = dict(sorted(self._waiting.items(), key=lambda item: item[1].since))
        self._show_all()

    def _dismiss(self, group: _Group, refused: Refused) -> None:
        for each in group.people.values():
            self._groups.pop(each.account, None)
            each.send(refused)

    async def close(self) -> None:
        """Sends everybody away."""
        await cancel_and_wait(*self._tasks)
        everybody = [
            *self._waiting.values(),
            *(each for group in self._groups.values() for each in group.people.values()),
        ]
        self._waiting, self._groups = {}, {}
        for each in everybody:
            each.send(Refused("closed", "the server was shut down"))


def _refusal(error: Exception) -> Refused:
    if isinstance(error, NotAdmittedError):
        return Refused(error.code, str(error))
    return Refused("failed", "the game could not be made; try again, or inform the person who invited you")
