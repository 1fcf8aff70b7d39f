"""The conversion of a working Sarsa agent into one that people train, as described by the authors of TAMER."""

from typing import Final

from rlds_kit.shaping.credit.assigner import Assigner
from rlds_kit.shaping.learners.linear_model import LinearModel
from rlds_kit.shaping.learners.sarsa import LinearSarsa
from rlds_kit.shaping.learners.tamer import Tamer

LARGEST_STEP: Final = 0.01
"""Step size of the TAMER agents of the paper, or less."""


def tamer_of(sarsa: LinearSarsa, *, assigner: Assigner | None = None, step_size: float = LARGEST_STEP) -> Tamer:
    """The TAMER agent of a linear Sarsa(lambda) agent. The six rules:

    1. The discount becomes 0: the target of an update is the feedback alone.
    2. Actions are greedy: epsilon becomes 0.
    3. Feedback takes the place of the environment's reward, which is never given to the agent.
    4. A feedback of 0 updates nothing.
    5. There are no traces: an update changes the weights of the steps that have credit.
    6. The step size is at most 0.01.

    The features do not change, because Sarsa has shown that they suit the task; the weights, which predict returns, are
    not used.

    Args:
      sarsa: whose features are used; it is not changed.
      assigner: of credit; None: all credit to the current step, for steps of about a second.
      step_size: maximum; that of Sarsa is used if it is smaller.

    >>> from rlds_kit.shaping.learners import PerAction
    >>> import numpy as np
    >>> sarsa = LinearSarsa(PerAction(lambda observation: np.ones(1), 1, n_actions=2))
    >>> tamer_of(sarsa).predict(0)
    {0: 0.0, 1: 0.0}
    """  # noqa: D415  a list follows
    smaller = min(step_size, sarsa.config.step_size)
    return Tamer(sarsa.features, LinearModel(sarsa.features.size, step_size=smaller), assigner)
