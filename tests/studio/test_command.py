"""`rlds-kit studio` and `rlds-kit studio-users`, run as commands."""

import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.studio import serving
from tests.studio.api.studio import ORIGIN, Studio, ok, opened
from tests.studio.studio_process import Api, StudioProcess, running


def token_of(link: str) -> str:
    """The token in a link."""
    (token,) = re.findall(r"#login\?(?:token|invitation)=(\S+)", link)
    return str(token)


@pytest.fixture(scope="module", name="studio")
def a_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio without options."""
    with running(tmp_path_factory.mktemp("command") / "studio") as studio:
        yield studio


def users(studio: StudioProcess, *arguments: str) -> str:
    """The output of `rlds-kit studio-users`."""
    done = CliRunner().invoke(main, ["studio-users", "--url", f"{studio.url}/", str(studio.directory), *arguments])
    assert done.exit_code == 0, done.output
    return done.output.strip()


def test_people_are_not_looked_for_in_a_database_that_the_studio_has_not(tmp_path: Path) -> None:
    """Else a new database would be made, and its links would not work."""
    (tmp_path / "secret").write_text("0" * 64)
    done = CliRunner().invoke(main, ["studio-users", str(tmp_path), "invite", "--role", "participant"])
    assert done.exit_code == 1
    assert "--database" in done.output
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("url", ["studio.example.org", "ftp://a", "https://", "https://a/studio", "https://a b", "//a"])
def test_an_address_that_no_browser_could_open_is_refused(url: str, tmp_path: Path) -> None:
    for arguments in (
        ["studio", str(tmp_path / "s"), "--url", url],
        ["studio-users", "--url", url, str(tmp_path), "list"],
    ):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 2
        assert "expected http:// or https:// and a name" in done.output
    assert list(tmp_path.iterdir()) == []


def test_accounts_and_links_are_made_while_the_studio_is_open(studio: StudioProcess) -> None:
    """A link works at once, an invitation makes accounts, and a deleted account cannot log in."""
    link = users(studio, "add", "Rita", "--role", "reviewer", "--email", "r@x")
    rita = Api.log_in(studio.url, token=token_of(link))
    account = rita.get("me")["account"]
    assert (account["role"], account["name"]) == ("reviewer", "Rita")
    again = Api.log_in(studio.url, token=token_of(users(studio, "link", "R@x")))
    assert again.get("me")["account"] == account
    invitation = token_of(users(studio, "invite", "--role", "participant", "--uses", "1"))
    pat = Api.log_in(studio.url, invitation=invitation, name="Pat")
    assert pat.get("me")["account"]["role"] == "participant"
    rows = [line.split("\t")[1:] for line in users(studio, "list").splitlines()]
    assert rows == [["designer", "designer", "-"], ["reviewer", "Rita", "r@x"], ["participant", "Pat", "-"]]
    users(studio, "forget", account["id"])
    assert rita.ask("GET", "me").status_code == 401
    assert users(studio, "list").splitlines()[1].split("\t")[1:] == ["reviewer", "-", "-"]
    for each in (rita, again, pat):
        each.close()


def test_links_are_listed_and_revoked(studio: StudioProcess) -> None:
    """All are listed with their owners; a revoked link is refused, another one still works."""
    links = [users(studio, "add", name, "--role", "designer").strip() for name in ("Uma", "Vic")]
    rows = [line.split("\t") for line in users(studio, "links").splitlines()]
    found = {row[3]: row for row in rows if row[1] == "link"}
    assert {"Uma", "Vic", "designer"} <= found.keys()
    users(studio, "revoke", found["Uma"][0])
    assert found["Uma"][0] not in users(studio, "links")
    nobody = Api(studio.url)
    refused = nobody.ask("POST", "login", {"token": token_of(links[0])})
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    nobody.close()
    Api.log_in(studio.url, token=token_of(links[1])).close()


def made_link(studio: Studio) -> serving.Link:
    """The output of a server at its start."""
    app: Any = studio.client.app
    assert studio.client.portal is not None
    return studio.client.portal.call(serving.designer_link, app, ORIGIN)


def test_the_same_designer_comes_back_with_the_next_link(tmp_path: Path) -> None:
    """Every start makes a new link to the same account; the previous one still works."""
    tokens: list[str] = []
    for _ in range(2):
        with opened(tmp_path / "studio") as studio:
            link = made_link(studio)
            tokens.append(token_of(link.url))
            for each in tokens:
                answer = studio.client.post("/api/login", json={"token": each}, headers={"Origin": ORIGIN})
                assert ok(answer)["account"]["id"] == link.account
    assert len(set(tokens)) == 2


def test_one_server_for_a_directory(studio: StudioProcess) -> None:
    """A second one reports the first and ends, without harm to it."""
    done = CliRunner().invoke(main, ["studio", str(studio.directory), "--port", "0", "--no-browser"])
    assert done.exit_code == 1
    assert "another studio is open here" in done.output
    studio.designer.get("studies")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """The error says what to do; no files are made."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(main, ["studio", str(tmp_path / "studio"), "--port", port, "--no-browser"])
    assert (done.exit_code, "choose another --port" in done.output) == (1, True)
    assert not (tmp_path / "studio").exists()


@pytest.mark.parametrize("url", ["mysql://localhost/x", "nonsense", "sqlite://"])
def test_a_database_that_cannot_be_opened(tmp_path: Path, url: str) -> None:
    """The error says what is expected."""
    command = ["studio", str(tmp_path), "--port", "0", "--no-browser", "--database", url]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "expected sqlite:///PATH or postgresql://HOST/NAME" in done.output) == (1, True)


def test_the_handlers_of_the_program_stay_open(tmp_path: Path) -> None:
    """A program that starts a studio can still write to its log."""
    handler = logging.FileHandler(tmp_path / "log")
    command = ["studio", str(tmp_path), "--port", "0", "--no-browser", "--database", "nonsense"]
    assert CliRunner().invoke(main, command).exit_code == 1
    assert handler.stream is not None
    handler.close()


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    """The error is reported at the start, not when a person plays."""
    for module in ("rlds_kit_tests_no_such_module", "tests.no_such_module", ".", ""):
        done = CliRunner().invoke(main, ["studio", str(tmp_path / "studio"), "--port", "0", "--module", module])
        assert (done.exit_code, "there is no module" in done.output) == (2, True), done.output
    assert not (tmp_path / "studio").exists()


def test_modules_of_the_working_directory_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the program is a script elsewhere; its workers find them, too."""
    (tmp_path / "my_environments.py").write_text(
        "import gymnasium\ngymnasium.register('mine/Cart-v0', 'gymnasium.envs.classic_control.cartpole:CartPoleEnv')\n"
    )
    start = f"import os, sys; os.chdir({str(tmp_path)!r}); sys.path.remove(''); from rlds_kit.cli import main; main()"
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with running(tmp_path / "studio", "--module", "my_environments", command=("-c", start)) as studio:
        assert "mine/Cart-v0" in studio.designer.get("environments")["environments"]


def test_a_directory_that_is_no_studio(tmp_path: Path) -> None:
    """No account is made in a directory without a studio."""
    done = CliRunner().invoke(main, ["studio-users", str(tmp_path), "list"])
    assert (done.exit_code, "`rlds-kit studio` makes one" in done.output) == (1, True)
    assert not list(tmp_path.iterdir())


def test_it_listens_on_loopback_by_default(studio: StudioProcess) -> None:
    """No other machine can reach it; the database and the secret can be read by its user only."""
    assert studio.url.startswith("http://127.0.0.1:")
    assert (studio.directory / "secret").stat().st_mode & 0o077 == 0


def test_other_machines_may_use_its_names(tmp_path: Path) -> None:
    """With --host 0.0.0.0 the addresses of the machine are accepted, and --url adds one that it does not know."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--host", "0.0.0.0", "--port", str(port), "--url", "https://studio.example.org")  # noqa: S104
    with running(tmp_path / "studio", *options) as studio:
        assert studio.url == "https://studio.example.org"
        for host in ("studio.example.org", f"127.0.0.1:{port}", socket.gethostname()):
            answer = httpx.get(f"http://127.0.0.1:{port}/api/about", headers={"Host": host}, trust_env=False)
            assert answer.status_code == 200, host
        login = {"token": token_of(studio.link)}
        headers = {"Host": "studio.example.org", "Origin": "https://studio.example.org"}
        answer = httpx.post(f"http://127.0.0.1:{port}/api/login", json=login, headers=headers, trust_env=False)
        assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_urls_of_sockets(host: str) -> None:
    """IPv6 addresses are in brackets."""
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        listening = serving.listen(host, 0)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with listening:
        port = listening.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        assert serving.url_of(listening) == f"http://{name}:{port}"
        assert serving.names_of(listening) == (name,)


def test_help_lists_the_commands_without_the_server() -> None:
    """`rlds-kit --help` is quick, because it does not import the server."""
    code = (
        "import sys; from rlds_kit.cli import main; main(['--help'], standalone_mode=False); "
        "print({'starlette', 'uvicorn', 'sqlalchemy', 'pydantic', 'rlds_kit.studio'} & sys.modules.keys())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {"studio", "studio-users", "view"} <= {line.split()[0] for line in said.splitlines() if line.strip()}
    assert said.splitlines()[-1] == "set()"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "missing"), [("studio", "uvicorn"), ("studio", "pydantic"), ("studio-users", "sqlalchemy")]
)
def test_without_the_extra_the_error_says_how_to_install_it(missing: str, command: str, tmp_path: Path) -> None:
    """For each library of the extra that may be missing."""
    arguments = [command, str(tmp_path), *(["list"] if command == "studio-users" else ["--no-browser"])]
    code = f"import sys; sys.modules[{missing!r}] = None; from rlds_kit.cli import main; main({arguments!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f'{missing} is not installed: pip install ".[studio]"' in done.stderr
    assert "Traceback" not in done.stderr
