"""Checks the description of a shard: header, spec, index and footer must match the content of the file."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.riegeli.recovery import SkippedRegion
from rlds_kit.storage.episode_entry import EpisodeEntry, content_digest_of
from rlds_kit.storage.shard_index import ShardIndex
from rlds_kit.storage.sightings import SightedEpisode
from rlds_kit.tools.upkeep.finding import Finding, uuid_of
from rlds_kit.tools.upkeep.survey import Survey


@dataclass(frozen=True, slots=True)
class Owner:
    """The content of a chunk: which part of which episode, and its first step."""

    what: str
    episode: uuid.UUID | None = None
    step: int | None = None


def declared_fields(found: Survey) -> specs.Dict:
    """The spec of a shard, from its header or else from its index.

    Raises:
      FormatError: it is not a spec of fields.
    """
    header = found.header or (found.index.header if found.index is not None else None)
    if header is None:
        return specs.Dict({})
    spec = specs.from_message(header.spec)
    if not isinstance(spec, specs.Dict):
        raise FormatError(f"expected a spec for each field, got {specs.describe_spec(spec)}")
    return spec


def owners(found: Survey) -> dict[int, Owner]:
    """The content at each position, from the index and readable block headers, to describe damage."""
    known: dict[int, Owner] = {}
    for entry in found.index.episodes if found.index is not None else ():
        episode = uuid_of(entry.episode_id)
        known[entry.start] = Owner("start", episode)
        known[entry.end] = Owner("end", episode)
        for position, first in zip(entry.blocks.tolist(), entry.first_row.tolist(), strict=True):
            known[position] = Owner("steps", episode, first)
    for surveyed in found.episodes.values():
        for block in surveyed.blocks:
            known[block.position] = Owner("steps", uuid_of(surveyed.episode_id), block.header.first_row)
    known.pop(0, None)  # of episodes without a start or an end
    return known


def shard_problems(found: Survey) -> Iterator[Finding]:
    """The problems of a shard as a file."""
    yield from found.findings
    known = owners(found)
    for region in found.damage:
        owner = known.get(region.begin, Owner(""))
        what = f"{region.message} ({owner.what})" if owner.what else region.message
        yield Finding("damaged", what, found.name, region.begin, region.end, owner.episode, owner.step)
    if found.header is None and (found.chunks or found.damage):
        yield Finding("shard-header", "the first record, which says what is recorded, is missing", found.name)
    try:
        declared_fields(found)
        for amendment in found.amendments:
            specs.from_message(amendment)
    except FormatError as error:
        yield Finding("shard-spec", str(error), found.name)
    if found.index is not None:
        yield from (Finding("index", message, found.name) for message in _index_problems(found, found.index))
    if found.footer is not None:
        yield from (Finding("footer", message, found.name) for message in _footer_problems(found))


def amended_fields(found: Survey) -> set[str]:
    """The names of declared fields for which a shard lists deviations."""
    return {name for amendment in found.amendments for name in amendment.dict.key}


def shard_notes(found: Survey) -> Iterator[Finding]:
    """Notes about a shard, which are no damage."""
    if found.truncation is not None and not found.is_locked:
        torn = found.truncation
        yield Finding("truncated", str(torn), found.name, torn.begin, torn.begin + torn.length)
    if found.is_locked:
        open_episodes = sum(episode.end is None for episode in found.episodes.values())
        yield Finding("open", f"the shard is being recorded, and {open_episodes} of its episodes", found.name)
    elif not found.chunks and not found.damage:
        yield Finding("empty", "the writer stopped before its first record", found.name)
    elif found.index is None and not found.damage:
        yield Finding(
            "not-closed", "the writer stopped before it closed the shard; opening it takes a scan", found.name
        )
    elif found.footer is None and not found.damage and found.truncation is None:
        yield Finding("not-closed", "the writer stopped before the footer; opening it takes a scan", found.name)


def _index_problems(found: Survey, index: ShardIndex) -> Iterator[str]:
    if index.data_end != found.index_position:
        yield f"it says that the data ends at {index.data_end}, it ends at {found.index_position}"
    if found.header is not None and index.shard_id != found.header.shard_id:
        yield "it is the index of another shard"
        return
    if found.header is not None and index.header != found.header:
        yield "its copy of the shard's header differs"
    if not found.damage and list(index.amendments) != found.amendments:
        yield "its copy of the amendments differs"
    entries = {entry.episode_id: entry for entry in index.episodes}
    for episode_id in entries.keys() | found.episodes.keys():
        scanned, entry = found.episodes.get(episode_id), entries.get(episode_id)
        for message in _entry_problems(found, scanned or SightedEpisode(episode_id), entry):
            yield f"episode {uuid_of(episode_id)}: {message}"


def _entry_problems(found: Survey, scanned: SightedEpisode, entry: EpisodeEntry | None) -> Iterator[str]:
    """Finds differences between an entry and a scan, except those in damaged bytes."""
    if entry is None:
        yield "it is not in the index"
        return
    for what, here, there in (
        ("start", entry.start, scanned.start_position),
        ("end", entry.end, scanned.end_position),
    ):
        if here != there and (there or not _in_damage(found, here)):
            yield f"the index has its {what} at {here}, it is at {there}"
    named = list(zip(entry.blocks.tolist(), entry.first_row.tolist(), entry.end_row.tolist(), strict=True))
    seen = [(block.position, block.header.first_row, block.header.end_row) for block in scanned.blocks]
    if [block for block in named if block in seen or not _in_damage(found, block[0])] != seen:
        yield "the index names other blocks or steps than there are"
    if scanned.end is not None:
        ending = (scanned.end.rows, scanned.end.ending, content_digest_of(scanned.end))
        if (entry.rows, entry.ending, entry.content_digest) != ending:
            yield "the index has another number of steps, ending or digest than the end"
    elif not entry.end and entry.rows != max((end for _, _, end in named), default=0):
        yield f"the index counts {entry.rows} steps, not those of its blocks"


def _footer_problems(found: Survey) -> Iterator[str]:
    if found.footer is None:
        return
    listed = [tuple(entry) for entry in found.footer.chunks]
    if [chunk for chunk in listed if chunk in found.chunks or not _in_damage(found, chunk[0])] != found.chunks:
        yield "it lists other chunks than there are"


def _in_damage(found: Survey, position: int) -> bool:
    return any(_covers(region, position) for region in found.damage)


def _covers(region: SkippedRegion, position: int) -> bool:
    return region.begin <= position < region.end
