"""Maintains datasets on disk: verify, repair, rechunk, statistics."""

from rlds_kit.tools.upkeep.finding import Finding
from rlds_kit.tools.upkeep.rechunk import RechunkReport, rechunk
from rlds_kit.tools.upkeep.repair import RepairReport, repair
from rlds_kit.tools.upkeep.repair_episode import Loss
from rlds_kit.tools.upkeep.statistics import FieldSize, Statistics, Summary, statistics
from rlds_kit.tools.upkeep.verify import VerifyReport, verify

__all__ = [
    "FieldSize",
    "Finding",
    "Loss",
    "RechunkReport",
    "RepairReport",
    "Statistics",
    "Summary",
    "VerifyReport",
    "rechunk",
    "repair",
    "statistics",
    "verify",
]
