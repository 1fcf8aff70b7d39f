"""The commands `rlds-kit build` and `rlds-kit new-builder`."""

import contextlib
import dataclasses
import importlib.util
import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.executor_options import executor_of, executor_options
from rlds_kit.cli.output import json_option, print_json, show
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.loader.last_step import LAST_STEPS, LastStep
from rlds_kit.tfds_builders import shards as building
from rlds_kit.tfds_builders.encodings import SkippedDecodingWarning, strings_notice
from rlds_kit.tfds_builders.features import episode_features
from rlds_kit.tfds_builders.new_builder import write_builder
from rlds_kit.tfds_builders.shards.convert import Progress
from rlds_kit.tfds_builders.shards.plan import TARGET_BYTES
from rlds_kit.tfds_builders.shards.spec import FORMATS, Format

_TFDS_NEEDS: Final = {"apache_beam": "apache-beam", "mlcroissant": "mlcroissant", "pytest": "pytest", "dill": "dill"}
"""Packages that the command and the tests of TFDS import and TFDS does not install, by module."""


@click.command("build")
@click.argument("source", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), required=True, help="Two formats of TFDS, and our own."
)
@executor_options("At the same time; by default one for each core. The number does not change the result.")
@click.option("--shards", type=click.IntRange(1), help="Their number; by default it follows from --target-bytes.")
@click.option(
    "--target-bytes",
    type=click.IntRange(1),
    default=TARGET_BYTES,
    show_default=True,
    help="Of the episodes in a shard: stored ones for our own format, decoded ones for those of TFDS.",
)
@click.option("--shuffle-seed", type=int, help="Shuffle the episodes by a hash of this and their ids.")
@click.option(
    "--observation-valid",
    is_flag=True,
    help="Give steps this field in the formats of TFDS; data without final observations need it.",
)
@click.option(
    "--metadata",
    multiple=True,
    metavar="KEY",
    help="A key of episode metadata to give in the formats of TFDS; may be repeated. By default all, so every episode "
    "must have each.",
)
@click.option(
    "--compress",
    multiple=True,
    metavar="FIELD",
    help="A field of steps, or a path into one, to compress with zlib in the formats of TFDS; may be repeated. Readers "
    "that skip decoding, such as Octo and OpenVLA, get strings for it.",
)
@click.option(
    "--last-step",
    type=click.Choice(LAST_STEPS),
    default="zeros",
    show_default=True,
    help="What replaces the action that the last step does not have, in the formats of TFDS: zeros, the action of the "
    "step before, or no last step at all, as for training a policy.",
)
@json_option
def build(  # noqa: PLR0913  click passes every option by its name
    source: str,
    destination: str,
    *,
    format_: Format,
    executor: str,
    shards: int | None,
    target_bytes: int,
    shuffle_seed: int | None,
    workers: int | None,
    address: str,
    observation_valid: bool,
    metadata: tuple[str, ...],
    compress: tuple[str, ...],
    last_step: LastStep,
    as_json: bool,
) -> None:
    """Build SOURCE again at DESTINATION: in a format of TFDS, or in other shards.

    Workers write whole shards, and no value travels between them. Counts and digests of all episodes are compared after
    writing. After an interruption the same command continues the build. SOURCE is not changed; DESTINATION must not
    exist, or be empty.

    \b
    rlds-kit build data/pong data/tfds/pong/1.0.0 --format tfrecord --shards 8
    rlds-kit build data/pong data/pong-shards --format riegeli --executor ray --address auto

    Exit codes: 0 done; 1 it could not be built, and DESTINATION is not there; 2 the command line is wrong.
    """  # noqa: D301  the backspace tells click not to wrap
    run = executor_of(executor, workers, address)
    dataset = open_dataset(source)
    if format_ == "riegeli" and (metadata or observation_valid or compress or last_step != "zeros"):
        raise click.UsageError(
            "--metadata, --observation-valid, --compress and --last-step are for the formats of TFDS; riegeli keeps all"
        )
    chosen: dict[str, Any] = {"metadata": metadata or None, "observation_valid": observation_valid}
    features = None if format_ == "riegeli" else episode_features(dataset, compress=compress, **chosen)
    limits: dict[str, Any] = {"shards": shards, "target_bytes": target_bytes, "shuffle_seed": shuffle_seed}
    limits["last_step"] = last_step
    if features is not None and (notice := strings_notice(features)):
        click.echo(notice, err=True)
    with warnings.catch_warnings(), shard_bar(hidden=as_json) as progress:
        warnings.simplefilter("ignore", SkippedDecodingWarning)
        report = building.convert_shards(
            dataset, destination, format_, executor=run, features=features, progress=progress, **limits
        )
    if as_json:
        print_json(dataclasses.replace(report, shards=()))
        return
    writers = {info.worker for info in report.shards}
    show(
        f"{report.destination}: {count_text(report.episodes, 'episode')}, {count_text(report.steps, 'step')}, "
        f"{size_text(report.size)} in {count_text(len(report.shards), 'shard')}, written by "
        f"{count_text(len(writers), 'worker')} and read back"
    )
    if format_ != "riegeli" and (left_out := _undeclared(dataset)):
        show(
            f"left out: {', '.join(left_out)}, as the recording has no spec of such fields; in Python, "
            "`dataset.select` includes those that it names"
        )


@click.command("new-builder")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), default=".", help="The folder in which to make the module's.")
@click.option("--name", help="Of the dataset in TFDS; by default derived from its own.")
@click.option(
    "--metadata",
    multiple=True,
    metavar="KEY",
    help="A key of episode metadata to publish; may be repeated. By default all, so every episode must have each.",
)
@json_option
def new_builder(directory: Path, to: Path, name: str | None, *, metadata: tuple[str, ...], as_json: bool) -> None:
    """Write a builder of TensorFlow Datasets for the recording in DIRECTORY.

    The result is a folder with the module, its README, citation, tags and checksums, and a test that builds from an
    excerpt of the recording. It works without changes; read it, and add a description and other facts.

    \b
    rlds-kit new-builder data/pong --to builders
    cd builders/pong && tfds build --manual_dir ../../data/pong

    Exit codes: 0 done; 1 it could not be written; 2 the command line is wrong.
    """  # noqa: D301  the backspace tells click not to wrap
    try:
        made = write_builder(directory, to, name=name, metadata=metadata or None)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        print_json(made)
        return
    show(
        f"{made.directory}: a builder of {made.name}, with {count_text(made.sample_episodes, 'episode')} "
        f"({size_text(made.sample_bytes)}) for its test. Now:"
    )
    module, manual = (shlex.quote(str(path)) for path in (made.directory, made.source))
    click.echo(f"  cd {module} && tfds build --manual_dir {manual}", err=True)
    if missing := [package for name, package in _TFDS_NEEDS.items() if importlib.util.find_spec(name) is None]:
        click.echo(
            f"TFDS needs for it and for the test, but does not install: pip install {' '.join(missing)}", err=True
        )


def _undeclared(dataset: Dataset) -> list[str]:
    """Fields of steps without a declared shape, which are left out for TFDS."""
    return sorted(dataset.spec.fields.keys() - {*dataset.source().fields})


@contextlib.contextmanager
def shard_bar(*, hidden: bool) -> Iterator[Progress | None]:
    """Shows a bar of shards on standard error, if that is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    with progress.Progress(*columns, progress.TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("planning", total=None)
        yield lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total)
