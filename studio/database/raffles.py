"""Raffles of crowds that were drawn: each ticket is in one of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import commitment, draw_published
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import StaleError

with needs("studio"):
    from sqlalchemy import Connection, insert, select


@dataclass(frozen=True, slots=True)
class Raffle:
    """A raffle that was drawn.

    Attributes:
      number: from 1 on.
      tickets: of each assignment.
      phrase: that was published.
      prizes: how many there were.
      prize_cents: what each is worth.
      winners: assignments, in the order in which they were drawn.
      user_id: who drew it.
      drawn_ns: when.
    """

    number: int
    tickets: Mapping[str, int]
    phrase: str
    prizes: int
    prize_cents: int
    winners: tuple[str, ...]
    user_id: str
    drawn_ns: int

    @property
    def commitment(self) -> str:
        """The hash of the tickets; see `crowd.incentives.commitment`."""
        return commitment(self.tickets)


def raffles(connection: Connection, crowd: str) -> list[Raffle]:
    """The raffles of a crowd, in order."""
    rows = tables.crowd_raffles
    names = ("number", "tickets", "phrase", "prizes", "prize_cents", "winners", "user_id", "drawn_ns")
    wanted = select(*(rows.c[name] for name in names)).where(rows.c.crowd_id == crowd).order_by(rows.c.number)
    return [Raffle(**{**row, "winners": tuple(row["winners"])}) for row in connection.execute(wanted).mappings()]


def draw(
    connection: Connection, crowd: str, user: str, tickets: Mapping[str, int], phrase: str, prizes: int, cents: int
) -> Raffle:
    """Draws a raffle, and stores it.

    Raises:
      StaleError: some of the tickets were drawn before.
    """
    earlier = raffles(connection, crowd)
    again = {assignment for each in earlier for assignment in each.tickets} & tickets.keys()
    if again:
        raise StaleError(f"{len(again)} of these tickets were in a raffle before; load the page again")
    winners = draw_published(tickets, prizes, phrase)
    made = Raffle(len(earlier) + 1, dict(tickets), phrase, prizes, cents, winners, user, tables.now_ns())
    values = {
        name: getattr(made, name) for name in ("number", "phrase", "prizes", "prize_cents", "user_id", "drawn_ns")
    }
    connection.execute(
        insert(tables.crowd_raffles).values(crowd_id=crowd, tickets=made.tickets, winners=list(winners), **values)
    )
    return made
