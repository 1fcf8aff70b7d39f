"""`rlds-kit convert`."""

import click

from rlds_kit.cli.output import count_text, json_option, print_json, progress_bar, show, table
from rlds_kit.convert.conversion import OURS, Report, convert
from rlds_kit.convert.formats import FORMATS, WRITABLE


@click.command("convert")
@click.argument("source", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--from", "source_format", type=click.Choice(list(FORMATS)), help="Default: as recognised.")
@click.option("--to", "format", type=click.Choice(WRITABLE), default=OURS, show_default=True)
@click.option("--allow-loss", is_flag=True, help="Leave out what the destination cannot hold, and list it.")
@json_option
def convert_command(
    source: str,
    destination: str,
    *,
    source_format: str | None,
    format: str,  # noqa: A002  the option's own name
    allow_loss: bool,
    as_json: bool,
) -> None:
    """Convert a dataset to another format, and prove that nothing was lost.

    Reads EnvLogger, Minari, arrays as of D4RL in HDF5 or NPZ, and rlds_kit; writes rlds_kit and Minari. What was
    written is read back and compared. DESTINATION must not exist, or be empty; it appears when it is complete.

    \b
    rlds-kit convert halfcheetah_medium-v2.hdf5 data/halfcheetah
    rlds-kit convert data/pong datasets/pong-v0 --to minari --allow-loss

    Exit codes: 0 done; 1 something would be lost, or the source is no dataset or damaged, and nothing was made.
    """  # noqa: D301  the backspace tells click not to wrap
    with progress_bar("converting", hidden=as_json) as progress:
        report = convert(
            source, destination, format, source_format=source_format, allow_loss=allow_loss, progress=progress
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
    if report.losses:
        rows = [(loss.field, f"{loss.values:,}", loss.reason) for loss in report.losses]
        show("not held:", table("field", ">values", "why", rows=rows))
    else:
        show("nothing was lost")
    for field, how in report.lossy_at_the_source.items():
        show(f"lost before, at the source: {field}: {how}")
