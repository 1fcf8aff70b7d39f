"""`rlds-kit annotate`."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.executor import Run
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.executor_options import executor_of, executor_options
from rlds_kit.cli.output import json_option, plain, print_json, show, table
from rlds_kit.cli.trouble import usage_errors
from rlds_kit.layers import Annotation, Draft

COLLECTORS_LAYER: Final = "collectors"


@click.command("annotate")
@click.argument("dataset", type=click.Path())
@click.argument("layer", required=False)
@click.option("--source", help="The author: a person, a program. Required to add and to retract.")
@click.option("--episode", "episodes", multiple=True, help="Number or id of an episode; may be given several times.")
@click.option("--steps", metavar="FIRST[:END]", help="A step, or steps up to but without END. Without it: the episode.")
@click.option("--tag", "tags", multiple=True, help="Add a label; may be given several times.")
@click.option("--note", "notes", multiple=True, help="Add a text; may be given several times.")
@click.option("--reward", type=float, help="Add a reward for each of the steps.")
@click.option("--return", "episode_return", type=float, help="Add a return for the episode.")
@click.option("--confidence", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Of the source.")
@click.option(
    "--with",
    "collectors",
    multiple=True,
    metavar="NAME",
    help="Add a number per step: score, inside_out, ...; layer: collectors.",
)
@click.option("--retract", "retracted", multiple=True, metavar="ID", help="Retract an annotation.")
@click.option("--history", is_flag=True, help="List retracted annotations and retractions too.")
@executor_options("With --with: processes, or their number on Ray or Beam.  [default: the cores of the machine]")
@json_option
@click.pass_context
def annotate_command(  # noqa: PLR0913  one for each option
    ctx: click.Context,
    /,
    dataset: str,
    layer: str | None,
    *,
    source: str | None,
    episodes: tuple[str, ...],
    steps: str | None,
    history: bool,
    confidence: float,
    collectors: tuple[str, ...],
    executor: str,
    workers: int | None,
    address: str,
    as_json: bool,
    **additions: Any,  # the annotation to add, by option
) -> None:
    """Add tags, notes, rewards and returns to recorded episodes, retract them, or list them.

    New annotations are stored in LAYER, beside the recorded data, which do not change; several users may annotate at
    the same time. Without a new annotation, the existing ones of LAYER, or of all layers, are listed. --with computes a
    number for each step of all or of the selected episodes, in parallel, and adds it as the field collector_NAME of the
    layer, for `Dataset.as_amended`.

    \b
    rlds-kit annotate data/pong review --source anna --episode 3 --steps 10:20 --tag crash
    rlds-kit annotate data/pong review --source anna --episode 3 --steps 17 --reward -1 --confidence 0.8
    rlds-kit annotate data/pong review --source anna --retract 6f9619ff-8b86-4d01-b42d-00cf4fc964ff
    rlds-kit annotate data/invaders --with inside_out --with active_time
    rlds-kit annotate data/pong --json | jq .annotations

    Exit codes: 0 done; 1 there is no such dataset, layer, episode, step or annotation, or it cannot be written.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors():
        opened = rlds_kit.open(dataset, include_open=True)
        span = _span(ctx, steps)
        chosen = [_episode(ctx, opened, each) for each in episodes]
        drafts = [*_drafts(chosen, span, **additions)]
        if any(additions[each] not in ((), None) for each in additions if each != "retracted") and not chosen:
            raise click.BadParameter("expected which episodes it is about", ctx, param_hint="--episode")
        if collectors:
            if drafts or history or span is not None:
                raise click.BadParameter("expected nothing else to add or list", ctx, param_hint="--with")
            with executor_of(executor, workers, address) as run:
                _count(opened, layer or COLLECTORS_LAYER, collectors, chosen, run, as_json=as_json)
            return
        if not drafts:
            _list(opened, layer, chosen, history=history, as_json=as_json)
            return
        if layer is None or source is None:
            missing = "LAYER" if layer is None else "--source"
            raise click.BadParameter("is needed to add or retract", ctx, param_hint=missing)
        added = opened.annotate(layer, drafts, source=source, confidence=confidence)
    if as_json:
        print_json({"layer": layer, "added": added})
    else:
        for made, draft in zip(added, drafts, strict=True):
            show(f"{made} {draft.kind.value}")


def _count(
    opened: rlds_kit.Dataset,
    layer: str,
    names: Sequence[str],
    chosen: Sequence[rlds_kit.Episode],
    run: Run,
    *,
    as_json: bool,
) -> None:
    from rlds_kit.crowd.collectors.offline import annotate_with
    from rlds_kit.crowd.collectors.shipped import collector

    done = annotate_with(opened, layer, [*map(collector, names)], run, episodes=chosen or None)
    if as_json:
        print_json({"layer": layer, "episodes": done})
    else:
        show(f"{layer}: {', '.join(names)} of {count_text(done, 'episode')}")


def _drafts(
    episodes: Sequence[rlds_kit.Episode],
    steps: range | None,
    *,
    tags: Sequence[str],
    notes: Sequence[str],
    reward: float | None,
    episode_return: float | None,
    retracted: Sequence[str],
) -> Iterator[Draft]:
    for episode in episodes:
        yield from (layers.tag(episode, label, steps) for label in tags)
        yield from (layers.note(episode, text, steps) for text in notes)
        if reward is not None:
            yield layers.reward(episode, reward, steps)
        if episode_return is not None:
            yield layers.episode_return(episode, episode_return)
    yield from map(layers.retraction, retracted)


def _span(ctx: click.Context, steps: str | None) -> range | None:
    if steps is None:
        return None
    first, colon, end = steps.partition(":")
    try:
        return range(int(first), int(end) if colon else int(first) + 1)
    except ValueError as error:
        raise click.BadParameter(f"expected 17 or 10:20, got {steps!r}", ctx, param_hint="--steps") from error


def _episode(ctx: click.Context, dataset: rlds_kit.Dataset, given: str) -> rlds_kit.Episode:
    if given.lstrip("-").isdigit():
        try:
            return dataset.episodes[int(given)]
        except IndexError as error:
            raise click.ClickException(str(error)) from error
    try:
        wanted = uuid.UUID(given)
    except ValueError as error:
        raise click.BadParameter(f"expected a number or an id, got {given!r}", ctx, param_hint="--episode") from error
    for episode in dataset.episodes:
        if episode.id == wanted:
            return episode
    raise click.ClickException(f"{dataset.path}: there is no episode {wanted}; `rlds-kit info` shows what there is")


def _list(
    dataset: rlds_kit.Dataset,
    layer: str | None,
    episodes: Sequence[rlds_kit.Episode],
    *,
    history: bool,
    as_json: bool,
) -> None:
    found: list[tuple[str, Annotation]] = []
    for name in dataset.layers if layer is None else (layer,):
        opened = dataset.layer(name)
        wanted: list[uuid.UUID | None] = [each.id for each in episodes] if episodes else [None]
        for one in wanted:
            found += [(name, each) for each in (opened.history(one) if history else opened.annotations(one))]
    if as_json:
        print_json({"annotations": [{"layer": name, **_json(each)} for name, each in found]})
        return
    numbers = {episode.id: number for number, episode in enumerate(dataset.episodes)}
    rows = [
        (
            *(name, str(numbers.get(each.episode, each.episode)), _steps(each), each.kind.value, _text(each)),
            *(each.source, f"{each.confidence:g}", str(each.id)),
        )
        for name, each in found
    ]
    if rows:
        show(table("layer", ">episode", ">steps", "what", "value", "source", ">confidence", "id", rows=rows))
    show(f"{dataset.path}: {count_text(len(rows), 'annotation')}")


def _json(annotation: Annotation) -> dict[str, Any]:
    steps = annotation.steps
    return {
        "id": str(annotation.id),
        "kind": annotation.kind.value,
        "episode": str(annotation.episode),
        "steps": None if steps is None else [steps.start, steps.stop],
        "field": annotation.field,
        "value": plain(annotation.value.tolist() if annotation.is_stacked else annotation.value),
        "stacked": annotation.is_stacked,
        "source": annotation.source,
        "confidence": annotation.confidence,
        "user_data": plain(annotation.user_data),
        "time_ns": annotation.time_ns,
        "retracts": None if annotation.retracts is None else str(annotation.retracts),
    }


def _steps(annotation: Annotation) -> str:
    steps = annotation.steps
    if steps is None:
        return ""
    return str(steps.start) if len(steps) == 1 else f"{steps.start}:{steps.stop}"


def _text(annotation: Annotation) -> str:
    if annotation.retracts is not None:
        return str(annotation.retracts)
    shown = annotation.value if isinstance(annotation.value, str) else repr(annotation.value)
    return f"{annotation.field}: {shown}" if annotation.field else shown
