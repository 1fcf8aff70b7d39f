"""`rlds-kit convert`."""

import os
from typing import Any

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.executor_options import executor_of, executor_options
from rlds_kit.cli.output import json_option, print_json, show, table
from rlds_kit.convert.conversion import OURS, Report, convert
from rlds_kit.convert.formats import FORMATS, WRITABLE, named, spelled


def _formats() -> str:
    """All formats, for the end of the help."""
    width = max(map(len, FORMATS))
    listed = [
        f"{name:{width}}  {'r' if each.create is None else 'rw'}  {each.summary}" for name, each in FORMATS.items()
    ]
    return "\n".join(["\b", "Formats, read (r) or also written (w):", *listed])


class _FormatName(click.Choice[str]):
    """The name of a format, spelled with hyphens or underscores."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as `FORMATS` spells it."""
        return super().convert(spelled(str(value)), param, ctx)


@click.command("convert", epilog=_formats())
@click.argument("source", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--from", "source_format", type=_FormatName(list(FORMATS)), help="Default: as recognised.")
@click.option("--to", "format", type=_FormatName(WRITABLE), default=OURS, show_default=True)
@click.option("--allow-loss", is_flag=True, help="Leave out what the destination cannot store, and list it.")
@executor_options(
    "At the same time, each with one episode in memory. By default one for each core if the destination is of the "
    "format rlds_kit, and 1 for all others, whose files cannot be joined."
)
@json_option
def convert_command(  # noqa: PLR0913  click passes every option by its name
    source: str,
    destination: str,
    *,
    source_format: str | None,
    format: str,  # noqa: A002  the name of the option
    allow_loss: bool,
    executor: str,
    workers: int | None,
    address: str,
    as_json: bool,
) -> None:
    """Convert a dataset to another format, and prove that nothing was lost.

    The result is read back and compared with the source. DESTINATION must not exist, or be empty; it appears when it is
    complete. The result is the same with every executor and number of workers.

    The work is done beside DESTINATION. When a conversion to rlds_kit was killed or interrupted, the same command
    continues it; if the source or the options have changed, it starts from the beginning. The files of other formats
    are written by one worker in one pass.

    \b
    rlds-kit convert halfcheetah_medium-v2.hdf5 data/halfcheetah
    rlds-kit convert ~/tensorflow_datasets/bridge/1.0.0 data/bridge --executor ray --address auto
    rlds-kit convert data/pong datasets/pong-v0 --to minari --allow-loss

    Exit codes: 0 done; 1 values would be lost, or the source is no dataset or damaged, and nothing was written.
    """  # noqa: D301  the backspace disables wrapping
    chosen: dict[str, Any] = {}
    if executor == "processes":
        chosen["workers"] = workers or (os.cpu_count() if named(format).join is not None else None) or 1
    else:
        chosen["executor"] = executor_of(executor, workers, address)
    with progress_bar("converting", hidden=as_json) as progress:
        report = convert(
            source,
            destination,
            format,
            source_format=source_format,
            allow_loss=allow_loss,
            progress=progress,
            **chosen,
        )
    if as_json:
        print_json(report)
    else:
        _print(report)


def _print(report: Report) -> None:
    show(
        f"{report.destination}: {report.destination_format} from {report.source_format}, "
        f"{count_text(report.episodes, 'episode')}, {count_text(report.steps, 'step')}, read back and compared"
    )
    if report.episodes_kept:
        show(f"{count_text(report.episodes_kept, 'episode')} of them were converted before the interruption")
    if report.losses:
        rows = [(loss.field, f"{loss.values:,}", loss.reason) for loss in report.losses]
        show("not stored:", table("field", ">values", "why", rows=rows))
    else:
        show("nothing was lost")
    for field, how in report.lossy_at_the_source.items():
        show(f"lost before, at the source: {field}: {how}")
