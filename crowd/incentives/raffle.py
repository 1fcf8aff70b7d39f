"""A raffle that anybody can draw again: its numbers follow from the tickets and a phrase, by SHA-256.

The hash of the tickets is published before the phrase is known, so that tickets cannot be chosen to fit a phrase. The
phrase should be one that cannot be chosen to fit tickets either, such as tomorrow's numbers of a public lottery.
"""

import hashlib
from collections.abc import Iterable, Mapping

from rlds_kit.crowd.incentives.ledger import Entry
from rlds_kit.crowd.incentives.treatment import Draw, draw_raffle


def tickets_of(entries: Iterable[Entry]) -> dict[str, int]:
    """The tickets of each assignment of a ledger that has any; test users have none.

    >>> tickets_of([])
    {}
    """
    counted = {each.work.assignment: each.reward.tickets for each in entries if not each.work.is_test}
    return {assignment: number for assignment, number in sorted(counted.items()) if number > 0}


def commitment(tickets: Mapping[str, int]) -> str:
    r"""SHA-256 of the tickets, hexadecimal: of the lines "ASSIGNMENT TICKETS\\n", sorted, in UTF-8.

    >>> commitment({"b": 1, "a": 2})[:16] == hashlib.sha256(b"a 2\nb 1\n").hexdigest()[:16]
    True
    """
    lines = "".join(f"{assignment} {number}\n" for assignment, number in sorted(tickets.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def hashed_draw(seed: bytes) -> Draw:
    """Draws that follow from a seed: number n, from 0 on, is SHA-256 of the seed and of n in 8 bytes, big-endian.

    It is a big-endian number, too, and its remainder is what is drawn.

    >>> first, again = hashed_draw(b"seed"), hashed_draw(b"seed")
    >>> [first(6) for _ in range(5)] == [again(6) for _ in range(5)]
    True
    """
    drawn = 0

    def draw(below: int) -> int:
        nonlocal drawn
        number = int.from_bytes(hashlib.sha256(seed + drawn.to_bytes(8, "big")).digest(), "big")
        drawn += 1
        return number % below

    return draw


def draw_published(tickets: Mapping[str, int], prizes: int, phrase: str) -> tuple[str, ...]:
    r"""The winners of a raffle, in the order in which they were drawn: always the same for these arguments.

    The seed is SHA-256 of "COMMITMENT\\nPHRASE"; see `draw_raffle` for how tickets are drawn.

    Args:
      tickets: of each assignment.
      prizes: how many; at most one each.
      phrase: that was published.

    >>> draw_published({"ada": 1, "bob": 0}, 3, "26 11 3 40")
    ('ada',)
    """
    seed = hashlib.sha256(f"{commitment(tickets)}\n{phrase}".encode()).digest()
    return draw_raffle(tickets, prizes, hashed_draw(seed))
