"""A bad way for WebRTC between two pages: a relay of UDP that delays and loses packets, with seeded randomness.

The pages are told the relay's ports in place of each other's, so no packet goes past it.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from playwright.sync_api import BrowserContext

Address = tuple[str, int]
_REWRITE: Final = """
const add = RTCPeerConnection.prototype.addIceCandidate;
RTCPeerConnection.prototype.addIceCandidate = async function (given) {
  if (!given?.candidate) return add.call(this, given);
  const parts = given.candidate.split(" ");
  if (parts[2].toLowerCase() !== "udp") return undefined;
  parts[5] = String(await relayed(parts[4], Number(parts[5])));
  const { sdpMid, sdpMLineIndex } = given;
  return add.call(this, { candidate: parts.join(" "), sdpMid, sdpMLineIndex });
};
"""


@dataclass
class Relay:
    """One that runs.

    Attributes:
      delay: of a packet, in seconds, in each direction.
      loss: the share of packets that are lost.
      passed: packets that were passed on.
      lost: packets that were lost.
    """

    delay: float
    loss: float
    loop: asyncio.AbstractEventLoop
    random: Random
    passed: int = 0
    lost: int = 0
    ports: dict[Address, int] = field(default_factory=dict)

    def use(self, context: BrowserContext) -> None:
        """Has the pages of a browser find each other through the relay."""
        context.expose_binding("relayed", lambda _, host, port: self.port_for((host, port)))
        context.add_init_script(_REWRITE)

    def port_for(self, address: Address) -> int:
        """The port that leads to an address."""
        if address not in self.ports:
            self.ports[address] = asyncio.run_coroutine_threadsafe(self._open(address), self.loop).result(10)
        return self.ports[address]

    async def _open(self, address: Address) -> int:
        way, _ = await self.loop.create_datagram_endpoint(lambda: _Way(self, address), local_addr=(address[0], 0))
        return int(way.get_extra_info("sockname")[1])


class _Way(asyncio.DatagramProtocol):
    """To one page, and back to whoever wrote last."""

    def __init__(self, relay: Relay, page: Address) -> None:
        self._relay, self._page = relay, page
        self._other: Address | None = None
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps it."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Passes it on, later, or loses it."""
        if addr[:2] != self._page:
            self._other = addr[:2]
        to = self._other if addr[:2] == self._page else self._page
        if to is None or self._relay.random.random() < self._relay.loss:
            self._relay.lost += 1
            return
        self._relay.passed += 1
        self._relay.loop.call_later(self._relay.delay, self._transport.sendto, data, to)


@contextmanager
def relaying(delay: float, loss: float, seed: int) -> Iterator[Relay]:
    """A relay in a thread of its own, while the context is entered."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="relay", daemon=True)
    thread.start()
    try:
        yield Relay(delay, loss, loop, Random(seed))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
