"""A teacher beside the only seat of an environment, who may do another action in its place."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit import spec as specs
from rlds_kit.base.step import ACTION
from rlds_kit.logger.value_copy import copy_value
from rlds_kit.trials.environments.actor_class import ActorClass
from rlds_kit.trials.environments.controls import Controls
from rlds_kit.trials.environments.look_ahead import LookAhead
from rlds_kit.trials.environments.playable import SEAT, Outcome, Playable
from rlds_kit.trials.frames.picture import Picture

TEACHER: Final = "teacher"
"""The seat of the teacher."""
PROPOSAL: Final = "proposal"
"""The field of a step with the action of the seat that is taught; `action` is the one that was done."""
INTERVENTION: Final = "intervention"
"""The field of a step that says whether the teacher's action was done."""
ACTIVE: Final = "active"


class TaughtPlayable:
    """An environment with one seat, and a second one for a teacher.

    The teacher observes the same and gives `{"active": 0 or 1, "action": action}`, or None, which is as 0. With 1 the
    environment does the teacher's action. Both actions are recorded, and which was done.

    Args:
      inner: the environment.

    Raises:
      ValueError: it has not exactly one seat.
    """

    def __init__(self, inner: Playable) -> None:
        if inner.seats != (SEAT,):
            raise ValueError(f"expected an environment with one seat for a teacher to teach, got {inner.seats}")
        self._inner = inner
        own = inner.classes[SEAT]
        choice = spaces.Dict({ACTIVE: spaces.Discrete(2), ACTION: own.action_space})
        self.seats: tuple[str, ...] = (SEAT, TEACHER)
        self.classes: Mapping[str, ActorClass] = {
            SEAT: own,
            TEACHER: ActorClass(TEACHER, own.observation_space, choice, is_optional=True),
        }
        fields = inner.declared.fields
        flag = specs.Array((), np.bool_)
        self.declared = specs.Dict({**fields, PROPOSAL: fields[ACTION], INTERVENTION: flag})
        self.is_seeded = inner.is_seeded
        self.provenance: Mapping[str, Any] = {**inner.provenance, "teacher": True}
        self.controls: Mapping[str, Controls] = inner.controls
        self.cameras, self.rate = inner.cameras, inner.rate
        self.own_pictures = inner.own_pictures
        self.look_ahead: LookAhead | None = None

    def reset(self, seed: int, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Begins an episode."""
        return self._inner.reset(seed, options)

    def observations(self) -> Mapping[str, Any]:
        """Both see the same."""
        (seen,) = self._inner.observations().values()
        return {SEAT: seen, TEACHER: seen}

    def gone(self) -> tuple[str, ...]:
        """Both stay."""
        return ()

    def act(self, policy: str, seat: str) -> Any:
        """What a policy does now; policies do not teach."""
        return None if seat == TEACHER else self._inner.act(policy, seat)

    def step(self, actions: Mapping[str, Any]) -> Outcome:
        """Does the teacher's action if there is one."""
        proposal, taught = actions[SEAT], actions.get(TEACHER)
        is_taught = taught is not None and bool(taught[ACTIVE])
        given = copy_value(proposal)  # the environment may change the action that it does
        outcome = self._inner.step({SEAT: taught[ACTION] if taught is not None and is_taught else proposal})
        return outcome._replace(
            acted={**outcome.acted, PROPOSAL: given, INTERVENTION: is_taught},
            rewards={**outcome.rewards, TEACHER: None},
        )

    def picture(self, camera: int) -> Picture:
        """What the environment draws."""
        return self._inner.picture(camera)

    def close(self) -> None:
        """Closes the environment."""
        self._inner.close()
