"""Checks one episode of a shard: every column decoded, every rule about rows, specs, ending and digest."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from google.protobuf.message import DecodeError

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.step import ACTION
from rlds_kit.riegeli import varint
from rlds_kit.spec import value
from rlds_kit.storage import column as columns
from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix, read_payload
from rlds_kit.storage.sightings import SightedBlock, SightedEpisode
from rlds_kit.tools.upkeep import repaired
from rlds_kit.tools.upkeep.check_rows import RowFinding, Rows
from rlds_kit.tools.upkeep.check_spec import Misfit, by_field, misfits
from rlds_kit.tools.upkeep.finding import Finding, uuid_of
from rlds_kit.tools.upkeep.repaired import Span

_LIMITS: Final = frozenset(("bounds", "charset"))
_TAG_BYTES: Final = 1


@dataclass(slots=True)
class EpisodeFindings:
    """The problems of an episode, and notes about it."""

    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    steps: int = 0


class _Check:
    """Checks the blocks of one episode."""

    def __init__(
        self, file: ShardFile, episode: SightedEpisode, declared: specs.Dict, deviating: Collection[str]
    ) -> None:
        self.found = EpisodeFindings()
        self._file, self._episode, self._declared, self._deviating = file, episode, declared, deviating
        self._place = Finding("", "", file.path.name, episode=uuid_of(episode.episode_id))
        self._rows, self._digest = Rows(), EpisodeDigest()
        self._excused: list[Span] = list(repaired.marks(episode.start).undefined)
        self._limits: dict[str, tuple[int, int, str]] = {}
        self._others: dict[str, tuple[int, int, str]] = {}

    def run(self, *, is_locked: bool) -> EpisodeFindings:
        episode = self._episode
        if episode.start is None:
            self._problem("episode-start", "the start of the episode, with its metadata, is missing")
        self._check_metadata()
        at = 0
        for block in episode.blocks:
            at = self._block(block, at)
        length = at + (episode.end is not None and episode.end.rows > at)  # then the last row here is not the last
        self._row_findings(self._rows.findings(length, self._declared, self._excused))
        self.found.steps = at
        if episode.end is not None:
            self._check_end(episode.end, at)
        elif not is_locked:
            self._note("incomplete", f"the episode has no end; {at} steps are there")
        self._note_limits()
        return self.found

    def _problem(self, rule: str, message: str, *, step: int | None = None, block: SightedBlock | None = None) -> None:
        begin, end = (None, None) if block is None else (block.position, block.end)
        finding = replace(self._place, rule=rule, message=message, step=step, begin=begin, end=end)
        self.found.problems.append(finding)

    def _note(self, rule: str, message: str, *, step: int | None = None) -> None:
        self.found.notes.append(replace(self._place, rule=rule, message=message, step=step))

    def _row_findings(self, findings: Iterator[RowFinding], block: SightedBlock | None = None) -> None:
        for rule, step, message in findings:
            self._problem(rule, message, step=step, block=block)

    def _block(self, block: SightedBlock, at: int) -> int:
        """Checks a block that should begin at step `at`; returns where the next one should."""
        header = block.header
        if header.first_row != at:
            what = f"steps {at} to {header.first_row - 1} are missing" if header.first_row > at else "steps come twice"
            self._problem("rows", what, step=min(at, header.first_row))
        if header.end_row <= header.first_row:
            self._problem("rows", f"a block of steps {header.first_row} to {header.end_row}", block=block)
        good = self._columns(block)
        self._digest.update(good)
        rows = range(header.first_row, header.end_row)
        self._row_findings(self._rows.add(rows, good), block)
        for name, parts in by_field(good).items():
            if name in self._declared.fields:
                self._misfits(name, misfits(name, self._declared.fields[name], parts))
        return max(at, header.end_row)

    def _columns(self, block: SightedBlock) -> list[Column]:
        """The valid columns; the others are reported."""
        good = []
        try:
            self._check_layout(block)
            base = read_block_prefix(self._file, block.position).payload_base
        except (DamagedError, FormatError) as error:
            self._problem("block", self._short(error, block), step=block.header.first_row, block=block)
            return []
        for header in block.header.columns:
            try:
                good.append(self._column(block, header, base))
            except (DamagedError, FormatError, DecodeError, ValueError) as error:
                self._excused.append(Span(header.path, header.first_row, header.first_row + header.count))
                self._problem("column", self._short(error, block), step=header.first_row, block=block)
        return good

    def _column(self, block: SightedBlock, header: pb.Column, base: int) -> Column:
        payload = read_payload(self._file, block.position, base + header.offset, header.length)
        place = self._file.place(block.position)
        column = columns.decode(layout_of(header, place), payload, place)
        if column.key.kind not in restore.NUMERIC:
            restore.exact(column)  # text must be valid Unicode, and trees valid messages
        return column

    def _short(self, error: Exception, block: SightedBlock) -> str:
        """An error's message without the place, which the finding has, and the advice at its end."""
        return str(error).removeprefix(f"{self._file.place(block.position)}: ").partition("; run ")[0]

    def _check_layout(self, block: SightedBlock) -> None:
        """Checks that columns are within the block's rows, and at the offsets where a protobuf library finds them."""
        at = 0
        place = self._file.place(block.position)
        for header in block.header.columns:
            at += _TAG_BYTES + len(varint.encode(header.length))
            if header.offset != at:
                raise FormatError(f"{place}: column {header.path} is at {header.offset}, its payload at {at}")
            at += header.length
            rows = (header.first_row, header.first_row + header.count)
            if rows[0] + 1 < block.header.first_row or rows[1] > block.header.end_row:
                raise FormatError(f"{place}: column {header.path} has steps {rows} outside its block")

    def _misfits(self, name: str, found: Iterator[Misfit]) -> None:
        for row, problem in found:
            if any(span.covers(name, row) for span in self._excused):
                continue
            if problem.kind in _LIMITS:
                count, first, message = self._limits.get(problem.place, (0, row, problem.message))
                self._limits[problem.place] = (count + 1, first, message)
            elif name == ACTION:  # actions are data, whether the environment allows them or not
                self._note("action", str(problem), step=row)
            elif name in self._deviating:  # the recorder listed it: the environment returned it
                count, first, _ = self._others.get(str(problem), (0, row, ""))
                self._others[str(problem)] = (count + 1, first, "")
            else:
                self._problem("spec", str(problem), step=row)

    def _note_limits(self) -> None:
        for message, (count, first, _) in self._others.items():
            self._note("deviation", f"{message}; in {count} steps or more" if count > 1 else message, step=first)
        for place, (_, first, message) in self._limits.items():
            self._note("bounds", f"{place}: {message}; perhaps in other steps too", step=first)

    def _check_metadata(self) -> None:
        start, end = self._episode.start, self._episode.end
        parts = {"metadata": start.metadata, "seed": start.seed, "options": start.options} if start else {}
        parts |= {"end metadata": end.metadata} if end is not None and end.ending != pb.DISCARDED else {}
        for name, message in parts.items():
            try:
                content = value.decode(message)
            except (ValueError, TypeError) as error:
                self._problem("metadata", f"{name}: {error}")
            else:
                if name.endswith("metadata") and not isinstance(content, dict):
                    self._problem("metadata", f"{name}: expected a dict, got {type(content).__name__}")

    def _check_end(self, end: pb.EpisodeEnd, rows: int) -> None:
        if end.rows != rows:
            self._problem("row-count", f"the end says {end.rows} steps, {rows} are there", step=min(rows, end.rows))
        if end.ending not in (pb.TERMINATED, pb.TRUNCATED, pb.INTERRUPTED):
            self._problem("ending", f"the end has ending {end.ending}, which this version does not know")
        for ending, flag, name in (
            (pb.TERMINATED, end.terminated, "terminated"),
            (pb.TRUNCATED, end.truncated, "truncated"),
        ):
            if end.ending == ending and not flag:
                self._problem("ending", f"the episode is {name} and its flag is not set")
        if self._episode.start is None or self.found.problems:
            return  # it cannot match
        if self._digest.digest(self._episode.start, end) != end.content_digest:
            self._problem("digest", "the content does not have the digest that was stored at its end")


def check_episode(
    file: ShardFile,
    episode: SightedEpisode,
    declared: specs.Dict,
    *,
    is_locked: bool,
    deviating: Collection[str] = (),
) -> EpisodeFindings:
    """Checks everything about an episode that does not depend on other episodes.

    Args:
      file: the shard.
      episode: the result of a survey of the shard.
      declared: the shard's spec.
      is_locked: whether it may still be recorded.
      deviating: names of declared fields with deviations that the shard lists; these are no damage.
    """
    return _Check(file, episode, declared, deviating).run(is_locked=is_locked)
