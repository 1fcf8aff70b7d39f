"""Removes duplicates of episodes, whose content must be equal."""

from collections.abc import Iterable

from rlds_kit.base.errors import FormatError
from rlds_kit.tools.upkeep.episode_blocks import content_digest
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
    return content_digest(episode.shard.file(), episode.entry)
