"""Decides the content of an export once, before anything is written: a resumed export has the same content."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import DECLARED_FIELDS
from rlds_kit.base.whole_file import write_json
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.layers import Kind
from rlds_kit.spec.compatibility import compatible
from rlds_kit.studio.export.internal import INTERNAL_FIELDS
from rlds_kit.studio.export.rules import Chosen, Planned, Rules
from rlds_kit.studio.export.sources import Sources
from rlds_kit.tools.edit.one_spec import one_spec
from rlds_kit.tools.upkeep.source import Source, read_source


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of an export.

    Attributes:
      rules: as they were requested.
      episodes: the episodes, in order.
      left_out: public ids of episodes that are not on the disk, or have no step.
      spec: the declared fields, without those of tags.
      fields_before: names of all fields of the episodes.
      fields_after: names of those in the export, without those of tags.
    """

    rules: Rules
    episodes: tuple[Planned, ...]
    left_out: tuple[str, ...]
    spec: specs.Dict
    fields_before: tuple[str, ...]
    fields_after: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The labels that steps have."""
        return sorted({label for each in self.episodes for label in each.tags}) if self.rules.tag_columns else []

    @property
    def labels(self) -> list[str]:
        """The labels that whole episodes have."""
        return sorted({label for each in self.episodes for label in each.labels}) if self.rules.tag_columns else []


def make_plan(chosen: Sequence[Chosen], rules: Rules) -> Plan:
    """Reads the episodes and their annotations, but not their steps.

    Args:
      chosen: the episodes.
      rules: how they are exported.

    Raises:
      ConversionError: there is no episode, or one dataset cannot store them all.
      DamagedError: a layer is damaged.
      FormatError: an episode has changed since it was annotated.
    """
    sources = Sources()
    once = {(one.directory, one.id): one for one in reversed(chosen)}
    found = [(one, _planned(one, sources, rules)) for one in chosen if once[one.directory, one.id] is one]
    episodes = tuple(each for _, each in found if each is not None)
    if not episodes:
        raise ConversionError("none of the chosen episodes is on the disk; there is nothing to export")
    used = list(dict.fromkeys(each.chosen.directory for each in episodes))
    before = tuple(dict.fromkeys(name for each in used for name in sources.dataset(each).spec.fields))
    after = tuple(name for name in before if name in DECLARED_FIELDS or not (rules.strip and name in INTERNAL_FIELDS))
    return Plan(
        rules,
        episodes,
        tuple(str(one.public.get("public_id", one.id)) for one, each in found if each is None),
        _spec(used, after),
        before,
        after,
    )


def write_plan(path: Path, plan: Plan) -> None:
    """Writes a plan atomically."""
    content = {
        "rules": plan.rules.as_json(),
        "episodes": [dataclasses.asdict(each) for each in plan.episodes],
        "left_out": plan.left_out,
        "spec": specs.to_json(plan.spec),
        "fields": [plan.fields_before, plan.fields_after],
    }
    write_json(path, content)


def read_plan(path: Path) -> Plan:
    """Reads what `write_plan` wrote.

    Raises:
      FileNotFoundError: there is none.
    """
    content = json.loads(path.read_text("utf-8"))
    spec = specs.from_json(content["spec"])
    before, after = (tuple(names) for names in content["fields"])
    return Plan(
        Rules.of_json(content["rules"]),
        tuple(Planned(**{**each, "chosen": Chosen(**each["chosen"])}) for each in content["episodes"]),
        tuple(content["left_out"]),
        spec if isinstance(spec, specs.Dict) else specs.Dict({}),
        before,
        after,
    )


def _planned(chosen: Chosen, sources: Sources, rules: Rules) -> Planned | None:
    """The episode as it will be exported; None if it is not on the disk or has no step."""
    episode = sources.episode(chosen.directory, chosen.id)
    if episode is None or not episode.length:
        return None
    tags: dict[str, list[list[int]]] = {}
    labels = set()
    for each in episode.annotations():
        if each.kind is Kind.TAG and each.steps is not None:
            tags.setdefault(str(each.value), []).append([each.steps.start, each.steps.stop])
        elif each.kind is Kind.TAG:
            labels.add(str(each.value))
    rows = min([episode.length, *(first + 1 for label in rules.end_tags for first, _ in tags.get(label, ()))])
    tagged = {label: spans for label, spans in tags.items() if any(first < rows for first, _ in spans)}
    weight = round(sources.step_bytes(chosen.directory) * rows)
    return Planned(chosen, rows, rows < episode.length, tagged, sorted(labels), weight)


def together(directories: Iterable[str], names: Mapping[str, str]) -> specs.Dict:
    """The spec of the recording that can store the steps of all others.

    Args:
      directories: of recordings; missing ones are skipped.
      names: of environments, by directory, for those whose recording has no name.

    Raises:
      ConversionError: there is none; the message names which of them are compatible, and which fields differ.
    """
    found = {each: read_source(each) for each in dict.fromkeys(directories) if Path(each).is_dir()}
    try:
        return one_spec(list(found.values())) if found else specs.Dict({})
    except SpecError as error:
        groups: list[list[str]] = []
        for each, source in found.items():
            group = next((group for group in groups if _fit(found[group[0]], source)), None)
            if group is None:
                groups.append([each])
            else:
                group.append(each)
        groups_text = "; ".join(
            ", ".join(str(found[each].description.get("name") or names.get(each) or Path(each).name) for each in group)
            for group in groups
        )
        places = _differing(found[groups[0][0]], found[groups[-1][0]])
        raise ConversionError(
            f"no dataset can hold all of these episodes, for their spaces differ{places}: {groups_text}. Choose one "
            "study, and export the others by themselves"
        ) from error


def _fit(one: Source, other: Source) -> bool:
    try:
        one_spec([one, other])
    except SpecError:
        return False
    return True


def _differing(one: Source, other: Source) -> str:
    """The fields of two recordings that fit in neither direction, in brackets; empty if one does not fit itself."""
    try:
        first, second = one_spec([one]), one_spec([other])
    except SpecError:
        return ""
    back = {problem.place for problem in compatible(second, first)}
    places = [problem.place for problem in compatible(first, second)]
    both = [place for place in dict.fromkeys(places) if place in back] or sorted({*places, *back})
    return f" ({', '.join(both)})" if both else ""


def _spec(directories: Sequence[str], names: Sequence[str]) -> specs.Dict:
    """The declared fields of the export: those of the recording that can store the steps of all others.

    Raises:
      ConversionError: there is none; the message names what differs.
    """
    fields = together(directories, {}).fields
    return specs.Dict({name: spec for name, spec in fields.items() if name in names})
