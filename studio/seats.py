"""Makes the seats of a game from those of a study and the people of a session."""

from collections.abc import Sequence
from typing import Any

from rlds_kit.studio.database.seating import ALONE, SeatPlan, Together
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.play.rules import Consent, Rules
from rlds_kit.trials import ActorConfig, Driver


class Seats:
    """The seats of a session. A person's seat without a person is given to a program, or stays empty.

    Args:
      plans: the designer's settings; empty: one seat, of a person.
      session: with its people.
    """

    def __init__(self, plans: Sequence[SeatPlan], session: Session) -> None:
        self._plans, self._people = plans or ALONE, session.people

    @property
    def actors(self) -> dict[str, ActorConfig]:
        """By seat, the program that acts there, always or while its person is away."""
        return {
            each.name: ActorConfig(
                implementation=each.actor,
                config=each.config,
                is_required=each.is_required,
                default_action=each.default_action,
            )
            for each in self._plans
            if each.actor
        }

    def settings(self) -> dict[str, Any]:
        """The seats as a `Scene` has them."""
        people = [each for each in self._plans if each.is_human and each.name in self._people]
        empty = [each for each in self._plans if each not in people]
        return {
            "drivers": {each.name: Driver.ACTOR if each.actor else Driver.NOBODY for each in empty},
            "fallbacks": {each.name: fallback for each in people if (fallback := _fallback(each)) is not None},
            "actors": self.actors,
            "optional": frozenset(each.name for each in self._plans if not each.is_required),
            "defaults": {each.name: each.default_action for each in self._plans if each.default_action is not None},
            "idle": {each.name: each.idle_seconds for each in people if each.idle_seconds is not None},
            "notes": {each.name: each.instructions for each in people if each.instructions},
            "people": {each.name: self._people[each.name].agent_id for each in people},
        }


def _fallback(plan: SeatPlan) -> Driver | None:
    """Who acts while a person is away: their program, else the default action if the seat is not required."""
    if plan.actor:
        return Driver.ACTOR
    return None if plan.is_required else Driver.NOBODY


def rules_of(together: Together) -> Rules:
    """What the people of a session decide together."""
    return Rules(pause=Consent(together.pause), cancel=Consent(together.cancel), confirm=Consent(together.confirm))
