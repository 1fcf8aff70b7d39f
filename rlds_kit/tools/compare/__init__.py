"""Compares datasets: what differs, where, and by how much."""

from rlds_kit.tools.compare.datasets import diff
from rlds_kit.tools.compare.matching import Match
from rlds_kit.tools.compare.report import Divergence, FieldDifference, Report
from rlds_kit.tools.compare.values import ABSENT, Kind, ValueDifference, differences, short

__all__ = [
    "ABSENT",
    "Divergence",
    "FieldDifference",
    "Kind",
    "Match",
    "Report",
    "ValueDifference",
    "diff",
    "differences",
    "short",
]
