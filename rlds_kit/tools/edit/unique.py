"""Each episode once: one that several shards have must be the same in all of them."""

from collections.abc import Iterable

from rlds_kit.base.errors import FormatError
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.tools.upkeep.episode_blocks import blocks_of
from rlds_kit.tools.upkeep.source import Source, SourceEpisode


def unique(sources: Iterable[Source]) -> tuple[list[SourceEpisode], int]:
    """The episodes of all sources, each id once, in their order; and how many came again.

    Raises:
      FormatError: two episodes of one id have different content.
      DamagedError: an episode that came again and has no stored digest is damaged.
    """
    found: dict[bytes, SourceEpisode] = {}
    duplicates = 0
    for episode in (episode for source in sources for episode in source.episodes):
        first = found.setdefault(episode.entry.episode_id, episode)
        if first is not episode:
            _require_same(first, episode)
            duplicates += 1
    return list(found.values()), duplicates


def _require_same(first: SourceEpisode, second: SourceEpisode) -> None:
    one, other = _content(first), _content(second)
    if one != other:
        raise FormatError(
            f"episode {first.id} is in {first.shard.path} and in {second.shard.path}, with the content digests "
            f"{one.hex()} and {other.hex()}; expected one id to mean one content: `rlds-kit delete` the wrong one first"
        )


def _content(episode: SourceEpisode) -> bytes:
    """The content digest; an INCOMPLETE episode has none stored, so it is read."""
    if episode.entry.content_digest:
        return episode.entry.content_digest
    file, digest = episode.shard.file(), EpisodeDigest()
    for _, columns in blocks_of(file, episode.entry):
        digest.update(columns)
    return digest.digest(start_of(file, episode.entry), end_of(file, episode.entry))
