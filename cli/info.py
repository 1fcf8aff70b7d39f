"""`rlds-kit info`."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.errors import DamagedError, DamageWarning, FormatError
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, plain, print_json, show, table
from rlds_kit.riegeli import DamagedError as RiegeliDamagedError
from rlds_kit.storage import directory as directories

OPEN: Final = "open"
DAMAGED: Final = "damaged"
_ABOUT: Final = ("name", "description", "citation", "licence")


@click.command("info")
@click.argument("dataset", type=click.Path())
@json_option
def info_command(dataset: str, *, as_json: bool) -> None:
    """Show the content of a dataset, also while it is being recorded.

    \b
    rlds-kit info data/pong
    rlds-kit info data/pong --json | jq .episodes

    Exit codes: 0 done; 1 there is no dataset, or it cannot be read.
    """  # noqa: D301  the backspace disables wrapping
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)  # damage is shown below
        found = _collect(rlds_kit.open(dataset, include_open=True))
    if as_json:
        print_json(found)
    else:
        _print(found)


def _collect(dataset: rlds_kit.Dataset) -> dict[str, Any]:
    endings: dict[str, int] = {}
    for episode in dataset.episodes:
        ending = _ending(episode)
        endings[ending] = endings.get(ending, 0) + 1
    shards = directories.shards_in(dataset.path)
    return {
        "path": str(dataset.path),
        "about": _about(dataset),
        "environment": _unless_damaged(lambda: plain(dataset.environment)),
        "metadata": _unless_damaged(lambda: plain(dataset.metadata)),
        "spec": specs.to_json(dataset.spec),
        "episodes": len(dataset.episodes),
        "endings": dict(sorted(endings.items())),
        "steps": sum(dataset.lengths()),
        "shards": len(shards),
        "bytes": sum(path.stat().st_size for path in shards),
        "damage": {name: plain(regions) for name, regions in dataset.damage.items()},
        "layers": {name: _layer(dataset, name) for name in dataset.layers},
    }


def _layer(dataset: rlds_kit.Dataset, name: str) -> dict[str, Any]:
    try:
        layer = dataset.layer(name)
    except FormatError as error:
        return {DAMAGED: str(error)}
    here = {episode.id for episode in dataset.episodes}
    return {
        "annotations": len(layer),
        "episodes": len(layer.episodes),
        "elsewhere": len(set(layer.episodes) - here),
        "sources": layer.sources,
        "fields": layer.fields,
        "damage": {file: plain(regions) for file, regions in layer.damage.items()},
    }


def _ending(episode: rlds_kit.Episode) -> str:
    try:
        return OPEN if episode.end is None else episode.end.value
    except (DamagedError, RiegeliDamagedError):
        return DAMAGED


def _unless_damaged(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return read()
    except (DamagedError, RiegeliDamagedError) as error:
        return {DAMAGED: str(error)}


def _about(dataset: rlds_kit.Dataset) -> dict[str, str]:
    try:
        content = dataset.description
    except FormatError as error:
        return {"description": f"cannot be read: {error}"}
    return {key: str(content[key]) for key in _ABOUT if content.get(key)}


def _print(found: Mapping[str, Any]) -> None:
    endings = ", ".join(f"{count:,} {ending}" for ending, count in found["endings"].items())
    rows = [
        *found["about"].items(),
        ("episodes", f"{found['episodes']:,}" + (f" ({endings})" if endings else "")),
        ("steps", f"{found['steps']:,}"),
        ("shards", f"{found['shards']:,}, {size_text(found['bytes'])}"),
        *((f"layer {name}", _layer_text(layer)) for name, layer in found["layers"].items()),
        *((f"environment {key}", str(item)) for key, item in found["environment"].items()),
        *((f"run {key}", str(item)) for key, item in found["metadata"].items()),
    ]
    show(table(found["path"], "", rows=rows), _tree(found["spec"]))
    for name, regions in found["damage"].items():
        show(f"{name}: damaged in {count_text(len(regions), 'place')}; see `rlds-kit verify`")


def _layer_text(layer: Mapping[str, Any]) -> str:
    if DAMAGED in layer:
        return str(layer[DAMAGED])
    counts = f"{count_text(layer['annotations'], 'annotation')} of {count_text(layer['episodes'], 'episode')}"
    parts = [f"{counts} by {', '.join(layer['sources'])}"]
    if layer["elsewhere"]:
        parts.append(f"{count_text(layer['elsewhere'], 'episode')} not in this dataset")
    if layer["damage"]:
        parts.append("damaged; see `rlds-kit repair`")
    return "; ".join(parts)


def _tree(spec: Mapping[str, Any]) -> Any:  # a rich tree
    from rich.text import Text
    from rich.tree import Tree

    root = Tree("step")

    def grow(tree: Tree, name: str, below: specs.Spec) -> None:
        children = _children(below)
        label = name if children else f"{name}: {specs.describe_spec(below)}{_limits(below)}"
        label += " (or None)" if children and isinstance(below, specs.Optional) else ""
        branch = tree.add(Text(label))
        for key, child in children.items():
            grow(branch, key, child)

    for name, field in _children(specs.from_json(spec)).items():
        grow(root, name, field)
    return root


def _children(spec: specs.Spec) -> dict[str, specs.Spec]:
    match spec:
        case specs.Dict(fields):
            return dict(fields)
        case specs.Tuple(items):
            return {f"({index})": item for index, item in enumerate(items)}
        case specs.List(items):
            return {f"[{index}]": item for index, item in enumerate(items)}
        case specs.Optional(inner):
            return _children(inner)
        case _:
            return {}


def _limits(spec: specs.Spec) -> str:
    if not isinstance(spec, specs.Array):
        return ""
    if spec.num_values is not None:
        return f", {spec.num_values} values"
    bounds = [None if bound is None or bound.size != 1 else bound.item() for bound in (spec.lowest, spec.highest)]
    return "" if bounds == [None, None] else f" in [{_bound(bounds[0])}, {_bound(bounds[1])}]"


def _bound(bound: object) -> str:
    return "..." if bound is None else str(bound)
