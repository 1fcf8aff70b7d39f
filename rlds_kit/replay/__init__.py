"""Plays recorded episodes again and tells where the environment does something else."""

from rlds_kit.environment import NotRebuiltError
from rlds_kit.replay.datasets import replay
from rlds_kit.replay.drawn import NotDrawnError, drawn
from rlds_kit.replay.report import Divergence, Outcome, Report

__all__ = ["Divergence", "NotDrawnError", "NotRebuiltError", "Outcome", "Report", "drawn", "replay"]
