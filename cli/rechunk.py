"""`rlds-kit rechunk`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, print_json, show
from rlds_kit.storage.policy import BLOCK_ROWS
from rlds_kit.storage.recorder import MAX_SHARD_BYTES
from rlds_kit.tools.upkeep.rechunk import BLOCK_BYTES, rechunk


@click.command("rechunk")
@click.argument("dataset", type=click.Path())
@click.argument("copy", type=click.Path())
@click.option("--block-rows", type=click.IntRange(1), default=BLOCK_ROWS, show_default=True, help="Steps in a block.")
@click.option(
    "--block-bytes",
    type=click.IntRange(1),
    default=BLOCK_BYTES,
    show_default=True,
    help="Bytes in a block before compression, where --block-rows would be more.",
)
@click.option(
    "--max-shard-bytes",
    type=click.IntRange(1),
    default=MAX_SHARD_BYTES,
    show_default=True,
    help="A shard that has reached this size takes no new episode.",
)
@json_option
def rechunk_command(
    dataset: str, copy: str, *, block_rows: int, block_bytes: int, max_shard_bytes: int, as_json: bool
) -> None:
    """Copy a dataset into larger blocks, or smaller ones.

    Larger blocks take less space and are faster to read completely; smaller ones are faster to read at random. Ids,
    metadata, every value and its type do not change, and the content digests are compared before the copy appears. The
    bytes of discarded episodes are not copied. DATASET does not change; COPY must not exist, or be empty.

    \b
    rlds-kit rechunk data/pong data/pong-128 --block-rows 128

    Exit codes: 0 done; 1 the dataset is damaged (then repair it first), and there is no copy.
    """  # noqa: D301  the backspace disables wrapping
    with progress_bar("rechunking", hidden=as_json) as progress:
        report = rechunk(
            dataset,
            copy,
            block_rows=block_rows,
            block_bytes=block_bytes,
            max_shard_bytes=max_shard_bytes,
            progress=progress,
        )
    if as_json:
        print_json(report)
        return
    if report.left_out:
        show(f"{count_text(len(report.left_out), 'episode')} being recorded left out")
    show(
        f"{report.destination}: {count_text(report.episodes, 'episode')}, {count_text(report.steps, 'step')}; "
        f"{report.blocks_before:,} blocks became {report.blocks:,}, "
        f"{size_text(report.bytes_before)} became {size_text(report.bytes)}"
    )
