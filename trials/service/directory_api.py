"""The operations on the directory of services that act."""

from typing import Final

from rlds_kit.trials.service.operations import Call, Operation, property_of
from rlds_kit.trials.service.tokens import Role
from rlds_kit.trials.wire import requests
from rlds_kit.trials.wire.values import WireError

_ORDERS: Final = ("newest", "load")


async def register(call: Call) -> requests.Registration:
    """Adds a service."""
    services = call.service.services
    service, secret = services.register(call.body.url, call.body.properties, is_permanent=call.body.is_permanent)
    return requests.Registration(id=service.id, secret=secret, alive_seconds=services.alive_seconds)


async def heartbeat(call: Call) -> requests.Done:
    """A service is alive."""
    call.service.services.heartbeat(call.path["service"], call.body.secret, load=call.body.load)
    return requests.Done()


async def deregister(call: Call) -> requests.Done:
    """Removes a service."""
    call.service.services.deregister(call.path["service"], call.body.secret)
    return requests.Done()


async def inquire(call: Call) -> requests.Services:
    """Services that have all properties of the query."""
    order = call.query.get("order", [_ORDERS[0]])[0]
    if order not in _ORDERS:
        raise WireError(f"order: expected {' or '.join(_ORDERS)}, got {order!r}")
    properties = dict(property_of(each) for each in call.query.get("property", ()))
    found = call.service.services.inquire(properties, is_by_load=order == "load")
    return requests.Services(
        services=tuple(
            requests.ServiceInfo(
                id=each.id,
                url=each.url,
                properties=dict(each.properties),
                load=each.load,
                is_permanent=each.is_permanent,
            )
            for each in found
        )
    )


_SERVICE: Final = "/v1/services/{service}"
DIRECTORY_OPERATIONS: Final = (
    Operation(
        name="register",
        method="POST",
        path="/v1/services",
        summary="Register a program that acts in trials, which connect to it.",
        role=Role.ACTOR,
        run=register,
        body=requests.RegisterService,
        answer=requests.Registration,
        status=201,
    ),
    Operation(
        name="inquire",
        method="GET",
        path="/v1/services",
        summary="List services that are alive.",
        role=Role.WATCHER,
        run=inquire,
        answer=requests.Services,
        query={"property": "Only services with KEY=VALUE, all of them.", "order": "newest (first), or load."},
    ),
    Operation(
        name="heartbeat",
        method="POST",
        path=f"{_SERVICE}/heartbeat",
        summary="A service is alive, and so busy.",
        role=Role.ACTOR,
        run=heartbeat,
        body=requests.Heartbeat,
        answer=requests.Done,
    ),
    Operation(
        name="deregister",
        method="POST",
        path=f"{_SERVICE}/deregister",
        summary="A service goes.",
        role=Role.ACTOR,
        run=deregister,
        body=requests.Deregister,
        answer=requests.Done,
    ),
)
