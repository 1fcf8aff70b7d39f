"""Where a service listens, and how it ends."""

import contextlib
import socket

import pytest

from rlds_kit.trials.client import Client, ServiceError
from rlds_kit.trials.service import running
from rlds_kit.trials.service.serving import listen
from tests.trials.service.services import SETTINGS, corridor, token


def test_small_answers_are_sent_at_once() -> None:
    """The event loop turns Nagle's algorithm off if a socket names its protocol; else each request waits for 40 ms."""
    with contextlib.closing(listen()) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_a_port_that_is_taken_is_an_error() -> None:
    with (
        contextlib.closing(listen()) as taken,
        pytest.raises(OSError, match="in use"),
        running(SETTINGS, port=taken.getsockname()[1]),
    ):
        pass


def test_who_watches_sees_the_end_of_a_service() -> None:
    """Its trials end; later requests say that no server is there."""
    with contextlib.ExitStack() as stack:
        with running(SETTINGS) as url:
            client = stack.enter_context(Client(url, token()))
            trial = client.start(corridor("patient", answer_seconds=300.0))
            states = client.watch(trial)
            assert next(states).id == trial
        assert list(states)[-1].phase == "ended"
        with pytest.raises(ServiceError, match="cannot be reached"):
            client.trials()
