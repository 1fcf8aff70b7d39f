"""`rlds-kit manual` converts manuals of games to tables and rewards; `rlds-kit relearn` repeats trainings."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

import rlds_kit
from rlds_kit.shaping.language.readers import ANSWERERS, REASONERS, Models
from rlds_kit.shaping.manuals.ablation import ablations, generic_answers
from rlds_kit.shaping.manuals.annotating import annotate_manual_rewards
from rlds_kit.shaping.manuals.answering import QuestionAnswerer
from rlds_kit.shaping.manuals.boxes import annotate_boxes
from rlds_kit.shaping.manuals.contact_rewards import ContactRewards
from rlds_kit.shaping.manuals.interaction import VERDICTS, TableError
from rlds_kit.shaping.manuals.manual import Manual, shipped_manual
from rlds_kit.shaping.manuals.questions import GENERIC
from rlds_kit.shaping.manuals.reading import read_manual
from rlds_kit.shaping.manuals.reasoning import Reasoner, Verdict
from rlds_kit.shaping.manuals.reviewing import override_file
from rlds_kit.shaping.manuals.table import InteractionTable
from rlds_kit.shaping.objects.contacts import Mode
from rlds_kit.shaping.objects.ocatari_objects import OCAtariObjects

TABLE = click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))

_OPTIONS = (
    click.option("--answerer", default=ANSWERERS[0], show_default=True, help=f"{', '.join(ANSWERERS)}."),
    click.option("--reasoner", default=REASONERS[0], show_default=True, help=f"{', '.join(REASONERS)}."),
    click.option("--endpoint", default=Models.endpoint, show_default=True, help="OpenAI-compatible, on this network."),
    click.option("--endpoint-key", "key", envvar="RLDS_KIT_ENDPOINT_KEY", default="", help="That the server demands."),
    click.option("--seed", default=0, show_default=True, help="Of models that draw."),
    click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="Store what models say here."),
    click.option("--offline", "is_offline", is_flag=True, help="Use no server, and download nothing."),
)


def reader_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that choose and configure the answerer and the reasoner for a manual."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def manual() -> None:
    """Read the manual of a game, review its table, and add rewards to recordings.

    \b
    rlds-kit manual read Breakout --out breakout.json
    rlds-kit manual read Breakout --answerer endpoint:qwen3-4b --reasoner endpoint:qwen3-4b --cache replies
    rlds-kit manual show breakout.json
    rlds-kit manual override breakout.json Block no --by anna
    rlds-kit manual annotate data/breakout breakout.json
    rlds-kit manual ablate Breakout --file wikipedia.txt

    Exit codes: 0 done; 1 a manual, table or dataset is invalid, or cannot be written; 2 the command line is wrong.
    """  # noqa: D301  the backspace disables wrapping


@manual.command()
@click.argument("game")
@click.option(
    "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Your own manual: plain text."
)
@click.option("--licence", default="", help="Of your manual, such as CC-BY-4.0.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the table here; without it: print it."
)
@reader_options
def read(
    game: str,
    *,
    file: Path | None,
    licence: str,
    out: Path | None,
    answerer: str,
    reasoner: str,
    **models: Any,  # the attributes of `Models`
) -> None:
    """Convert a manual to a table of interactions, which you should review.

    GAME is a name as in ALE/<game>-v5. Without --file, the manual in rlds_kit is read.
    """
    text = shipped_manual(game) if file is None else Manual.from_file(file, game=game, licence=licence)
    if out is not None:
        _require_unreviewed(out)
    found, judge = _readers(answerer, reasoner, models)
    table = read_manual(text, answerer=found, reasoner=judge)
    if out is not None:
        table.save(out)
    _print(table)


@manual.command()
@TABLE
@click.option("--context", is_flag=True, help="Show what was judged, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON and nothing else.")
def show(table: Path, *, context: bool, as_json: bool) -> None:
    """Show a table: objects, words, probabilities, verdicts and overrides."""
    loaded = InteractionTable.load(table)
    if as_json:
        click.echo(loaded.to_json(), nl=False)
    else:
        _print(loaded, context=context)


@manual.command()
@TABLE
@click.argument("object_name", metavar="OBJECT")
@click.argument("verdict", type=click.Choice([*VERDICTS, "none"]))
@click.option("--by", required=True, help="Who decides.")
def override(table: Path, object_name: str, verdict: str, by: str) -> None:
    """Override the verdict on an object; "none" removes an override."""
    chosen = None if verdict == "none" else cast("Verdict", verdict)
    _print(override_file(table, object_name, chosen, by))


@manual.command()
@click.argument("dataset", type=click.Path())
@TABLE
@click.option("--layer", default="manual", show_default=True, help="The name of the layer.")
@click.option(
    "--mode",
    type=click.Choice(["onset", "every_frame"]),
    default="onset",
    show_default=True,
    help="Reward the first frame of a contact, or each.",
)
@click.option("--margin", type=click.IntRange(min=0), default=0, show_default=True, help="Pixels around the player.")
@click.option("--boxes", is_flag=True, help="Add the boxes of all objects, too, which rlds-kit view shows.")
def annotate(dataset: str, table: Path, *, layer: str, mode: str, margin: int, boxes: bool) -> None:
    """Add the rewards by a table to recorded episodes, as a layer with the field manual_reward.

    The episodes must have been recorded with EveryFrame and record_info=True.
    """
    loaded = InteractionTable.load(table)
    with OCAtariObjects(loaded.game) as extractor:
        rewards = ContactRewards(loaded, extractor, mode=cast("Mode", mode), margin=margin)
        opened = rlds_kit.open(dataset)
        count = annotate_manual_rewards(opened, rewards, layer=layer)
        if boxes:
            annotate_boxes(opened, extractor, layer=layer)
    click.echo(f"Annotated {count} episodes in the layer {layer}.", err=True)


@manual.command()
@click.argument("game")
@click.option(
    "--file",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Another text about the game; may be repeated.",
)
@reader_options
def ablate(
    game: str,
    *,
    files: tuple[Path, ...],
    answerer: str,
    reasoner: str,
    **models: Any,  # the attributes of `Models`
) -> None:
    """Show how verdicts depend on each question and on the text (Table 5 of the paper).

    GAME is a name as in ALE/<game>-v5. The manual in rlds_kit, and each FILE, is read with all questions,
    without each of the four generic ones, without all of them, and with these only.
    """
    manuals = [shipped_manual(game), *(Manual.from_file(file, game=game) for file in files)]
    found, judge = _readers(answerer, reasoner, models)
    answers = [generic_answers(each, found) for each in manuals]
    for question in GENERIC:
        _echo(question)
        for each, by_question in zip(manuals, answers, strict=True):
            _echo(f"  {each.source}: {by_question[question] or 'N/A'}")
    for each in manuals:
        _echo(f"{each.source}:")
        for done, table in ablations(each, answerer=found, reasoner=judge).items():
            _echo(f"  {done}: {', '.join(f'{row.object} {row.verdict}' for row in table.interactions)}")


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write each last agent here, as NumPy files."
)
def relearn(directory: Path, *, out: Path | None) -> None:
    """Train the agents of a studio again from their recording, and compare every weight.

    DIRECTORY is that of a training, such as rlds-studio/tasks/train/tetris.

    \b
    rlds-kit relearn rlds-studio/tasks/train/tetris
    rlds-kit relearn rlds-studio/tasks/train/tetris --out agents

    Exit codes: 0 all recorded weights are the same, bit for bit; 1 some differ, or there is no training.
    """  # noqa: D301  the backspace disables wrapping
    from rlds_kit.shaping.learners.saved_state import save_state
    from rlds_kit.shaping.trainings.process import online_digests
    from rlds_kit.shaping.trainings.relearned import games, relearned, trainings
    from rlds_kit.shaping.trainings.training import training_of

    dataset, n_different = rlds_kit.open(directory, include_open=True), 0
    for training in trainings(dataset):
        what = training_of(games(dataset, training)[0].metadata["trains"])
        env, noted = what.environment(), online_digests(directory, training)
        for each in relearned(dataset, training, lambda what=what, env=env: what.learner(env)):  # type: ignore[misc]
            online = noted.get((each.agent, each.sequence))
            verdict = "not noted" if online is None else "same bits" if online == each.digest else "DIFFERENT"
            n_different += verdict == "DIFFERENT"
            _echo(f"{training} agent {each.agent} game {each.sequence}: {each.digest[:16]} {verdict}")
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
                save_state(each.tamer, out / f"{training.replace(':', '.')}.{each.agent}.npz")
        env.close()
    if n_different or not trainings(dataset):
        raise click.ClickException(
            f"{directory}: expected trainings with the weights of then, got {n_different} others"
        )


def _readers(answerer: str, reasoner: str, models: dict[str, Any]) -> tuple[QuestionAnswerer, Reasoner]:
    """The answerer and the reasoner."""
    try:
        return Models(**models).answerer(answerer), Models(**models).reasoner(reasoner)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _require_unreviewed(path: Path) -> None:
    """Raises an error if reading a manual again would overwrite a review."""
    found = InteractionTable.load(path).interactions if path.exists() else ()
    people = ", ".join(sorted({each.overridden_by for each in found if each.override}))
    if people:
        raise TableError(f"{path}: expected a new file, got one with overrides by {people}; give --out another name")


def _print(table: InteractionTable, *, context: bool = False) -> None:
    """Prints a table; texts of manuals are never interpreted as markup."""
    licence = table.licence or "not known"
    _echo(f"{table.game}: {table.source}, licence {licence}, SHA-256 {table.manual_sha256[:12]}")
    width = max((len(each.object) for each in table.interactions), default=0)
    for each in table.interactions:
        by = f" (override by {each.overridden_by}; read as {each.verdict})" if each.override else ""
        word = f'"{each.word}"' if each.word else "not mentioned"
        _echo(f"  {each.object:<{width}}  {each.decided:<7}  {each.reward:+.0f}  yes {each.yes:.2f}  {word}{by}")
        if context:
            _echo(f"    {each.context}")
            for reply in each.replies:
                candidates = "".join(f"; {token!r} {math.exp(log):.3f}" for token, log in reply.log_probabilities)
                _echo(f"    {reply.model} (seed {reply.seed}) replied: {reply.text!r}{candidates}")


def _echo(line: str) -> None:
    """Prints a line of a table from an untrusted source: removes characters that move the cursor or hide text."""
    click.echo("".join(each if each.isprintable() else repr(each)[1:-1] for each in line))
