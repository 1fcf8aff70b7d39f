"""The served files of the page."""

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rlds_kit import studio
from rlds_kit.studio import page_files
from rlds_kit.studio.page_files import TYPES, page_routes

PAGE: Final = Path(studio.__file__).parent / "page"
FILES: Final = sorted(path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.is_file())
OWN: Final = [name for name in FILES if not name.startswith("vendor/") and not name.endswith(".svg")]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client of a server that has only the page."""
    with TestClient(Starlette(routes=page_routes())) as client:
        yield client


@pytest.fixture(scope="module")
def html(client: TestClient) -> str:
    """The page itself."""
    return client.get("/").text


@pytest.mark.parametrize("name", [name for name in FILES if name.rpartition(".")[2] in TYPES])
def test_every_file_is_served_with_its_type(client: TestClient, name: str) -> None:
    """And unchanged; browsers may not guess a different type."""
    got = client.get(f"/page/{name}")
    assert got.content == (PAGE / name).read_bytes()
    assert got.headers["content-type"].split(";")[0] == TYPES[name.rpartition(".")[2]]
    assert got.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name", ["", "nothing.js", "vendor", "../page_files.py", "%2e%2e/page_files.py", "README.md", "vendor/README.md"]
)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    """For any path below the page."""
    assert client.get(f"/page/{name}").status_code == 404


def test_files_that_the_page_names_are_requested_once(client: TestClient, html: str) -> None:
    """Their URLs contain a hash of all files, so they never change; the page itself is requested every time."""
    assert client.get("/").headers["cache-control"] == "no-cache"
    named = re.findall(r'"(/page/[^"]+)"', html)
    assert len(named) > 10
    for address in named:
        got = client.get(address)
        assert (address, got.status_code) == (address, 200)
        assert "immutable" in got.headers["cache-control"]
    assert "immutable" not in client.get("/page/app.js").headers["cache-control"]


def test_another_version_of_the_page_is_not_served_as_this_one(client: TestClient, html: str) -> None:
    """A page from before an update gets an error, not a mixture of versions."""
    version = re.findall(r'"/page/([0-9a-f]{16})/app.js"', html)[0]
    assert client.get(f"/page/{version}/app.js").status_code == 200
    assert client.get(f"/page/{version[::-1]}/app.js").status_code == 404


@pytest.mark.parametrize("name", OWN)
def test_the_page_loads_nothing_from_elsewhere(name: str) -> None:
    """Its own files load nothing from the address of another server."""
    text = (PAGE / name).read_text()
    assert not re.findall(r"""(?:src|href|from|import|url)\s*[=(]?\s*\(?["']?https?://(?!www\.w3\.org)""", text)
    assert "innerHTML" not in text


@pytest.mark.parametrize("name", [name for name in OWN if name.endswith(".js")])
def test_every_module_that_is_imported_is_there(name: str) -> None:
    """By its path, or by a name in the page's import map."""
    text = (PAGE / name).read_text()
    for target in re.findall(r'^(?:import|} from)[^"\n]*"([^"]+)";$', text, re.MULTILINE) + re.findall(
        r'import\("([^"]+)"\)', text
    ):
        if target.startswith("."):
            assert (PAGE / name).parent.joinpath(target).is_file(), target
        else:
            assert f'"{target}":' in (PAGE / "index.html").read_text(), target


def test_examples_run() -> None:
    assert doctest.testmod(page_files) == (0, 1)


def test_the_policy_lets_only_this_server_in(client: TestClient) -> None:
    """And the one script that is inline in the page."""
    policy = client.get("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "unsafe" not in policy
