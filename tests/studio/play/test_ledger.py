"""The host is told everything, in order, and once if it does not fail."""

import asyncio
import functools
from collections.abc import Awaitable, Callable

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.play.host import NotNotedError
from rlds_kit.studio.play.ledger import Ledger


class Book:
    """A host that fails as told.

    Attributes:
      written: what was noted.
      failures: how often it fails before the next note.
    """

    def __init__(self) -> None:
        self.written: list[int] = []
        self.failures = 0

    def write(self, number: int) -> Callable[[], Awaitable[None]]:
        """Notes a number."""

        async def telling() -> None:
            await asyncio.sleep(0)
            if self.failures:
                self.failures -= 1
                raise OSError("gone")
            self.written.append(number)

        return telling


@given(st.lists(st.integers(0, 3), max_size=6))
def test_everything_is_told_in_order_however_often_the_host_fails(failures: list[int]) -> None:
    """Each failure is heard of once until it is over."""
    book, heard, then = Book(), list[str](), list[int]()

    async def tell() -> None:
        ledger = Ledger(heard.append, first_seconds=0.0)
        for number, count in enumerate(failures):
            book.failures = count
            ledger.note(book.write(number), functools.partial(then.append, number))
            await _settled(ledger)

    asyncio.run(tell())
    assert book.written == then == list(range(len(failures)))
    assert len(heard) == sum(count > 0 for count in failures)


async def _settled(ledger: Ledger) -> None:
    """Waits until all is told, however often the host fails."""
    told = asyncio.Event()
    ledger.note(_nothing, told.set)
    await told.wait()


async def _nothing() -> None:
    """Is told to a host that notes it."""


def test_nothing_is_told_before_what_came_before_it() -> None:
    """Also if only the first one fails; who waits for the host is not held up by that."""
    book = Book()

    async def tell() -> None:
        ledger = Ledger(lambda _: None)
        book.failures = 1
        ledger.note(book.write(1))
        ledger.note(book.write(2))
        assert not await ledger.settle(100.0)
        assert book.written == []
        await _settled(ledger)

    asyncio.run(tell())
    assert book.written == [1, 2]


def test_what_a_host_never_notes_holds_up_nothing() -> None:
    """It is given up, and heard of."""
    book, heard = Book(), list[str]()

    async def refuse() -> None:
        raise NotNotedError("no such study")

    async def tell() -> None:
        ledger = Ledger(heard.append)
        ledger.note(refuse)
        ledger.note(book.write(2))
        assert await ledger.settle(100.0)

    asyncio.run(tell())
    assert (book.written, heard) == ([2], ["no such study"])


def test_at_the_end_the_host_is_told_a_last_time() -> None:
    """What it still does not note is counted."""
    book = Book()

    async def tell() -> tuple[int, int]:
        counts = []
        for failures in (1, 9):
            ledger = Ledger(lambda _: None)
            book.failures = failures
            ledger.note(book.write(failures))
            ledger.note(book.write(failures + 1))
            await ledger.settle(100.0)
            counts.append(await ledger.close(1.0))
        return counts[0], counts[1]

    assert asyncio.run(tell()) == (0, 2)
    assert book.written == [1, 2]
