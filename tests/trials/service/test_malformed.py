"""Messages that are not valid: thousands of them change nothing, and delay no other trial's steps."""

import contextlib
import dataclasses
import json
import random
from http.client import HTTPConnection
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import rlds_kit
from rlds_kit.trials.client import ActorRequest, Client, StartTrial
from rlds_kit.trials.wire.messages import Join
from rlds_kit.trials.wire.reading import write
from tests.trials.hosts.running import PENNIES
from tests.trials.service.services import ended, serving, token

VALID = (
    b'{"environment": "corridor", "actors": {"player": {"implementation": "right"}}, "seed": 3}',
    b'{"seat": "player", "value": 1.0, "confidence": 0.5, "step": 2, "details": {"note": "fine"}}',
    b'{"type": "act", "step": 1, "action": {"$array": "AQAAAAAAAAA=", "dtype": "<i8", "shape": []}}',
    b'{"type": "join", "token": "none", "wait_seconds": 0}',
)
PATHS = ("/v1/trials", "/v1/trials/disturbed/rewards", "/v1/trials/disturbed/end", "/v1/trials/disturbed/messages")


def _malformed(draw: random.Random) -> bytes:
    """A message with bytes changed, left out or added; never a valid one: it lacks a brace or has a strange field."""
    message = bytearray(draw.choice(VALID))
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(message))
        message[at : at + draw.randrange(3)] = draw.randbytes(draw.randrange(4))
    return bytes(message) + draw.choice([b"", b"{", b"\xff", b"]" * 50, b"[" * 5000])


def _post(client: Client, draw: random.Random, count: int) -> set[int]:
    headers = {"Authorization": f"Bearer {token()}"}
    found = set()
    with contextlib.closing(HTTPConnection(client._url.removeprefix("http://"), timeout=60)) as connection:
        for _ in range(count):
            connection.request("POST", draw.choice(PATHS), _malformed(draw) + b"?", headers)
            answer = connection.getresponse()
            found.add(answer.status)
            assert json.loads(answer.read())["problems"]
    return found


def _send(client: Client, draw: random.Random, count: int, trial: str) -> int:
    """To a seat that is taken, as text and as bytes; each is answered."""
    refused = 0
    url = client._url.replace("http", "ws", 1)
    with connect(f"{url}/v1/seat", proxy=None, max_size=1 << 24) as socket:
        socket.send(write(Join(token=token(), trial=trial, wait_seconds=60.0)).decode())
        assert '"joined"' in str(socket.recv())
        assert '"observe"' in str(socket.recv())
        for _ in range(count):
            socket.send(_malformed(draw) + b"?")
            refused += '"refused"' in str(socket.recv(timeout=60))
    return refused


@pytest.mark.parametrize(
    "count", [pytest.param(200, id="200"), pytest.param(10_000, id="10000", marks=pytest.mark.thorough)]
)
def test_g26_malformed_messages_are_refused_and_other_trials_go_on(count: int, tmp_path: Path) -> None:
    """A fifth over REST, the others over a seat: never a 500; the trial beside them has the steps of one alone."""
    random_actor = ActorRequest(implementation="random")
    beside = StartTrial(
        environment="long", actors={"odd": random_actor, "even": random_actor}, seed=11, max_steps=count // 2
    )
    long = dataclasses.replace(PENNIES, kwargs={"length": 1_000_000})
    digests = []
    for name in ("alone", "disturbed"):
        draw = random.Random(7)
        with serving(directory=tmp_path / name, join_seconds=600.0, environments={"long": long}) as client:
            trial = client.start(beside)
            if name == "disturbed":
                actors = {"odd": ActorRequest(implementation="remote"), "even": random_actor}
                disturbed = client.start(
                    dataclasses.replace(beside, actors=actors, id="disturbed", answer_seconds=600.0)
                )
                assert _post(client, draw, count // 5) == {400}
                assert _send(client, draw, count - count // 5, disturbed) == count - count // 5
                assert "program" in ended(client, disturbed).reason
            assert ended(client, trial).step == count // 2
        digests.append(rlds_kit.open(tmp_path / name).content_digest)
    assert digests[0] == digests[1]


@pytest.mark.parametrize("first", [b"", b"{}", b"\xff\xfe", b'{"type": "act", "step": 1, "action": 1}', b"[" * 3000])
def test_a_first_message_that_is_no_join_is_refused(first: bytes) -> None:
    with serving() as client:
        url = client._url.replace("http", "ws", 1)
        with connect(f"{url}/v1/seat", proxy=None) as socket:
            socket.send(first)
            assert '"refused"' in str(socket.recv(timeout=60))
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=60)
        assert client.trials() == ()
