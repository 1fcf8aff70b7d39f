"""`rlds-kit download`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, print_json, show
from rlds_kit.dataset.download import download


@click.command("download")
@click.argument("location")
@click.argument("destination", type=click.Path())
@json_option
def download_command(location: str, destination: str, *, as_json: bool) -> None:
    """Copy a dataset from the Hugging Face Hub, or from any URL, to a directory.

    Files are copied byte for byte and compared with their checksums, where the dataset has some. DESTINATION must not
    exist, or be empty; it appears when it is complete.

    \b
    rlds-kit download hf://me/pong data/pong
    rlds-kit download https://host/datasets/pong data/pong

    Exit codes: 0 done; 1 there is no dataset, it cannot be read, or a file does not match its checksum.
    """  # noqa: D301  the backspace disables wrapping
    with progress_bar("downloading", hidden=as_json) as progress:
        done = download(location, destination, progress=progress)
    if as_json:
        print_json(done)
        return
    checked = "compared with its checksums" if done.checked else "it has no checksums; `rlds-kit verify` reads it all"
    show(f"{done.destination}: {count_text(done.files, 'file')}, {size_text(done.bytes)}, {checked}")
