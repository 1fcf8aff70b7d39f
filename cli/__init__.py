"""The program `rlds-kit`: its own commands, and the commands that other rooms add.

A command is imported only when it is called, so that `rlds-kit --help` is fast.
"""

import click

from rlds_kit._version import __version__
from rlds_kit.cli.commands import Commands

__all__ = ["main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rlds-kit")
def main() -> None:
    """Record, inspect and repair datasets of episodes.

    \b
    rlds-kit record ALE/Pong-v5 data/pong --episodes 5
    rlds-kit info data/pong
    rlds-kit verify data/pong

    Exit codes: 0 success; 1 problems were found, or the command failed; 2 the command line is wrong.
    """  # noqa: D301  the backspace disables wrapping
