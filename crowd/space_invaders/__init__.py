"""Cooperative Space Invaders for two, as a PettingZoo environment; needs the extra `multi-agent-atari`."""

from rlds_kit.crowd.space_invaders.cooperative import CooperativeSpaceInvaders, make

__all__ = ["CooperativeSpaceInvaders", "make"]
