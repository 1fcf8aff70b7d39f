"""Where the rewards of a recording are."""

from rlds_kit import spec as specs
from rlds_kit.base.step import REWARD
from rlds_kit.trials.workers.requests import Opened


def reward_fields(opened: Opened) -> dict[str, str]:
    """By seat, the path of its reward in a step: where each has one of its own, it is below the seat's name."""
    rewards = opened.declared.fields.get(REWARD)
    own = rewards.fields if isinstance(rewards, specs.Dict) else {}
    return {seat: f"{REWARD}/{seat}" if seat in own else REWARD for seat in opened.seats}
