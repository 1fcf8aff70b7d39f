"""The commands `rlds-kit view`, `studio` and `studio-users`. The servers are imported only when a command runs."""

import contextlib
import getpass
import importlib.util
import re
import sys
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import rlds_kit

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from rlds_kit.crowd.tasks import Crowd
    from rlds_kit.studio.crowd.desk import Desk
    from rlds_kit.studio.people import People

PORT: Final = 8642
DIRECTORY: Final = "rlds-studio"
_ROLES: Final = ("designer", "participant", "reviewer")


@click.command()
@click.argument("dataset", type=click.Path())
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen; without it, any free port.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option("--layer", default="review", show_default=True, help="Where tags and notes go.")
@click.option("--source", help="Who adds them; without it, your user name.")
def view(dataset: str, *, port: int, no_browser: bool, layer: str, source: str | None) -> None:
    """Show the episodes of a dataset in a browser, step by step, and tag them.

    Also while it is being recorded. Only this machine can open the link. Ctrl-C ends it.

    \b
    rlds-kit view data/pong
    rlds-kit view data/pong --port 8000 --no-browser

    Exit codes: 0 ended; 1 there is no dataset, or the port is taken.
    """  # noqa: D301  with the backspace click does not wrap
    opened = rlds_kit.open(dataset, include_open=True)

    from rlds_kit.studio.replay.collection import Collection
    from rlds_kit.studio.replay.viewer import Viewer

    viewer = Viewer(Collection(opened, layer), source or _user(), port)

    def ready() -> None:
        click.echo(f"{viewer.url}\nCtrl-C ends it.")
        if not no_browser:
            webbrowser.open(viewer.url)

    with contextlib.suppress(KeyboardInterrupt):
        viewer.run(ready)


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=DIRECTORY)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0: for others too.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any free port.")
@click.option("--url", help="That people open it by, if that is another one: https://studio.example.org.")
@click.option("--database", metavar="URL", help="postgresql://HOST/NAME; without it, a file in DIRECTORY.")
@click.option("--name", default="studio", show_default=True, help="Of this server, where several share a database.")
@click.option("--module", "modules", multiple=True, help="That registers environments; may be given several times.")
@click.option("--actor", "actors", multiple=True, metavar="MODULE:NAME", help="A program that may take seats.")
@click.option("--matchmaker", "matchmakers", multiple=True, metavar="MODULE:NAME", help="Puts people together.")
@click.option("--task", "tasks", multiple=True, metavar="NAME[=ARGUMENT]", help="More to do: train, judge=DATASET, ...")
@click.option("--record-pictures", is_flag=True, help="Record what there was to see with every step.")
@click.option("--policy", metavar="NAME", help="That people may hand over to: random, or an installed one.")
@click.option("--workers", type=click.IntRange(1), help="Processes for environments; without it, one for each core.")
@click.option("--crowd", type=click.Path(exists=True, dir_okay=False), metavar="TASKS.toml", help="Run a crowd.")
@click.option("--take-crowd-file", is_flag=True, help="Run --crowd also where the crowd was edited on the page.")
@click.option("--demo", is_flag=True, help="Add studies that can be played at once.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
def studio(  # noqa: PLR0913  one for each option
    directory: Path,
    *,
    host: str,
    port: int,
    url: str | None,
    database: str | None,
    name: str,
    modules: tuple[str, ...],
    actors: tuple[str, ...],
    matchmakers: tuple[str, ...],
    tasks: tuple[str, ...],
    record_pictures: bool,
    policy: str | None,
    workers: int | None,
    crowd: str | None,
    take_crowd_file: bool,
    demo: bool,
    no_browser: bool,
) -> None:
    """Have people play environments in a browser, and record, replay, tag and export what they do.

    All that is recorded is in DIRECTORY. The link that is printed logs in its designer. Ctrl-C ends it.

    \b
    rlds-kit studio --demo
    rlds-kit studio data/studio --module my_environments
    rlds-kit studio data/poles --crowd poles.toml
    rlds-kit studio data/studio --task train --task train=CartPole-v1
    rlds-kit studio data/studio --host 0.0.0.0 --url https://studio.example.org --database postgresql://db/studio

    Exit codes: 0 ended; 1 the directory is in use, the port is taken, or the database cannot be opened.
    """  # noqa: D301  with the backspace click does not wrap
    import asyncio

    from rlds_kit.studio import demo as demos
    from rlds_kit.studio import serving
    from rlds_kit.studio.settings import Settings, named

    declared = None if crowd is None else _crowd(crowd)
    if declared is not None:
        modules, actors, matchmakers = _named_by(declared, modules, actors, matchmakers)
    _require_modules((*modules, *(each.partition(":")[0] for each in (*actors, *matchmakers))))
    _require_policy(policy)
    _require_origin(url)
    _require_tasks(tasks)
    listening = serving.listen(host, port)
    address = (url or serving.url_of(listening)).rstrip("/")
    settings = Settings(
        directory=directory.absolute(),
        database=database,
        name=name,
        modules=modules,
        actors=actors,
        matchmakers=matchmakers,
        tasks=tasks,
        are_pictures_recorded=record_pictures,
        policy=policy,
        workers=workers,
        crowd=declared,
        is_crowd_file_taken=take_crowd_file,
        **named(url, serving.names_of(listening)),
    )

    async def ready(app: "Starlette") -> None:
        link = await serving.designer_link(app, address)
        if demo:
            async for problem in demos.add(app.state.database, app.state.inspector, link.account):
                click.echo(problem, err=True)
        click.echo(
            f"{link.url}\nThis link logs you in as the designer, today; keep it to yourself. Ctrl-C ends the studio."
        )
        for line in [] if declared is None else _about_crowd(app.state.parts.desk, address):
            click.echo(line)
        if not no_browser:
            webbrowser.open(link.url)

    with listening:
        asyncio.run(serving.serve(settings, listening, ready))


@click.group("studio-users")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--database", metavar="URL", help="As the studio has it.")
@click.option("--url", default=f"http://127.0.0.1:{PORT}", show_default=True, help="That people open the studio by.")
@click.pass_context
def studio_users(ctx: click.Context, directory: Path, *, database: str | None, url: str) -> None:
    """Make accounts and login links for a studio, also while it is open.

    \b
    rlds-kit studio-users rlds-studio add Ann --role reviewer
    rlds-kit studio-users rlds-studio invite --role participant --uses 20
    rlds-kit studio-users --url https://studio.example.org rlds-studio list
    rlds-kit studio-users rlds-studio links

    Exit codes: 0 done; 1 there is no such studio or account.
    """  # noqa: D301  with the backspace click does not wrap
    from rlds_kit.studio.people import People

    _require_origin(url)
    ctx.obj = People(directory, database, url.rstrip("/"))


@studio_users.command("list")
@click.pass_obj
def list_users(people: "People") -> None:
    """List all accounts: id, role, name and e-mail address."""
    for each in people.everybody():
        click.echo("\t".join((each.id, each.role.value, each.name or "-", each.email or "-")))


@studio_users.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True)
@click.option("--email", help="Of the person; no two accounts have the same.")
@click.pass_obj
def add_user(people: "People", name: str, *, role: str, email: str | None) -> None:
    """Make an account, and print its login link."""
    click.echo(people.add(role, name, email))


@studio_users.command("link")
@click.argument("account")
@click.pass_obj
def link_user(people: "People", account: str) -> None:
    """Print a new login link for the id or e-mail address ACCOUNT; it is valid for a day."""
    click.echo(people.link(account))


@studio_users.command("invite")
@click.option("--role", type=click.Choice(_ROLES), required=True)
@click.option("--uses", type=click.IntRange(1), help="How many may come; without it, any number.")
@click.option("--days", type=click.FloatRange(0, 365, min_open=True), default=14.0, show_default=True)
@click.pass_obj
def invite_users(people: "People", *, role: str, uses: int | None, days: float) -> None:
    """Print a link by which people make accounts of their own."""
    click.echo(people.invite(role, uses, days))


@studio_users.command("links")
@click.pass_obj
def list_links(people: "People") -> None:
    """List what is valid: id, kind (link, login or invitation), whose, uses left, and until when (UTC)."""
    from datetime import UTC, datetime

    for token, user in people.tokens():
        kind = "login" if token.kind.value == "access" else token.kind.value
        until = datetime.fromtimestamp(token.expires_ns / 1e9, UTC).isoformat(timespec="minutes")
        what = kind if token.role is None else f"{kind} of a {token.role.value}"
        click.echo("\t".join((token.id, what, user.id, user.name or "-", str(token.uses_left or "-"), until)))


@studio_users.command("revoke")
@click.argument("links", metavar="ID...", nargs=-1, required=True)
@click.pass_obj
def revoke_links(people: "People", links: tuple[str, ...]) -> None:
    """Revoke links, logins or invitations, by the ids that `links` lists."""
    for each in links:
        people.revoke(each)


@studio_users.command("forget")
@click.argument("account")
@click.pass_obj
def forget_user(people: "People", account: str) -> None:
    """Delete name, e-mail address and logins of ACCOUNT; what it played stays."""
    people.forget(account)


def _crowd(path: str) -> "Crowd":
    """Reads the crowd of a file; one error reports all its mistakes."""
    from rlds_kit.crowd.tasks import CrowdError, read_crowd

    try:
        return read_crowd(path)
    except CrowdError as error:
        raise click.BadParameter(str(error), param_hint="--crowd") from error


def _named_by(crowd: "Crowd", *options: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The modules, actors and matchmakers of the command line, and those that the tasks of the crowd name."""
    tasks = crowd.tasks.values()
    found = (
        {each.environment.partition(":")[0] for each in tasks if ":" in each.environment},
        {each.partner for each in tasks if ":" in each.partner},
        {each.matchmaker for each in tasks if ":" in each.matchmaker},
    )
    return [tuple(dict.fromkeys((*given, *sorted(more)))) for given, more in zip(options, found, strict=True)]


def _about_crowd(desk: "Desk", address: str) -> list[str]:
    """What participants open, by group, and whether something else than the file runs."""
    from rlds_kit.studio.crowd.declaring import DIFFERS

    links = [f"Participants of {group}: {address}/crowd/{group}" for group in desk.crowd.groups]
    return links if desk.is_of_file else [*links, DIFFERS.format(number=desk.version)]


def _require_modules(modules: Iterable[str]) -> None:
    """Refuses modules that cannot be found; the working directory is searched, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # worker processes search there, too
    for module in modules:
        try:
            is_there = importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            is_there = False
        if not is_there:
            raise click.BadParameter(f"there is no module {module!r} here or installed", param_hint="--module")


def _require_origin(url: str | None) -> None:
    """Refuses URLs that browsers could not open: all links would be invalid, and every request refused."""
    if url is not None and not re.fullmatch(r"https?://[^/?#@\s]+/?", url):
        problem = f"expected http:// or https:// and a name, without a path, as https://studio.example.org; got {url!r}"
        raise click.BadParameter(problem, param_hint="--url")


def _require_policy(name: str | None) -> None:
    """Refuses a policy that is not installed, before a person hands over to it."""
    from rlds_kit.trials.environments.policies import policy

    if name is not None:
        try:
            policy(name)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--policy") from error


def _require_tasks(given: tuple[str, ...]) -> None:
    """Refuses tasks that are not installed."""
    from rlds_kit.studio.tasks import installed, wanted

    if unknown := sorted(wanted(given).keys() - installed().keys()):
        names = ", ".join(sorted(installed())) or "none is installed"
        raise click.BadParameter(f"there is no task {unknown[0]!r}; there are: {names}", param_hint="--task")


def _user() -> str:
    """The name of the user who runs this; "anonymous" if the account has no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "anonymous"
