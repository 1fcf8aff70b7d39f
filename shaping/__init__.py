"""Rewards from people and from manuals: feedback, credit, preferences, reward models and learners."""

from typing import Final

__all__: Final[list[str]] = []
