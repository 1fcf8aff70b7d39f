"""The operations on trials."""

from collections.abc import AsyncIterator
from typing import Final

from rlds_kit import __version__
from rlds_kit.base.extras import needs
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.hosts.finished_trial import TrialState
from rlds_kit.trials.service.directory_api import DIRECTORY_OPERATIONS
from rlds_kit.trials.service.metrics import CONTENT_TYPE
from rlds_kit.trials.service.operations import Call, Operation, property_of
from rlds_kit.trials.service.tokens import Role
from rlds_kit.trials.wire import requests
from rlds_kit.trials.wire.messages import Reward, Text
from rlds_kit.trials.wire.reading import write
from rlds_kit.trials.wire.values import WireError

with needs("trials"):
    from starlette.responses import Response, StreamingResponse


async def start(call: Call) -> requests.Started:
    """Starts a trial; it waits for its place, and for programs that take its seats."""
    return requests.Started(id=await call.service.host.submit(call.service.setup(call.body)))


async def listed(call: Call) -> requests.Trials:
    """All trials that have the phases and properties of the query."""
    phases, properties = _phases(call), [property_of(each) for each in call.query.get("property", ())]
    states = [state for state in call.service.host.states() if not phases or state.phase in phases]
    found = [state for state in states if all(str(state.properties.get(key)) == value for key, value in properties)]
    return requests.Trials(trials=tuple(call.service.info(state) for state in found))


def _phases(call: Call) -> list[Phase]:
    try:
        return [Phase(each) for each in call.query.get("phase", ())]
    except ValueError as error:
        raise WireError(f"phase: expected one of {', '.join(each.value for each in Phase)}: {error}") from error


async def info(call: Call) -> requests.TrialInfo:
    """Where a trial stands."""
    state = call.service.host.state(call.path["trial"])
    return call.service.info(state, observations=call.query.get("observations", [""])[0] == "1")


async def watch(call: Call) -> Response:
    """The states of trials as they change, as server-sent events."""
    wanted = call.query.get("trial", ())
    for trial in wanted:
        call.service.host.state(trial)  # there is one

    async def events() -> AsyncIterator[bytes]:
        async for state in call.service.host.watch():
            if call.token is not None and call.service.revocations.has(call.token):
                return
            if not wanted or state.id in wanted:
                yield _event(call, state)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _event(call: Call, state: TrialState) -> bytes:
    return b"event: state\ndata: %s\n\n" % write(call.service.info(state))


async def end(call: Call) -> requests.Done:
    """Ends a trial after one more step, or at once.

    Raises:
      ValueError: it is over, or has not begun.
    """
    trial = call.path["trial"]
    if not call.service.end(trial, call.body.reason, is_hard=call.body.is_hard):
        phase = call.service.host.state(trial).phase.value
        raise ValueError(f"expected a trial that runs or waits for a program, got one that is {phase}")
    return requests.Done()


async def reward(call: Call) -> requests.Aggregates:
    """Gives a reward for any step that was done; it is on the disk when the answer comes."""
    given: Reward = call.body
    aggregates = await call.service.host.reward(
        call.path["trial"],
        given.seat,
        given.value,
        source="" if call.token is None else call.token.name,
        confidence=given.confidence,
        step=given.step,
        details=given.details,
    )
    return requests.Aggregates(aggregates=aggregates)


async def say(call: Call) -> requests.Done:
    """Sends text from a seat to others.

    Raises:
      ValueError: it was refused.
    """
    text: Text = call.body
    refused = call.service.host.say(call.path["trial"], text.sender, text.content, text.to)
    if refused is not None:
        raise ValueError(refused)
    return requests.Done()


async def seats(call: Call) -> requests.OpenSeats:
    """Seats that wait for programs."""
    waiting = call.service.seats.waiting
    return requests.OpenSeats(
        seats=tuple(
            requests.OpenSeat(trial=each.trial, seat=each.seat, actor_class=each.actor_class.name) for each in waiting
        )
    )


async def revoke(call: Call) -> requests.Done:
    """Refuses the tokens of a name that were made until now."""
    call.service.revoke(call.body.name)
    return requests.Done()


async def health(call: Call) -> requests.Health:
    """That the service answers."""
    running = [state for state in call.service.host.states() if state.phase is Phase.RUNNING]
    return requests.Health(version=__version__, trials=len(running))


async def metrics(call: Call) -> Response:
    """What the service measures, for Prometheus."""
    return Response(call.service.metrics.text(), media_type=CONTENT_TYPE)


_TRIAL: Final = "/v1/trials/{trial}"
OPERATIONS: Final = (
    Operation(
        name="start",
        method="POST",
        path="/v1/trials",
        summary="Start a trial; it waits for its place, and for programs that take its seats.",
        role=Role.ADMIN,
        run=start,
        body=requests.StartTrial,
        answer=requests.Started,
        status=201,
    ),
    Operation(
        name="list",
        method="GET",
        path="/v1/trials",
        summary="List trials.",
        role=Role.WATCHER,
        run=listed,
        answer=requests.Trials,
        query={"phase": "Only trials in these phases.", "property": "Only trials with KEY=VALUE, all of them."},
    ),
    Operation(
        name="info",
        method="GET",
        path=_TRIAL,
        summary="Where a trial stands.",
        role=Role.WATCHER,
        run=info,
        answer=requests.TrialInfo,
        query={"observations": "1: with the latest observations."},
    ),
    Operation(
        name="watch",
        method="GET",
        path="/v1/watch",
        summary="The states of trials as they change, as server-sent events; the data of each is a TrialInfo.",
        role=Role.WATCHER,
        run=watch,
        media_type="text/event-stream",
        query={"trial": "Only these trials."},
    ),
    Operation(
        name="end",
        method="POST",
        path=f"{_TRIAL}/end",
        summary="End a trial after one more step, or at once.",
        role=Role.ADMIN,
        run=end,
        body=requests.EndTrial,
        answer=requests.Done,
    ),
    Operation(
        name="reward",
        method="POST",
        path=f"{_TRIAL}/rewards",
        summary="Give a reward for any step that was done; it is on the disk when the answer comes.",
        role=Role.ACTOR,
        run=reward,
        body=Reward,
        answer=requests.Aggregates,
    ),
    Operation(
        name="say",
        method="POST",
        path=f"{_TRIAL}/messages",
        summary="Send text from a seat to others.",
        role=Role.ADMIN,
        run=say,
        body=Text,
        answer=requests.Done,
    ),
    Operation(
        name="seats",
        method="GET",
        path="/v1/seats",
        summary="List seats that wait for programs; WebSocket /v1/seat takes one.",
        role=Role.WATCHER,
        run=seats,
        answer=requests.OpenSeats,
    ),
    Operation(
        name="revoke",
        method="POST",
        path="/v1/tokens/revoke",
        summary="Refuse the tokens of a name that were made until now; its programs lose their seats.",
        role=Role.ADMIN,
        run=revoke,
        body=requests.RevokeTokens,
        answer=requests.Done,
    ),
    Operation(
        name="health",
        method="GET",
        path="/health",
        summary="Whether the service answers.",
        role=None,
        run=health,
        answer=requests.Health,
    ),
    Operation(
        name="metrics",
        method="GET",
        path="/metrics",
        summary="What the service measures, for Prometheus.",
        role=Role.WATCHER,
        run=metrics,
        media_type="text/plain",
    ),
    *DIRECTORY_OPERATIONS,
)
