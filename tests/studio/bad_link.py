"""A bad connection between a browser and the studio: a proxy that delays, stalls and cuts, with seeded randomness."""

import asyncio
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

SEGMENT = 1460
"""Bytes of a TCP segment on an Ethernet."""
_DRAWN_FOR = 0.5
"""Length in seconds of the interval for which one draw decides whether a connection is cut."""


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How bad a connection is; times in seconds.

    Attributes:
      delay: of every segment, in each direction.
      stalled: the share of segments that are lost once and retransmitted.
      retransmission: the time of a retransmission; later segments wait for it, as in TCP.
      cut_after: the mean time until the connection is cut (exponentially distributed); None: it is not.
    """

    delay: float = 0.1
    stalled: float = 0.15
    retransmission: float = 0.2
    cut_after: float | None = None


@dataclass
class BadLink:
    """A proxy that runs.

    Attributes:
      port: where it listens.
      quality: of new and existing connections; may be replaced at any time.
      connections: how many were made.
      cuts: how many of them were cut.
      stalls: how many segments were stalled.
    """

    port: int
    quality: Quality
    connections: int = 0
    cuts: int = 0
    stalls: int = 0
    _random: Random = field(default_factory=Random, repr=False)

    async def pass_on(self, to: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves a connection until it ends or is cut."""
        self.connections += 1
        ends = [writer]
        try:
            there, back = await asyncio.open_connection("127.0.0.1", to)
            ends.append(back)
            ways = [asyncio.ensure_future(each) for each in (self._way(reader, back), self._way(there, writer))]
            try:
                await self._until_cut(ways)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # one of the ends has closed
        finally:
            for end in ends:
                end.transport.abort()

    async def _until_cut(self, ways: list[asyncio.Task[None]]) -> None:
        """Draws again in each short interval, because the quality may change; lifetimes have the same distribution."""
        while True:
            cut_after = self.quality.cut_after
            seconds = math.inf if cut_after is None else self._random.expovariate(1 / cut_after)
            timeout = min(seconds, _DRAWN_FOR)
            done, _ = await asyncio.wait(ways, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if done or seconds <= _DRAWN_FOR:
                self.cuts += not done
                return

    async def _way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction: segments arrive in order, each at its time."""
        loop = asyncio.get_running_loop()
        due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivering = asyncio.ensure_future(_deliver(due, writer))
        try:
            arrival = 0.0
            while data := await reader.read(SEGMENT):
                is_stalled = self._random.random() < self.quality.stalled
                self.stalls += is_stalled
                late = self.quality.retransmission if is_stalled else 0.0
                arrival = max(arrival, loop.time() + self.quality.delay + late)
                due.put_nowait((arrival, data))
            due.put_nowait((arrival, b""))
            await delivering
        finally:
            delivering.cancel()


async def _deliver(due: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    while True:
        arrival, data = await due.get()
        await asyncio.sleep(max(0.0, arrival - loop.time()))
        if not data:
            return
        writer.write(data)
        await writer.drain()


@contextmanager
def bad_link(to: int, quality: Quality, seed: int) -> Iterator[BadLink]:
    """A proxy while the context is entered.

    Args:
      to: the port on loopback that it leads to.
      quality: of its connections.
      seed: of stalls and cuts; their times also depend on the traffic.
    """
    ready = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Event, BadLink]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        link = BadLink(0, quality, _random=Random(seed))
        server = await asyncio.start_server(lambda *ends: link.pass_on(to, *ends), "127.0.0.1", 0)
        link.port = server.sockets[0].getsockname()[1]
        running.append((asyncio.get_running_loop(), stop, link))
        ready.set()
        await stop.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # aborted transports close their sockets in later iterations of the loop

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="bad link", daemon=True)
    thread.start()
    assert ready.wait(60)
    loop, stop, link = running[0]
    try:
        yield link
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive(), "the proxy does not end"
