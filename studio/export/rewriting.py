"""Writes the episodes of an export to a dataset in our format: the bytes of unchanged columns are copied."""

import dataclasses
import time
import uuid
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.origin import LOSSY, SOURCE
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.convert.conversion import VERSION
from rlds_kit.convert.episode_content import same
from rlds_kit.episode.episode import Episode
from rlds_kit.spec import value
from rlds_kit.spec.message import to_message
from rlds_kit.storage import directory as directories
from rlds_kit.storage import restore
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import EMPTY_DICT, elements, escape, field_of, nest, unescape
from rlds_kit.storage.row_columns import row_columns
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.studio.export.internal import is_personal, without_personal
from rlds_kit.studio.export.plan import Plan
from rlds_kit.studio.export.rules import RLDS_KIT, TAG, Planned
from rlds_kit.studio.export.sources import Sources
from rlds_kit.studio.replay.profile import episode_return
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.edit.rewrite import Rewrite, write_changed
from rlds_kit.tools.edit.trim import acted_fields_of
from rlds_kit.tools.upkeep.source import SourceEpisode

ORIGIN: Final = "episodes of a studio"
"""The format and the name that an export states as its source."""
_ENDINGS: Final = {
    EpisodeEnd.TERMINATED: pb.TERMINATED,
    EpisodeEnd.TRUNCATED: pb.TRUNCATED,
    EpisodeEnd.INTERRUPTED: pb.INTERRUPTED,
}


class Rewriter:
    """Writes the episodes of a plan, without internal and personal data, and with columns of tags.

    Args:
      plan: of the export.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._sources, self._choose = plan, Sources(), FilterChoice()
        columns = {f"{TAG}{label}": specs.Array((), "bool") for label in plan.columns}
        self.spec = specs.Dict({**plan.spec.fields, **columns})
        self._environment = self._one_environment()
        self._writer: ShardWriter | None = None
        self._seen = SeenFields(to_message(self.spec))
        origin = {"export": plan.rules.as_json()}
        # In another format, the origin is written when this dataset is converted to it.
        ours = {"format": ORIGIN, "name": ORIGIN, **origin, "converter": VERSION, LOSSY: {}}
        metadata = {SOURCE: ours} if plan.rules.format == RLDS_KIT else {}
        self._header = pb.ShardHeader(
            spec=to_message(self.spec), metadata=value.encode(metadata), environment=value.encode(self._environment)
        )

    def describe(self, directory: Path) -> None:
        """Writes dataset.json."""
        directories.prepare(directory, "append", self.spec, {}, self._header)

    def write(self, output: Output, number: int) -> None:
        """Writes an episode of the plan, by its number.

        Raises:
          DamagedError: it is damaged or missing.
        """
        planned = self._plan.episodes[number]
        episode = self._sources.episode(planned.chosen.directory, planned.chosen.id)
        source = self._sources.stored(planned.chosen.directory, planned.chosen.id)
        if episode is None or source is None or episode.length < planned.rows:
            raise DamagedError(f"episode {planned.chosen.id} was there when the export began, and is gone")
        id_ = uuid.uuid4().bytes
        end = EpisodeEnd.INTERRUPTED if planned.is_cut else episode.end
        made = Rewrite(
            begin=0,
            stop=planned.rows,
            start=pb.EpisodeStart(
                episode_id=id_,
                metadata=value.encode(self._metadata(number, planned, episode), "metadata"),
                seed=value.encode(episode.seed),
                options=value.encode(without_personal(episode.options)),
                provenance=value.encode(self._provenance(episode)),
                started_unix_ns=time.time_ns(),
            ),
            end=pb.EpisodeEnd(
                episode_id=id_,
                rows=planned.rows,
                ending=_ENDINGS.get(end, pb.INTERRUPTED),  # type: ignore[arg-type]  # None, if it has no end
                terminated=not planned.is_cut and episode.terminated,
                truncated=not planned.is_cut and episode.truncated,
                metadata=value.encode({}),
            ),
            acted=acted_fields_of([source]) if planned.is_cut else frozenset(),
            fields=frozenset(self._plan.fields_after),
            change=lambda writer, rows, columns: self._changed(planned, writer, rows, columns),
        )
        shard = dataclasses.replace(source.shard, header=self._header, amendments=())
        write_changed(output, SourceEpisode(shard, source.entry), made, self._choose)

    def _changed(self, planned: Planned, writer: ShardWriter, rows: range, columns: list[Column]) -> list[Column]:
        """The columns of a block in the export; the shard describes those that are not declared."""
        found = list(_without_personal(columns, self._plan.spec))
        for label in self._plan.columns:
            has = np.zeros(planned.rows, np.bool_)
            for first, end in planned.tags.get(label, ()):
                has[first:end] = True
            found += row_columns(escape(f"{TAG}{label}"), {row: has[row] for row in rows})
        if writer is not self._writer:
            self._writer, self._seen = writer, SeenFields(self._header.spec)
        amendment = self._seen.amendment(found)
        if amendment is not None:
            writer.amend(amendment)
        return found

    def _one_environment(self) -> dict[str, Any]:
        """The environment of all episodes; empty if they have several."""
        used = dict.fromkeys(each.chosen.directory for each in self._plan.episodes)
        found = [without_personal(self._sources.dataset(each).environment) for each in used]
        return found[0] if all(same(found[0], each) for each in found[1:]) else {}

    def _metadata(self, number: int, planned: Planned, episode: Episode) -> dict[str, Any]:
        recorded = {} if self._plan.rules.strip else without_personal(episode.metadata)
        return {
            **recorded,
            "public_id": planned.chosen.id,
            **planned.chosen.public,
            "episode_index": number,
            "num_steps": planned.rows - 1,
            "total_reward": episode_return(episode[: planned.rows - 1]),
            **{f"{TAG}{label}": label in planned.labels for label in self._plan.labels},
        }

    def _provenance(self, episode: Episode) -> dict[str, Any]:
        """What is known of the episode's environment beyond what all episodes have in common."""
        found, known = without_personal(episode.provenance), self._environment
        return {name: each for name, each in found.items() if name not in known or not same(known[name], each)}


def _without_personal(columns: list[Column], declared: specs.Dict) -> list[Column]:
    """Columns without the personal entries of undeclared fields; the columns of other fields are the same objects."""
    fields: dict[str, list[Column]] = {}
    for column in columns:
        fields.setdefault(field_of(column.key.path), []).append(column)
    return [
        column
        for name, group in fields.items()
        for column in (group if name in declared.fields or not _may_be_personal(group) else _cleaned(name, group))
    ]


def _may_be_personal(columns: list[Column]) -> bool:
    return any(
        any(is_personal(unescape(each)) for each in elements(column.key.path)[1:])
        or (column.key.kind == pb.TREE and any(data != EMPTY_DICT for data in map(bytes, column.items())))
        for column in columns
    )


def _cleaned(name: str, columns: list[Column]) -> list[Column]:
    """The columns of a field, with personal entries removed from its values."""
    path, values = escape(name), dict[int, dict[str, Any]]()
    for column in columns:
        below = column.key.path[len(path) :].removeprefix("/")
        for row, each in zip(column.rows.tolist(), restore.exact(column), strict=True):
            values.setdefault(row, {})[below] = each
    return row_columns(path, {row: without_personal(nest(values[row])) for row in sorted(values)})
