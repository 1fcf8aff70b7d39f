"""A raffle is drawn by what was published, and by nothing else."""

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.crowd.incentives import Entry, Reward, Treatment, Work, commitment, draw_published, tickets_of

TICKETS = st.dictionaries(st.text("abcdef0123456789", min_size=1, max_size=4), st.integers(0, 4), max_size=8)


def by_hand(tickets: dict[str, int], prizes: int, phrase: str) -> list[str]:
    """The published rule once more: a list with a line for each ticket, of which SHA-256 takes one after another."""
    lines = "".join(f"{name} {tickets[name]}\n" for name in sorted(tickets))
    committed = hashlib.sha256(lines.encode()).hexdigest()
    seed = hashlib.sha256(f"{committed}\n{phrase}".encode()).digest()
    left = [name for name in sorted(tickets) for _ in range(tickets[name])]
    winners: list[str] = []
    while left and len(winners) < prizes:
        drawn = hashlib.sha256(seed + len(winners).to_bytes(8, "big")).hexdigest()
        winners.append(left[int(drawn, 16) % len(left)])
        left = [name for name in left if name != winners[-1]]
    return winners


@given(TICKETS, st.integers(0, 5), st.text(max_size=10))
def test_c28_anybody_can_draw_it_again_by_the_published_rule(tickets: dict[str, int], prizes: int, phrase: str) -> None:
    """In whatever order the tickets are listed; no one wins twice, or without a ticket."""
    drawn = draw_published(dict(reversed(tickets.items())), prizes, phrase)
    assert list(drawn) == by_hand(tickets, prizes, phrase)
    assert len(set(drawn)) == len(drawn) == min(prizes, sum(number > 0 for number in tickets.values()))


def test_c28_chances_are_those_of_the_tickets() -> None:
    """Over 4,000 phrases, within three standard deviations."""
    won = Counter(draw_published({"ada": 3, "bob": 1}, 1, str(number))[0] for number in range(4000))
    assert won["ada"] == pytest.approx(3000, abs=3 * (4000 * 0.75 * 0.25) ** 0.5)


def test_c28_another_ticket_is_another_hash() -> None:
    """And another phrase is another draw."""
    many = {f"p{number}": 1 for number in range(100)}
    assert len({commitment(many), commitment({**many, "p0": 2}), commitment({**many, "q": 1})}) == 3
    assert len({draw_published(many, 3, phrase) for phrase in "abcdef"}) == 6


def test_test_users_and_those_who_did_not_do_all_have_no_tickets() -> None:
    raffle = Treatment("raffle", tickets=2)
    of = [("a", 2, False), ("b", 2, True), ("c", 0, False)]
    entries = [Entry(Work(name, "p", raffle, is_test=is_test), {}, Reward(1.0, 0, 0, n), 1) for name, n, is_test in of]
    assert tickets_of(entries) == {"a": 2}
