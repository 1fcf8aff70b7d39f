"""Checks the designer's settings of seats against the environment."""

from collections.abc import Collection, Iterator, Sequence

from rlds_kit.studio.database.seating import ALONE, SeatPlan
from rlds_kit.studio.play.trial_config import default_action
from rlds_kit.trials.workers.requests import Opened


def seat_problems(plans: Sequence[SeatPlan], opened: Opened, actors: Collection[str]) -> list[str]:
    """What is wrong with the seats of an environment; empty: they fit.

    Args:
      plans: the designer's settings; empty: one seat, of a person.
      opened: the environment.
      actors: implementations that studies may name.
    """
    names = [each.name for each in plans or ALONE]
    if sorted(names) != sorted(opened.seats):
        return [f"seats: expected one for each of {', '.join(opened.seats)}, got {', '.join(names)}"]
    return [problem for each in plans for problem in _problems(each, opened, actors)]


def _problems(plan: SeatPlan, opened: Opened, actors: Collection[str]) -> Iterator[str]:
    if plan.actor and plan.actor not in actors:
        known = ", ".join(sorted(actors))
        yield (
            f"seat {plan.name}: expected one of the programs {known}, got {plan.actor!r}; those of other packages are "
            "known once the studio is started with them"
        )
    if not plan.is_human and not plan.actor and plan.is_required:
        yield f"seat {plan.name}: expected a program, or a seat that is not required; got neither"
    if plan.default_action is not None:
        space = opened.classes[plan.name]
        try:
            is_action = space.contains(default_action(space.action_space, plan.default_action))
        except (TypeError, ValueError):
            is_action = False
        if not is_action:
            yield f"seat {plan.name}: expected a default action in {space.action_space}, got {plan.default_action!r}"
