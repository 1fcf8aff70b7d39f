"""Incentives: requirements, bonuses, raffles, and what people are owed, counted from the recordings."""

from rlds_kit.crowd.incentives.bonus import Bonus, Formula
from rlds_kit.crowd.incentives.ledger import (
    CROWD,
    Entry,
    Work,
    episodes_of,
    ledger,
    payment_csv,
    prolific_bonuses,
    session_values,
    unpaid,
)
from rlds_kit.crowd.incentives.raffle import commitment, draw_published, hashed_draw, tickets_of
from rlds_kit.crowd.incentives.requirement import Requirement, completion, shown
from rlds_kit.crowd.incentives.terms import Terms
from rlds_kit.crowd.incentives.treatment import Reward, Treatment, draw_raffle, presets, reward, reward_in_proportion

__all__ = [
    "CROWD",
    "Bonus",
    "Entry",
    "Formula",
    "Requirement",
    "Reward",
    "Terms",
    "Treatment",
    "Work",
    "commitment",
    "completion",
    "draw_published",
    "draw_raffle",
    "episodes_of",
    "hashed_draw",
    "ledger",
    "payment_csv",
    "presets",
    "prolific_bonuses",
    "reward",
    "reward_in_proportion",
    "session_values",
    "shown",
    "tickets_of",
    "unpaid",
]
