"""All rules, and the choice of some."""

from collections.abc import Iterable
from typing import Final

from rlds_kit.lint.rule import Rule
from rlds_kit.lint.rules import (
    action_of_the_step_before,
    action_out_of_bounds,
    all_of_one_length,
    backward_time,
    clipped_values,
    constant_field,
    constant_reward,
    deviating_field,
    discount_at_the_end,
    discount_before_the_end,
    duplicate_course,
    duplicate_episode,
    empty_episode,
    false_end,
    leaked_episode,
    left_out,
    lossy_source,
    merged_episodes,
    missing_final_observation,
    missing_metadata,
    next_episodes_observation,
    not_a_number,
    not_a_number_elsewhere,
    observation_out_of_bounds,
    repeated_final_observation,
    reused_seed,
    reward_out_of_bounds,
    same_final_observation,
    shifted_actions,
    shifted_observations,
    shifted_rewards,
    terminated_at_the_limit,
    traces_of_jpeg,
    truncated_before_the_limit,
    unreadable,
    zero_final_observation,
)

_MODULES: Final = (
    unreadable,
    shifted_actions,
    shifted_rewards,
    shifted_observations,
    action_of_the_step_before,
    repeated_final_observation,
    same_final_observation,
    next_episodes_observation,
    missing_final_observation,
    zero_final_observation,
    terminated_at_the_limit,
    false_end,
    truncated_before_the_limit,
    all_of_one_length,
    discount_at_the_end,
    discount_before_the_end,
    not_a_number,
    not_a_number_elsewhere,
    constant_field,
    constant_reward,
    clipped_values,
    observation_out_of_bounds,
    action_out_of_bounds,
    reward_out_of_bounds,
    deviating_field,
    lossy_source,
    traces_of_jpeg,
    duplicate_episode,
    duplicate_course,
    leaked_episode,
    reused_seed,
    merged_episodes,
    backward_time,
    missing_metadata,
    empty_episode,
    left_out,
)
RULES: Final[dict[str, Rule]] = {each.RULE.id: each.RULE for each in _MODULES}
"""By id, in their order."""
UNREADABLE: Final = RULES["RK001"]


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[Rule]:
    """The rules of some ids.

    Args:
      select: ids, or beginnings of ids such as "RK2"; none are all.
      ignore: likewise, those to leave out.

    Raises:
      ValueError: there is no such rule.

    >>> [rule.id for rule in chosen(["RK4"], ["RK402"])]
    ['RK401']
    """
    wanted, unwanted = tuple(_known(select)), tuple(_known(ignore))
    return [
        each
        for identifier, each in RULES.items()
        if (not wanted or identifier.startswith(wanted)) and not (unwanted and identifier.startswith(unwanted))
    ]


def _known(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        beginning = name.upper()
        if not beginning or not any(identifier.startswith(beginning) for identifier in RULES):
            raise ValueError(f"expected ids of rules or beginnings of them, of {', '.join(RULES)}, got {name!r}")
        yield beginning
