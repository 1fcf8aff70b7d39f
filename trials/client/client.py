"""A client of a service of trials."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from rlds_kit.base.extras import needs
from rlds_kit.trials.client.errors import ServiceError
from rlds_kit.trials.client.seat import Seat
from rlds_kit.trials.wire import requests
from rlds_kit.trials.wire.messages import Join, Reward, Text
from rlds_kit.trials.wire.reading import read, write
from rlds_kit.trials.wire.values import WireError, decode, encode

with needs("trials"):
    import httpx

Answer = TypeVar("Answer")
_DATA = "data: "


class Client:
    """Uses a service of trials.

    Use it in a `with` statement.

    Args:
      url: of the service, as "http://127.0.0.1:8700".
      token: of a role that may do what is requested; see `rlds-kit trials token`.
      seconds: how long to wait for an answer.
    """

    def __init__(self, url: str, token: str, *, seconds: float = 60.0) -> None:
        self._url, self._token, self._seconds = url.rstrip("/"), token, seconds
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=self._url, headers=headers, timeout=seconds, trust_env=False)

    def start(self, trial: requests.StartTrial) -> str:
        """Starts a trial; returns its id.

        Raises:
          ServiceError: it was refused.
        """
        body = dataclasses.replace(
            trial,
            actors={
                seat: dataclasses.replace(each, config=encode(each.config), default_action=encode(each.default_action))
                for seat, each in trial.actors.items()
            },
        )
        return self._post("/v1/trials", body, requests.Started).id

    def trials(self, *phases: str, properties: Mapping[str, str] | None = None) -> tuple[requests.TrialInfo, ...]:
        """Where trials stand.

        Args:
          *phases: only trials in one of them.
          properties: only trials that have all of them.

        Raises:
          ServiceError: it was refused.
        """
        query: dict[str, Any] = {
            "phase": list(phases),
            "property": [f"{key}={value}" for key, value in (properties or {}).items()],
        }
        return self._get("/v1/trials", requests.Trials, query).trials

    def info(self, trial: str, *, observations: bool = False) -> requests.TrialInfo:
        """Where a trial stands.

        Args:
          trial: its id.
          observations: whether to get the latest observations.

        Raises:
          ServiceError: there is no such trial.
        """
        found = self._get(f"/v1/trials/{trial}", requests.TrialInfo, {"observations": int(observations)})
        return dataclasses.replace(found, observations=decode(found.observations))

    def watch(self, *trials: str) -> Iterator[requests.TrialInfo]:
        """States of trials as they change, until the service ends; leave the loop to stop.

        Args:
          *trials: their ids; none: all.

        Raises:
          ServiceError: there is no such trial, or the connection is lost.
        """
        options: dict[str, Any] = {"params": {"trial": list(trials)}, "timeout": None}
        try:
            with self._http.stream("GET", "/v1/watch", **options) as response:
                if response.is_error:
                    response.read()
                    raise _error(response)
                for line in response.iter_lines():
                    if line.startswith(_DATA):
                        yield read(requests.TrialInfo, line.removeprefix(_DATA))
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def end(self, trial: str, reason: str = "it was ended", *, is_hard: bool = False) -> None:
        """Ends a trial after one more step, or at once.

        Raises:
          ServiceError: it is over, or there is none.
        """
        self._post(f"/v1/trials/{trial}/end", requests.EndTrial(reason=reason, is_hard=is_hard), requests.Done)

    def reward(self, trial: str, reward: Reward) -> dict[str, float]:
        """Gives a reward for a step that was done; returns, by seat, what it makes of it, when it is on the disk.

        Raises:
          ServiceError: it was refused.
        """
        return self._post(f"/v1/trials/{trial}/rewards", reward, requests.Aggregates).aggregates

    def say(self, trial: str, text: Text) -> None:
        """Sends text from a seat to others.

        Raises:
          ServiceError: it was refused.
        """
        self._post(f"/v1/trials/{trial}/messages", text, requests.Done)

    def revoke(self, name: str) -> None:
        """Has the service refuse the tokens of a name that were made until now; its programs lose their seats.

        Raises:
          ServiceError: the token is not an administrator's.
        """
        self._post("/v1/tokens/revoke", requests.RevokeTokens(name=name), requests.Done)

    def seats(self) -> Sequence[requests.OpenSeat]:
        """Seats that wait for programs.

        Raises:
          ServiceError: it was refused.
        """
        return self._get("/v1/seats", requests.OpenSeats, {}).seats

    def join(
        self, trial: str | None = None, seat: str | None = None, *, actor_class: str | None = None, wait: float = 0.0
    ) -> Seat:
        """Takes a seat.

        Args:
          trial: its id; None: any.
          seat: its name; None: any.
          actor_class: its class; None: any.
          wait: seconds to wait for such a seat.

        Raises:
          ServiceError: there is none, or the token is not an actor's.
        """
        join = Join(token=self._token, trial=trial, seat=seat, actor_class=actor_class, wait_seconds=wait)
        return Seat(self._url, join, self._seconds)

    def register(self, url: str, properties: Mapping[str, str], *, is_permanent: bool = False) -> requests.Registration:
        """Registers a program that trials connect to; see `offering`.

        Args:
          url: of its WebSocket.
          properties: what it can do.
          is_permanent: whether it stays though it sends no heartbeats.

        Raises:
          ServiceError: it was refused.
        """
        body = requests.RegisterService(url=url, properties=dict(properties), is_permanent=is_permanent)
        return self._post("/v1/services", body, requests.Registration)

    def heartbeat(self, service: requests.Registration, *, load: float | None = None) -> None:
        """A service is alive.

        Raises:
          ServiceError: it is not registered any more.
        """
        body = requests.Heartbeat(secret=service.secret, load=load)
        self._post(f"/v1/services/{service.id}/heartbeat", body, requests.Done)

    def deregister(self, service: requests.Registration) -> None:
        """A service goes.

        Raises:
          ServiceError: it is not registered any more.
        """
        body = requests.Deregister(secret=service.secret)
        self._post(f"/v1/services/{service.id}/deregister", body, requests.Done)

    def services(
        self, properties: Mapping[str, str] | None = None, *, is_by_load: bool = False
    ) -> Sequence[requests.ServiceInfo]:
        """Services that are alive and have all properties; the newest first, or the least busy.

        Raises:
          ServiceError: it was refused.
        """
        query: dict[str, Any] = {
            "property": [f"{key}={value}" for key, value in (properties or {}).items()],
            "order": "load" if is_by_load else "newest",
        }
        return self._get("/v1/services", requests.Services, query).services

    def _get(self, path: str, answer: type[Answer], query: Mapping[str, Any]) -> Answer:
        return self._request("GET", path, answer, params=query)

    def _post(self, path: str, body: Any, answer: type[Answer]) -> Answer:
        return self._request("POST", path, answer, content=write(body), headers={"Content-Type": "application/json"})

    def _request(self, method: str, path: str, answer: type[Answer], **options: Any) -> Answer:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if response.is_error:
            raise _error(response)
        return read(answer, response.content)

    def _unreachable(self, error: Exception) -> ServiceError:
        return ServiceError(f"{self._url} cannot be reached: {type(error).__name__}: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()


def _error(response: httpx.Response) -> ServiceError:
    """What an answer says."""
    try:
        text = "; ".join(read(requests.Problem, response.content).problems)
    except WireError:
        text = response.reason_phrase
    return ServiceError(text, response.status_code)
