"""Finds frequent faults of datasets of episodes: shifted actions, false ends, NaN, leaked episodes."""

from rlds_kit.lint.catalogue import RULES, chosen
from rlds_kit.lint.report import Finding, Place, Report
from rlds_kit.lint.rule import Rule, Severity
from rlds_kit.lint.run import lint

__all__ = ["RULES", "Finding", "Place", "Report", "Rule", "Severity", "chosen", "lint"]
