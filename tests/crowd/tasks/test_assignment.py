"""Who gets which task: rows of one moment, and 10,000 simulated arrivals."""

import dataclasses
import heapq
import random
from collections import Counter
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import logger
from rlds_kit.crowd.incentives import CROWD as ENTRY
from rlds_kit.crowd.incentives import Work, ledger, reward, unpaid
from rlds_kit.crowd.tasks import Book, Crowd, Device, Group, Mode, Person, Place, Source, Stage, Task, assign
from rlds_kit.crowd.tasks import flow as _flow
from tests.crowd.tasks.crowds import crowd

DRAW = random.Random(0).randrange
GOOD = Device(1200, 800, has_keyboard=True)


def small(
    mode: Mode, targets: dict[str, int], *, seats: int = 1, is_weighted: bool = False, over: float = 0.0
) -> Crowd:
    """Tasks with targets, in one group."""
    tasks = {name: Task(name, name, "e", seats=seats, target=target) for name, target in targets.items()}
    groups = {"main": Group("main", tuple(targets), mode, is_weighted)}
    return Crowd("c", tasks, groups, over_recruit=over)


def row(name: str, task: str, stage: Stage = Stage.PLAY, completion: float = 0.0, **more: object) -> Person:
    """A participant with a seat of their own."""
    place = Place(task, f"g{name}", 0)
    plain = Person(name, "main", "social", "", stage, 0.0, 0.0, place, completion)
    return dataclasses.replace(plain, **more)  # type: ignore[arg-type]  # fields of a Person


def newcomer(kind: str = "social", key: str = "") -> Person:
    """A participant in the lobby without a seat."""
    return Person("new", "main", kind, key, Stage.LOBBY, 0.0, 0.0)


def chosen_task(of: Crowd, *rows: Person, person: Person | None = None) -> str | None:
    """The task that a newcomer gets."""
    place = assign(of, Book.of(rows), person or newcomer(), "g", DRAW)
    return None if place is None else place.task


def test_c4_quotas_are_filled_in_order() -> None:
    """The first below its target; active assignments count too, and completed ones as far as they went."""
    of = small(Mode.QUOTA, {"a": 2, "b": 2})
    assert chosen_task(of) == "a"
    assert chosen_task(of, row("1", "a"), row("2", "a")) == "b"
    assert chosen_task(of, row("1", "a", Stage.DONE, 1.0), row("2", "a", Stage.DROPPED, 0.4)) == "a"
    assert chosen_task(of, *(row(f"{task}{n}", task) for task in "ab" for n in range(2))) is None
    more = small(Mode.QUOTA, {"a": 2, "b": 2}, over=0.5)
    assert chosen_task(more, row("1", "a"), row("2", "a")) == "b"
    assert chosen_task(more, *(row(f"{task}{n}", task) for task in "ab" for n in (1, 2))) in {"a", "b"}


def test_c4_equal_takes_the_fewest_and_draws_among_equals() -> None:
    of = small(Mode.EQUAL, {"a": 9, "b": 9, "c": 9})
    assert chosen_task(of, row("1", "a"), row("2", "b")) == "c"
    assert {chosen_task(of, row("1", "a")) for _ in range(50)} == {"b", "c"}


def test_c4_a_finished_task_comes_last_and_test_users_count_for_nothing() -> None:
    of = small(Mode.QUOTA, {"a": 9, "b": 9})
    again = newcomer(key="k")
    assert chosen_task(of, row("1", "a", Stage.DONE, 1.0, key="k"), person=again) == "b"
    assert chosen_task(of, *(row(str(n), "a", kind="test") for n in range(20))) == "a"
    assert chosen_task(of, *(row(f"{t}{n}", t) for t in "ab" for n in range(9)), person=newcomer("test")) in {"a", "b"}


def test_c4_a_waiting_seat_comes_first() -> None:
    """Whatever the loads are; the game that waited longest; not one that began, nor the seat of one who left."""
    of = small(Mode.EQUAL, {"a": 9, "b": 9}, seats=2)
    loaded = [row(f"x{n}", "a") for n in range(3)]
    waits = row("1", "a", Stage.LOBBY, changed=5.0)
    older = row("2", "a", Stage.LOBBY, changed=1.0)
    place = assign(of, Book.of([*loaded, waits, older]), newcomer(), "new", DRAW)
    assert place == Place("a", "g2", 1)
    assert chosen_task(of, *loaded) == "b"
    assert chosen_task(of, *loaded, row("3", "a", Stage.DROPPED)) == "b"
    assert chosen_task(of, *loaded, dataclasses.replace(waits, kind="test")) == "b"


def test_c5_completed_assignments_may_count_by_quality() -> None:
    """Two poor ones are less than one good one."""
    rows = [row("1", "a", Stage.DONE, 1.0, quality=0.3), row("2", "a", Stage.DONE, 1.0, quality=0.3)]
    rows.append(row("3", "b", Stage.DONE, 1.0))
    assert chosen_task(small(Mode.EQUAL, {"a": 9, "b": 9}, is_weighted=True), *rows) == "a"
    assert chosen_task(small(Mode.EQUAL, {"a": 9, "b": 9}), *rows) == "b"


def test_c3_cards_are_chosen() -> None:
    """Only from the group's."""
    of = small(Mode.CHOOSE, {"a": 9, "b": 9})
    place = assign(of, Book(), newcomer(), "g", DRAW, "b")
    assert place == Place("b", "g", 0)
    with pytest.raises(ValueError, match="expected one of the tasks a, b, got 'c'"):
        assign(of, Book(), newcomer(), "g", DRAW, "c")


class Simulation:
    """People who arrive, are slow or fast, fail, leave, and come back; time is that of the events."""

    def __init__(self, of: Crowd, group: str, arrivals: int, seed: int) -> None:
        self.crowd, self.group, self.book = of, group, Book()
        self.random = random.Random(seed)
        self.events: list[tuple[float, int, str]] = []
        self.games = 0
        self.played: dict[str, float] = {}
        for number in range(arrivals):
            self.later(number * 0.5, f"p{number}")

    def later(self, time: float, person: str) -> None:
        heapq.heappush(self.events, (time, len(self.events) + self.random.randrange(10**9), person))

    def run(self) -> None:
        while self.events:
            now, _, name = heapq.heappop(self.events)
            before = self.book.get(name)
            person = self.arrive(name, now) if before is None else self.advance(before, now)
            self.book.put(person)
            if person.stage is Stage.PLAY and person.place is not None and person.id not in self.played:
                self.played[person.id] = self.random.choice([0, 1, 2, 3, 4, 5])
            if not person.stage.is_over:
                self.later(now + self.random.expovariate(1 / 5), name)
            elif person.stage is Stage.DROPPED and self.random.random() < 0.5:
                self.later(now + self.random.expovariate(1 / 60), name)

    def arrive(self, name: str, now: float) -> Person:
        kind = "test" if self.random.random() < 0.02 else "prolific"
        return _flow.arrive(self.crowd, self.book, Source(kind, name, {}), self.group, name, name, now)

    def advance(self, person: Person, now: float) -> Person:
        if person.stage is Stage.DROPPED:
            return _flow.come_back(self.crowd, self.book, person, now)
        if self.random.random() < 0.05:  # in about seven steps: 30 % leave
            return _flow.drop(person, now)
        of, draw = self.crowd, self.random.randrange
        match person.stage:
            case Stage.CONSENT:
                return _flow.consent(of, person, of.consent_hash, now)
            case Stage.QUESTIONS:
                return _flow.answer(of, person, {"age": 30, "often": 3}, now)
            case Stage.SCREENING:
                slow = dataclasses.replace(GOOD, latency_ms=500.0)
                return _flow.screen(of, person, slow if draw(20) == 0 else GOOD, now)
            case Stage.INSTRUCTIONS:
                return _flow.instructed(of, person, now)
            case Stage.CHECK:
                return _flow.check(of, person, {"goal": "the outer ones" if draw(5) == 0 else "the inner ones"}, now)
            case Stage.LOBBY if person.place is None:
                return self.place(person, now)
            case Stage.LOBBY:
                return self.start(person, now)
            case Stage.PLAY:
                return _flow.finish(of, _flow.progress(person, self.completion(person)), now)
            case _:
                return _flow.answer(of, person, {}, now)

    def completion(self, person: Person) -> float:
        assert person.place is not None
        treatment = self.crowd.tasks[person.place.task].treatment
        return reward(treatment, {"score": self.played[person.id]}).completion

    def place(self, person: Person, now: float) -> Person:
        self.games += 1
        loads = {name: self.book.load(name) for name in self.crowd.groups[self.group].tasks}
        placed = _flow.place(self.crowd, self.book, person, f"g{self.games}", self.random.randrange, now)
        if placed.place is None or person.is_test:
            return placed
        if placed.place.game != f"g{self.games}":
            assert placed.place.seat > 0 or self.book.players(placed.place.game)
            return placed
        wanted = {name: load for name, load in loads.items() if load < self.crowd.tasks[name].target * 1.25}
        if self.crowd.groups[self.group].mode is Mode.EQUAL:
            assert loads[placed.place.task] == min(wanted.values())
        else:
            below = [name for name, load in wanted.items() if load < self.crowd.tasks[name].target]
            assert placed.place.task == below[0] if below else loads[placed.place.task] == min(wanted.values())
        return placed

    def start(self, person: Person, now: float) -> Person:
        assert person.place is not None
        if not _flow.may_start(self.crowd, self.book, person.place.game, now):
            return person
        rows = {each.id: each for each in _flow.start(self.book, person.place.game, now)}
        for each in rows.values():
            self.book.put(each)
            self.played.setdefault(each.id, self.random.choice([0, 1, 2, 3, 4, 5]))
        return rows[person.id]


def simulated(group: str, arrivals: int, seed: int) -> Simulation:
    """A simulation to its end, with what must hold then."""
    of = crowd()
    scored = of.tasks["row_by_row"].treatment
    scored = dataclasses.replace(scored, bonus=None)
    target = arrivals // 4
    tasks = {name: dataclasses.replace(each, target=target, treatment=scored) for name, each in of.tasks.items()}
    simulation = Simulation(dataclasses.replace(of, tasks=tasks), group, arrivals, seed)
    simulation.run()
    book, rows = simulation.book, [*simulation.book]
    assert all(each.stage.is_over for each in rows)  # everybody has a way on
    again = Book.of(rows)
    for name, task in tasks.items():
        assert (again.load(name), again.active(name)) == (book.load(name), 0)
        assert book.load(name) <= target * 1.25 + 1
        assert book.waiting(name, task.seats) is None  # no seat of a participant who is gone
    return simulation


@pytest.mark.parametrize(("group", "seed"), [("main", 0), ("quota", 1)])
def test_c4_simulated_arrivals_are_balanced(group: str, seed: int) -> None:
    """600 people of whom a third leaves: each gets a task with the fewest assignments, or the first below target."""
    simulation = simulated(group, 600, seed)
    stages = Counter(each.stage for each in simulation.book)
    assert stages[Stage.DROPPED] > 60
    assert stages[Stage.DONE] > 100


@pytest.mark.thorough
def test_c4_ten_thousand_arrivals_are_balanced() -> None:
    """Every one of them."""
    assert len(simulated("main", 10_000, 2).book) == 10_000


@pytest.mark.thorough
@pytest.mark.parametrize(("group", "seed"), [("main", 3), ("quota", 4)])
def test_c30_payments_follow_from_recordings(group: str, seed: int, tmp_path: Path) -> None:
    """Of 1,200 arrivals."""
    _pay(simulated(group, 1_200, seed), tmp_path)


@pytest.mark.slow
def test_c30_payments_of_ten_thousand_arrivals_follow_from_recordings(tmp_path: Path) -> None:
    _pay(simulated("main", 10_000, 5), tmp_path)


def _pay(simulation: Simulation, path: Path) -> None:
    """Every payment follows from the recordings, and a second file of payments is empty."""
    with logger.EpisodeWriter(path / "d") as writer:
        for each in simulation.book:
            if each.id in simulation.played:
                score = simulation.played[each.id]
                writer.write([0, 0], [1], [score], metadata={ENTRY: {"player": each.id}})
    works = [
        Work(each.id, each.key, simulation.crowd.tasks[each.place.task].treatment, each.is_test)
        for each in simulation.book
        if each.place is not None
    ]
    entries = ledger(rlds_kit.open(path / "d"), works)
    assert {each.work.assignment: each.values["score"] for each in entries if each.episodes} == simulation.played
    to_pay = unpaid(entries, ())
    assert len({each.work.assignment for each in to_pay}) == len(to_pay) > 100
    assert all(each.values["score"] >= 3 and not simulation.book[each.work.assignment].is_test for each in to_pay)
    assert unpaid(entries, {each.work.assignment for each in to_pay}) == ()
