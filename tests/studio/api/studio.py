"""A whole studio inside the test: its application with real database and workers, and clients."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from httpx2 import Response
from sqlalchemy import Connection
from starlette.testclient import TestClient

from rlds_kit.base.rate_limit import Limit
from rlds_kit.studio.accounts import login
from rlds_kit.studio.application import create_application
from rlds_kit.studio.database import studies, users
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.studies import Content, Study, StudyEnvironment
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.studio.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")
ORIGIN = "http://127.0.0.1"
OFTEN = Limit(per_second=1e6, burst=1_000_000)
CORRIDOR = "rlds_kit_tests/Corridor-v0"
MODULES = ("tests.trials.environments.odd_environments", "tests.studio.api.broken_environments")
WALK = StudyEnvironment(name="Walk", instructions="Go right.", environment=CORRIDOR, turn="press")


@dataclass(frozen=True)
class Person:
    """A client that is logged in by a header, as programs are.

    Attributes:
      studio: that receives the requests.
      id: of the account.
      token: signed.
    """

    studio: "Studio"
    id: str
    token: str

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Response:
        """Sends a request, with a body of JSON if there is one."""
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        content = {} if body is None else {"json": body}
        found: Response = self.studio.client.request(method, path, headers=headers, **content, **options)
        return found

    def get(self, path: str) -> Any:
        """Sends a GET that must succeed; returns its values."""
        return ok(self.ask("GET", path))

    def post(self, path: str, body: Any = None) -> Any:
        """Likewise."""
        return ok(self.ask("POST", path, {} if body is None else body))

    def put(self, path: str, body: Any) -> Any:
        """Likewise."""
        return ok(self.ask("PUT", path, body))

    def is_refused(self, status: int, code: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Sends a request that must be refused; returns the error."""
        return refused(self.ask(method, path, body), status, code)


@dataclass(frozen=True)
class Studio:
    """A running studio.

    Attributes:
      client: without a login.
      directory: of the studio.
    """

    client: TestClient
    directory: Path

    @property
    def state(self) -> Any:
        """Of the application."""
        return self.client.app.state  # type: ignore[attr-defined]  # of Starlette

    def do(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a function on the database."""
        assert self.client.portal is not None
        return self.client.portal.call(lambda: self.state.database.run(work, *args, **kwargs))

    def person(self, role: Role = Role.DESIGNER, name: str = "Ünal") -> Person:
        """A new person."""
        return self.known(self.do(users.add, role, name).id)

    def known(self, user: str) -> Person:
        """A person who has an account."""
        made = self.do(login.link, user)
        return Person(self, user, self.state.signer.sign(Kind.ACCESS, made.token.id))

    def study(self, owner: Person, *environments: StudyEnvironment, is_enabled: bool = True, name: str = "S") -> Study:
        """Makes a study without inspecting its environments."""

        def make(connection: Connection) -> Study:
            made = studies.add(connection, owner.id, Content(name=name, environments=environments or (WALK,)))
            return studies.enable(connection, made.id, is_enabled)

        return self.do(make)


@contextmanager
def opened(directory: Path, **settings: Any) -> Iterator[Studio]:
    """A studio that runs until the context is left."""
    limits = {"login_limit": OFTEN, "request_limit": OFTEN, "change_limit": OFTEN}
    made = Settings(directory=directory, **{"workers": 1, "modules": MODULES, **limits, **settings})
    with TestClient(create_application(made), base_url=ORIGIN) as client:
        yield Studio(client, directory)


def ok(response: Response) -> Any:
    """The values of a response, which must be a success."""
    assert response.is_success, response.text
    values = response.json()
    assert values.pop("v") == 1
    return values


def refused(response: Response, status: int, code: str) -> dict[str, Any]:
    """The error of a response, which must have this status and code."""
    values = response.json()
    assert (response.status_code, values["error"]["code"]) == (status, code), response.text
    assert values.keys() == {"v", "error"}
    assert values["error"].keys() == {"code", "message", "where"}
    error: dict[str, Any] = values["error"]
    return error
