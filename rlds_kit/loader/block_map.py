"""The blocks of all episodes of a source, as arrays: where the columns of any step are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlds_kit.loader.source import Source
from rlds_kit.storage import located
from rlds_kit.storage.shard_file import ShardFile


@dataclass(frozen=True, slots=True, eq=False)
class BlockMap:
    """The blocks of episodes whose blocks have all of their rows, one after the other, and of no other episodes.

    Attributes:
      source: of the episodes.
      places: `[blocks]` of `located.PLACE`.
      episode: `[blocks]` int64, its index in the source.
      table: `[blocks]` int64, the number of its shard.
      base: `[blocks]` int64, the number among all steps of its episode's first.
      rows: `[blocks]` int64, steps of its episode.
      mapped: `[episodes]` bool, which episodes have their blocks here.
    """

    source: Source
    places: np.ndarray
    episode: np.ndarray
    table: np.ndarray
    base: np.ndarray
    rows: np.ndarray
    mapped: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def file(self, block: int) -> ShardFile | None:
        """The shard of a block; None if it is remote, or has amendments."""
        return self.source.reader(int(self.episode[block])).plain_file

    def parts(self, blocks: np.ndarray) -> list[tuple[ShardFile, np.ndarray]]:
        """Divides blocks by their shards."""
        if not len(blocks):
            return []
        order = blocks[np.argsort(self.table[blocks], kind="stable")]
        cuts = np.flatnonzero(np.diff(self.table[order])) + 1
        found = [(self.file(int(part[0])), part) for part in np.split(order, cuts)]
        return [(file, part) for file, part in found if file is not None]

    def requests(self, blocks: np.ndarray, numbers: np.ndarray, to: np.ndarray) -> np.ndarray:
        """Requests for whole columns.

        Args:
          blocks: `[n]` of this map.
          numbers: `[n, located.NUMBERS]`, what was found of a column in each.
          to: `[n]` int64, where the bytes go.
        """
        made = np.empty(len(blocks), located.REQUEST)
        made["position"] = self.places["position"][blocks]
        made["offset"], made["length"] = numbers[:, located.OFFSET], numbers[:, located.LENGTH]
        made["to"], made["checksum"] = to, numbers[:, located.CHECKSUM]
        return made


def block_map(source: Source) -> BlockMap | None:
    """The blocks of a source; None if its columns cannot be found: remote files, amendments, no C extension."""
    if located.native is None or not len(source.entries) or source.reader(0).plain_file is None:
        return None
    entries = source.entries
    tables = entries.tables_of()
    firsts, counts, rows = (entries.column(name) for name in ("first_block", "blocks", "rows"))
    starts = np.cumsum([0, *(len(table.block) for table in entries.tables)])
    total = int(counts.sum())
    episode = np.repeat(np.arange(len(entries)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    number = np.repeat(starts[tables] + firsts, counts) + within
    places = np.zeros(total, located.PLACE)
    for name, field in (("position", "block"), ("first_row", "first_row"), ("end_row", "end_row")):
        places[name] = _joined([getattr(table, field) for table in entries.tables])[number]
    places["episode_id"] = entries.ids()[episode]
    is_tiled = _tiled(places, episode, within, rows)
    selected = is_tiled[episode]
    return BlockMap(
        source,
        places[selected],
        episode[selected],
        tables[episode][selected],
        source.bases[episode][selected],
        rows[episode][selected],
        is_tiled,
    )


def _tiled(places: np.ndarray, episode: np.ndarray, within: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`[episodes]` bool, whether every row of an episode is in exactly one block, in order."""
    before = np.where(within > 0, np.roll(places["end_row"], 1), 0)
    is_last = np.append(np.diff(episode) > 0, True)[: len(episode)]
    is_right = (places["first_row"] == before) & (places["end_row"] > places["first_row"])
    is_right &= ~is_last | (places["end_row"] >= rows[episode])
    found = np.zeros(len(rows), np.bool_)
    found[episode] = True
    found[episode[~is_right]] = False
    return found


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.astype(np.int64) for part in parts])
