"""The reward is the same for every action.

Every reward of the dataset is equal, over 100 actions at least and more than one episode.

Nothing can be learned from such a reward but to live longer or shorter. In some tasks that is the task (CartPole pays
1 for every step), and in sparse ones it may be that no episode has succeeded; it is also the reward
that was not connected, or was lost in a conversion. So this is for information.

If the task has other rewards, record again; if the dataset holds no success, say so in its description.
"""

from rlds_kit.base.step import REWARD
from rlds_kit.lint.rule import Severity, rule
from rlds_kit.lint.rules.constant_field import ConstantField


@rule("RK304", Severity.INFO)
class ConstantReward(ConstantField):
    """Finds rewards that are constant, as `ConstantField` finds observations and actions."""

    reads = (REWARD,)
