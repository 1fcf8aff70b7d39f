"""Ends of pipes in an event loop: everything comes, in order, and nothing stops the loop."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, Final

import pytest

from rlds_kit.trials.workers.channel import Channel, ProcessLostError
from rlds_kit.trials.workers.job import Job
from rlds_kit.trials.workers.pipe_end import ReadPipe, WatchedPipe, _first, _framed

SIZES: Final = (0, 1, 16_384 - 64, 16_385, 300_000, 5_000_000)
"""Around what `Connection` sends at once, and what fits into no buffer of a pipe."""


class Echo:
    """Answers requests with themselves."""

    def answer(self, wanted: Sequence[tuple[int, Any]], /) -> list[Any]:
        """The requests."""
        return [request for _, request in wanted]

    def close(self) -> None:
        """Nothing."""


ECHO: Final = Job("echo", Echo)


@pytest.mark.parametrize("kind", [WatchedPipe, ReadPipe])
def test_what_a_process_sends_comes_whole_and_in_order(kind: type[WatchedPipe | ReadPipe]) -> None:
    """Whatever its size, and what is sent to it likewise, also when both send at once."""
    payloads = [os.urandom(size) for size in SIZES]

    def process(pipe: "Connection[Any, Any]") -> None:
        for each in payloads:
            pipe.send(each)
        for _ in payloads:
            pipe.send(pipe.recv())
        pipe.close()

    async def test() -> list[bytes]:
        ours, theirs = multiprocessing.Pipe()
        received: list[bytes] = []
        ended = asyncio.Event()
        end = kind(ours, received.append, ended.set)
        thread = threading.Thread(target=process, args=(theirs,))
        thread.start()
        for each in payloads:
            await asyncio.to_thread(end.send, each) if kind is ReadPipe else end.send(each)
        await ended.wait()
        await end.drain()
        thread.join()
        return received

    assert asyncio.run(asyncio.wait_for(test(), 60)) == payloads * 2


def test_the_length_of_two_gibibytes_takes_twelve_bytes() -> None:
    """As `Connection` writes and reads it."""

    class Huge(bytes):
        def __len__(self) -> int:
            return 1 << 31

    data: Any = Huge(b"x")
    head = _framed(data)[:12]
    assert head == b"\xff\xff\xff\xff" + (1 << 31).to_bytes(8, "big")
    assert _first(bytearray(head[:11])) is None
    assert _first(bytearray(head + b"x")) is None


def test_a_process_that_reads_nothing_stops_no_other() -> None:
    """More is sent than a pipe takes: the loop goes on, and the process is killed when its time is over."""

    async def test() -> None:
        lost: list[str] = []
        channel = Channel(ECHO, lost.append)
        assert await channel.request(0, "here") == "here"
        channel._answer_seconds = 0.5  # the process needed longer to start
        os.kill(channel.pid, signal.SIGSTOP)
        requests = [asyncio.ensure_future(channel.request(0, bytes(1_000_000))) for _ in range(4)]
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert not any(each.done() for each in requests)
        found = await asyncio.gather(*requests, return_exceptions=True)
        assert all(isinstance(each, ProcessLostError) for each in found)
        assert len(lost) == 1
        await channel.close(1.0)

    asyncio.run(asyncio.wait_for(test(), 60))


def test_requests_larger_than_the_pipe_are_answered() -> None:
    """Both directions at once, more than fits into both."""

    async def test() -> None:
        channel = Channel(ECHO, lambda _: None)
        payloads = [os.urandom(400_000) for _ in range(8)]
        assert await asyncio.gather(*(channel.request(0, each) for each in payloads)) == payloads
        await channel.close(10.0)

    asyncio.run(asyncio.wait_for(test(), 60))
