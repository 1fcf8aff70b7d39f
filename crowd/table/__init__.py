"""The dataset engine: recorded episodes as a table, by participant and collector, queried by predicates."""

from rlds_kit.crowd.table.episode_table import EpisodeTable, rebuilt
from rlds_kit.crowd.table.expression import Expression, column
from rlds_kit.crowd.table.participants import participant

__all__ = ["EpisodeTable", "Expression", "column", "participant", "rebuilt"]
