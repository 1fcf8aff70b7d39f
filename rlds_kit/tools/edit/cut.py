"""Some consecutive steps of an episode, written as an episode of its own."""

import uuid
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.reset_chain import RESET_CHAIN
from rlds_kit.spec import value
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.edit.rewrite import Rewrite, write_changed
from rlds_kit.tools.upkeep import repaired
from rlds_kit.tools.upkeep.repaired import Repaired, Span
from rlds_kit.tools.upkeep.source import SourceEpisode

TRIMMED: Final = "trimmed"
"""The entry of an episode's provenance that states what it was cut from; no digest covers it."""


class Cut(NamedTuple):
    """Steps `[begin, end)` of an episode."""

    begin: int
    end: int


def cut_id(episode_id: uuid.UUID, cut: Cut) -> uuid.UUID:
    """The id of the remaining part of an episode: the same cut always gives the same id.

    >>> cut_id(uuid.UUID(int=0), Cut(0, 10))
    UUID('ed65985c-5144-544c-a6de-a1ea968607a6')
    """
    return uuid.uuid5(episode_id, f"rlds_kit trim {cut.begin}:{cut.end}")


def write_cut(output: Output, episode: SourceEpisode, cut: Cut, acted: AbstractSet[str], choose: FilterChoice) -> None:
    """Writes the steps of a cut, which is not the whole episode, as a new episode.

    Args:
      output: to write to.
      episode: that is cut.
      cut: the steps, at least one.
      acted: fields of the action side of a step, which are undefined in the new last step.
      choose: chooses the filters, and remembers earlier choices.

    Raises:
      DamagedError: a column of these steps is damaged.
    """
    made = Rewrite(begin=cut.begin, stop=cut.end, start=_start(episode, cut), end=_end(episode, cut), acted=acted)
    write_changed(output, episode, made, choose)


def _start(episode: SourceEpisode, cut: Cut) -> pb.EpisodeStart:
    start = pb.EpisodeStart()
    start.CopyFrom(start_of(episode.shard.file(), episode.entry))
    note = {"id": str(episode.id), "begin": cut.begin, "end": cut.end}
    if cut.begin:
        # The first observation is no longer that of a reset.
        note |= {"seed": value.decode(start.seed), "options": value.decode(start.options)}
        start.seed.CopyFrom(value.encode(None))
        start.options.CopyFrom(value.encode(None))
    provenance = dict(value.decode(start.provenance)) if start.provenance.WhichOneof("kind") else {}
    if cut.begin and RESET_CHAIN in provenance:
        note[RESET_CHAIN] = provenance.pop(RESET_CHAIN)
    if TRIMMED in provenance:
        note[TRIMMED] = provenance[TRIMMED]
    lost = repaired.marks(start)
    start.provenance.CopyFrom(value.encode({**provenance, TRIMMED: note}))
    if lost != Repaired():
        spans = tuple(_spans(lost.undefined, cut))
        start.provenance.CopyFrom(repaired.mark(start.provenance, Repaired(spans, start=lost.start, end=lost.end)))
    start.episode_id = cut_id(episode.id, cut).bytes
    return start


def _spans(spans: Iterable[Span], cut: Cut) -> Iterable[Span]:
    for path, begin, end in spans:
        first, last = max(begin, cut.begin), min(end, cut.end)
        if first < last:
            yield Span(path, first - cut.begin, last - cut.begin)


def _end(episode: SourceEpisode, cut: Cut) -> pb.EpisodeEnd | None:
    """The end of a cut: that of the episode if its last step is in the cut, else INTERRUPTED."""
    end = end_of(episode.shard.file(), episode.entry)
    made = pb.EpisodeEnd(metadata=value.encode({}))
    if end is not None:
        made.CopyFrom(end)
    elif cut.end == episode.entry.rows:
        return None
    if cut.end < episode.entry.rows:
        made.ending, made.terminated, made.truncated = pb.INTERRUPTED, False, False
    made.episode_id, made.rows = cut_id(episode.id, cut).bytes, cut.end - cut.begin
    return made
