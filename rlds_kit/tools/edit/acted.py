"""Which fields belong to what was done in a step: a last step has none of them."""

from collections.abc import Iterable

from rlds_kit.base.step import ACTED_FIELDS, OBSERVATION
from rlds_kit.storage.leaf import field_of
from rlds_kit.tools.upkeep.episode_blocks import headers_of
from rlds_kit.tools.upkeep.source import SourceEpisode


def acted_fields_of(episodes: Iterable[SourceEpisode]) -> set[str]:
    """Finds them by the headers of the blocks: what was done in a step stands in the block of the next observation.

    So a field that begins before its block is one of them, and one that always stops one step before the observation.

    Raises:
      DamagedError: a header is damaged.
    """
    early, short, others = set(ACTED_FIELDS), set[str](), set[str]()
    for episode in episodes:
        for _, __, block in headers_of(episode.shard.file(), episode.entry):
            ends: dict[str, int] = {}
            for column in block.columns:
                name = field_of(column.path)
                ends[name] = max(ends.get(name, 0), column.first_row + column.count)
                if column.first_row < block.first_row:
                    early.add(name)
            has_last = ends.get(OBSERVATION) == block.end_row  # data may lack the final observation, and all beside it
            for name, end in ends.items():
                (short if has_last and end == block.end_row - 1 else others).add(name)
    return early | (short - others)
