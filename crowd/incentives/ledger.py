"""What people are owed, counted again from the recordings, and the files that pay them."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlds_kit.crowd.collectors.collector import Collector
from rlds_kit.crowd.collectors.people import by_people
from rlds_kit.crowd.collectors.shipped import collector
from rlds_kit.crowd.collectors.tally import Tally
from rlds_kit.crowd.incentives.treatment import Reward, Treatment, reward, reward_in_proportion
from rlds_kit.dataset import Dataset
from rlds_kit.episode.episode import Episode

CROWD: Final = "crowd"
"""The entry of an episode's metadata that has the assignment of each seat: `{"player": "7f3a..."}`."""
_PARTICIPANT: Final = re.compile(r"[A-Za-z0-9_-]+")
COLUMNS: Final = ("participant", "assignment", "treatment", "base", "bonus", "raffle", "total", "currency")


@dataclass(frozen=True, slots=True)
class Work:
    """An assignment that a participant finished.

    Attributes:
      assignment: its id.
      participant: as the platform that pays knows them.
      treatment: how it is rewarded.
      is_test: whether it was a test user's, whom nothing is paid.
      is_cut_short: whether the study ended it early; then the base pay is in proportion.
    """

    assignment: str
    participant: str
    treatment: Treatment
    is_test: bool = False
    is_cut_short: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger.

    Attributes:
      work: for which.
      values: of the session, by collector, counted from the recordings.
      reward: that follows.
      episodes: how many were recorded.
      prize_cents: of a raffle that was drawn.
    """

    work: Work
    values: Mapping[str, float]
    reward: Reward
    episodes: int
    prize_cents: int = 0

    @property
    def total_cents(self) -> int:
        """Base, bonus and prize."""
        return self.reward.total_cents + self.prize_cents


def ledger(dataset: Dataset, works: Iterable[Work], *, fps: float | None = None) -> tuple[Entry, ...]:
    """Counts what each work is worth, from the recordings alone.

    Args:
      dataset: whose episodes have `crowd` in their metadata.
      works: what to count.
      fps: steps in a second, of episodes that do not record their rate as the studio's do; None: the recorded clock.

    Raises:
      ValueError: two works have the same assignment.
    """
    listed = tuple(works)
    seen: set[str] = set()
    for each in listed:
        if each.assignment in seen:
            raise ValueError(f"the assignment {each.assignment}: expected it once, got it twice")
        seen.add(each.assignment)
    played = episodes_of(dataset, seen)
    return tuple(_entry(each, played[each.assignment], fps) for each in listed)


def episodes_of(dataset: Dataset, assignments: Collection[str]) -> Mapping[str, Sequence[tuple[Episode, str]]]:
    """The recorded episodes of assignments with their seats, the earliest first; none where there are none."""
    found: defaultdict[str, list[tuple[Episode, str]]] = defaultdict(list)
    for episode in sorted(dataset.episodes, key=lambda each: each.started):
        seats = episode.metadata.get(CROWD)
        for seat, assignment in seats.items() if isinstance(seats, Mapping) else ():
            if isinstance(assignment, str) and assignment in assignments:
                found[assignment].append((episode, seat))
    return found


def session_values(
    played: Iterable[tuple[Episode, str]], collectors: Sequence[Collector], *, fps: float | None = None
) -> dict[str, float]:
    """What collectors count over several episodes with their seats; what a program did there does not count."""
    tally = Tally(collectors)
    for episode, seat in played:
        tally.begin_episode()
        tally.add_all(by_people(episode, seat, fps))
    return tally.values.session


def _entry(work: Work, played: Sequence[tuple[Episode, str]], fps: float | None) -> Entry:
    values = session_values(played, [collector(name) for name in work.treatment.collectors], fps=fps)
    rule = reward_in_proportion if work.is_cut_short else reward
    earned = rule(work.treatment, values) if played else Reward(0.0, 0, 0, 0)
    return Entry(work, values, earned, len(played))


def unpaid(entries: Iterable[Entry], paid: Iterable[str]) -> tuple[Entry, ...]:
    """The entries to pay: above nothing, not of test users, and not paid before.

    Args:
      entries: of the ledger.
      paid: assignments that were paid.

    Raises:
      TypeError: `paid` is one text.
    """
    if isinstance(paid, str):
        raise TypeError(f"expected assignments that were paid, got the text {paid!r}; a set of one is {{{paid!r}}}")
    done = frozenset(paid)
    return tuple(
        each for each in entries if each.total_cents > 0 and not each.work.is_test and each.work.assignment not in done
    )


def payment_csv(entries: Iterable[Entry], *, currency: str = "USD") -> str:
    """A file of payments: a line for each, amounts with two decimals.

    >>> print(payment_csv([]).strip())
    participant,assignment,treatment,base,bonus,raffle,total,currency
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in entries:
        work, earned = each.work, each.reward
        amounts = (earned.base_cents, earned.bonus_cents, each.prize_cents, each.total_cents)
        texts = map(harmless, (work.participant, work.assignment, work.treatment.name))
        writer.writerow([*texts, *map(amount, amounts), currency])
    return file.getvalue()


def prolific_bonuses(entries: Iterable[Entry]) -> str:
    """What Prolific takes for bonuses, prizes among them: `participant,amount` in each line, of those above nothing.

    Raises:
      ValueError: a participant is not letters, digits, - and _: it could be another line.
    """
    owed = [each for each in entries if each.reward.bonus_cents + each.prize_cents]
    for each in owed:
        if not _PARTICIPANT.fullmatch(each.work.participant):
            raise ValueError(f"expected a participant of letters, digits, - and _, got {each.work.participant!r}")
    return "".join(f"{each.work.participant},{amount(each.reward.bonus_cents + each.prize_cents)}\n" for each in owed)


def amount(cents: int) -> str:
    """Cents as an amount.

    Raises:
      ValueError: they are no whole number from 0 on.

    >>> amount(205)
    '2.05'
    """
    given: object = cents
    if not isinstance(given, int) or given < 0:
        raise ValueError(f"expected a whole number of cents from 0 on, got {cents!r}")
    return f"{cents // 100}.{cents % 100:02}"


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
