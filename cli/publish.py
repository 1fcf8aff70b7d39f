"""`rlds-kit publish`."""

from dataclasses import asdict
from pathlib import Path

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, print_json, show, table
from rlds_kit.tools.publish import About, NotPublishableError, Published, publish


@click.command("publish")
@click.argument("dataset", type=click.Path())
@click.option("--to", "to", required=True, metavar="DEST", help="A folder, a URL of fsspec, or hf://org/name[@branch].")
@click.option("--name", default="", help="What the dataset is called; else as in dataset.json, or as its folder.")
@click.option("--licence", "--license", default="", help="An SPDX identifier such as CC-BY-4.0, an address, or a text.")
@click.option("--citation", default="", help="How to cite it: BibTeX, or a line of text.")
@click.option(
    "--citation-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file with the citation."
)
@click.option("--description", default="", help="A few sentences, for the top of the card.")
@click.option("--homepage", default="", metavar="URL", help="Where to read more.")
@click.option(
    "--allow-field",
    "allowed",
    multiple=True,
    metavar="FIELD",
    help="Publish this field although it matches the pattern of an e-mail address or the like; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Check and count, and write nothing.")
@click.option("--yes", is_flag=True, help="Replace another dataset that is at DEST.")
@json_option
@click.pass_context
def publish_command(  # noqa: PLR0913  click passes every option by its name
    ctx: click.Context,
    dataset: str,
    *,
    to: str,
    name: str,
    licence: str,
    citation: str,
    citation_file: Path | None,
    description: str,
    homepage: str,
    allowed: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Check a dataset, describe it, and copy it to a public place.

    The dataset must be undamaged and not being recorded, and have a licence and a citation; episodes of a recorder that
    was killed are published, and counted on the card. It must not have a text that matches the
    pattern of an e-mail address or the like, unless --allow-field names its field. All problems are listed together,
    and then nothing is written. The copy also has README.md, a dataset card with statistics and pictures;
    croissant.json for catalogues; and checksums.txt for `sha256sum -c`. DATASET is not changed.

    A folder or file system is complete when it has checksums.txt; at hf:// one commit shows all files together. After
    an interruption the same command continues.

    \b
    rlds-kit publish data/pong --to public/pong --licence CC-BY-4.0 --citation "A. Author, Pong, 2026"
    rlds-kit publish data/pong --to hf://org/pong --citation-file pong.bib --dry-run
    rlds-kit publish data/pong --to s3://bucket/pong --allow-field metadata/player

    Exit codes: 0 done; 1 a check found something, or it could not be written; 2 the command line is wrong.
    """  # noqa: D301  the backspace disables wrapping
    if citation_file is not None:
        if citation:
            raise click.UsageError("give --citation or --citation-file, not both")
        citation = citation_file.read_text("utf-8")
    about = About(name, description, citation, licence, homepage)
    try:
        found = publish(
            dataset,
            to,
            about,
            allowed=allowed,
            replace_other=yes,
            dry_run=dry_run,
            stages=lambda stage: progress_bar(stage, hidden=as_json),
        )
    except NotPublishableError as error:
        _print_problems(error, as_json=as_json)
        ctx.exit(1)
    _print(found, as_json=as_json)


def _print_problems(error: NotPublishableError, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": False, "problems": error.problems})
        return
    rows = [(problem.rule, problem.message, problem.advice) for problem in error.problems]
    show(
        f"not published; {count_text(len(rows), 'problem')}:",
        table("rule", "what", "what to do", rows=rows),
    )


def _print(found: Published, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, **asdict(found)})
        return
    what = f"{count_text(found.episodes, 'episode')}, {count_text(found.steps, 'step')}"
    size = f"{count_text(len(found.files), 'file')}, {size_text(found.bytes)}"
    if found.sent is None:
        rows = [(path, size_text(size), digest[:12]) for path, (size, digest) in found.files.items()]
        show(f"{found.url} would have {what} ({size}):", table("file", ">size", "SHA-256", rows=rows))
        return
    sent = found.sent
    parts = [f"{len(sent.written):,} written", f"{len(sent.unchanged):,} there already"]
    parts += [f"{len(sent.removed):,} removed"] if sent.removed else []
    revision = f", revision {sent.revision}" if sent.revision else ""
    show(f"{found.url}: {what} ({size}: {', '.join(parts)}{revision})")
