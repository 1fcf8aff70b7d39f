"""Finds commands, and loads one only when it is called.

Those of the core are listed here. Those of a room are in the entry-point group `rlds_kit.commands`; in a checkout that
is not installed, in the room's module `command`. For `--help`, the commands of a room are read from its source text,
because an import may load a simulator or a framework.
"""

import ast
import difflib
import importlib
import importlib.metadata
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

import rlds_kit
from rlds_kit.base.errors import RldsKitError
from rlds_kit.riegeli import RiegeliError

GROUP: Final = "rlds_kit.commands"
ROOM_MODULE: Final = "command"


class Source(NamedTuple):
    """The place of a command: a module, and an attribute of it."""

    module: str
    attribute: str


_MODULES: Final = (
    *("annotate", "convert", "diff", "download", "info", "lint", "list", "plot", "publish", "rechunk", "repair"),
    *("replay", "stats", "verify", "video"),
)
"""Modules with the one command of their name."""
_EDITING: Final = ("delete", "filter", "merge", "split", "trim")
"""Commands of the module `edit`."""
CORE: Final = {
    **{name: Source(f"rlds_kit.cli.{name}", f"{name}_command") for name in _MODULES},
    **{name: Source("rlds_kit.cli.edit", f"{name}_command") for name in _EDITING},
}


class Commands(click.Group):
    """A group whose commands are found when they are requested."""

    @cached_property
    def sources(self) -> dict[str, Source]:
        """Every command by name."""
        return dict(sorted({**in_rooms(), **installed(), **CORE}.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the called command; for an unknown name, suggests commands with similar names."""
        if args and args[0] not in self.sources and not args[0].startswith("-"):
            alike = difflib.get_close_matches(args[0], self.sources, n=3)
            suggestion = f" Did you mean {' or '.join(alike)}?" if alike else " `rlds-kit --help` lists all."
            raise click.UsageError(f"There is no command {args[0]!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        del ctx
        return list(self.sources)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command."""
        del ctx
        source = self.sources.get(cmd_name)
        if source is None:
            return None
        try:
            command = getattr(importlib.import_module(source.module), source.attribute)
        except (ImportError, AttributeError) as error:
            raise click.ClickException(
                f"the command {cmd_name} cannot be loaded from {source.module}: {error}"
            ) from error
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(source)) for name, source in self.sources.items()])

    def invoke(self, ctx: click.Context) -> Any:  # the result of the command
        """Runs a command; for errors with a description, shows only the message."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # `rlds-kit info data | head`: click ends quietly
        except (RldsKitError, RiegeliError, OSError) as error:
            raise click.ClickException(str(error)) from error


def installed() -> dict[str, Source]:
    """The commands of the entry-point group."""
    points = importlib.metadata.entry_points(group=GROUP)
    return {point.name: Source(point.module, point.attr) for point in points}


def in_rooms() -> dict[str, Source]:
    """The commands in the module `command` of each folder beside this one."""
    found: dict[str, Source] = {}
    for path in sorted(Path(rlds_kit.__path__[0]).glob(f"*/{ROOM_MODULE}.py")):
        module = f"rlds_kit.{path.parent.name}.{ROOM_MODULE}"
        found |= {_name(function): Source(module, function.name) for function in _commands(path)}
    return found


def summary(source: Source) -> str:
    """The first sentence of a command's docstring, from its source text."""
    path = Path(rlds_kit.__path__[0], *source.module.split(".")[1:]).with_suffix(".py")
    for function in _commands(path) if path.is_file() else ():
        if function.name == source.attribute:
            return (ast.get_docstring(function) or "").partition("\n")[0].removesuffix(".")
    return f"from {source.module}"


def _commands(path: Path) -> list[ast.FunctionDef]:
    """The functions of a source file that are click commands."""
    nodes = ast.parse(path.read_bytes()).body
    return [node for node in nodes if isinstance(node, ast.FunctionDef) and _decorator(node) is not None]


def _decorator(function: ast.FunctionDef) -> ast.expr | None:
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called) in {"click.command", "click.group", "command", "group"}:
            return decorator
    return None


def _name(function: ast.FunctionDef) -> str:
    """The name of a command in click: from the decorator, or that of the function."""
    decorator = _decorator(function)
    if isinstance(decorator, ast.Call):
        given = [*decorator.args[:1], *(keyword.value for keyword in decorator.keywords if keyword.arg == "name")]
        for node in given:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                return node.value
    return function.name.removesuffix("_command").replace("_", "-")
