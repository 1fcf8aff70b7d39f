"""Replays recorded episodes and reports where the environment diverges."""

from rlds_kit.base.environment import NotRebuiltError
from rlds_kit.tools.replay.datasets import replay
from rlds_kit.tools.replay.drawn import NotDrawnError, drawn
from rlds_kit.tools.replay.report import Divergence, Outcome, Report

__all__ = ["Divergence", "NotDrawnError", "NotRebuiltError", "Outcome", "Report", "drawn", "replay"]
