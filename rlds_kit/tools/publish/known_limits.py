"""Limits of a dataset that matter for training: incomplete episodes, undefined values, gaps."""

from collections.abc import Iterator, Mapping

from rlds_kit.base.quantities import count_text
from rlds_kit.base.step import OBSERVATION, STEP_INDEX, EpisodeEnd
from rlds_kit.tools.publish.facts import Facts

_NOTED_ELSEWHERE = frozenset({"dataset-json"})


def limits(facts: Facts, notes: Mapping[str, int]) -> Iterator[str]:
    """The limits as sentences, the most general first.

    Args:
      facts: of the dataset.
      notes: the notes of `verify`, which are no damage: how many, by rule.
    """
    endings = facts.statistics.endings
    yield (
        "Action, reward and discount of an episode's last step are undefined: arrays have zeros there, and "
        '`episode.mask("action")` is False. A policy should not learn them: `last_step="drop"` of `as_tf_dataset` and '
        '`builder_from_directory` leaves that step out, `"repeat"` takes the action before.'
    )
    if count := endings.get(EpisodeEnd.INCOMPLETE.value, 0):
        yield f"{_episodes(count)} INCOMPLETE: the recording program died. What is there of them is whole."
    if count := endings.get(EpisodeEnd.INTERRUPTED.value, 0):
        yield f"{_episodes(count)} INTERRUPTED by a reset in the middle: their last state is not terminal."
    if count := endings.get(EpisodeEnd.TRUNCATED.value, 0):
        yield f"{_episodes(count)} TRUNCATED by a limit of the environment: their last state is not terminal."
    if count := _missing_observations(facts):
        yield f'{count_text(count, "step")} without an observation; `episode.mask("observation")` says which.'
    if any(field.path == STEP_INDEX for field in facts.fields):
        yield "Some episodes may have gaps, where steps were left out; `step_index` counts the environment's own steps."
    optional = [f"`{field.path}`" for field in facts.fields if field.path in facts.lacking]
    if optional:
        shown = ", ".join(optional[:8]) + (f" and {len(optional) - 8:,} more" if len(optional) > 8 else "")
        yield f"Not every step has {shown}; masks say which do."
    if facts.origins.seeded < facts.statistics.episodes:
        count = facts.statistics.episodes - facts.origins.seeded
        yield f"{count_text(count, 'episode')} without the seed of the reset that began it."
    for rule, count in notes.items():
        if rule not in _NOTED_ELSEWHERE:
            yield f"`rlds-kit verify` notes {rule} {f'{count:,} times' if count > 1 else 'once'}; it is no damage."


def _episodes(count: int) -> str:
    return "1 episode is" if count == 1 else f"{count:,} episodes are"


def _missing_observations(facts: Facts) -> int:
    """The number of steps without any column of the observation."""
    paths = {field.path for field in facts.fields if f"{field.path}/".startswith(f"{OBSERVATION}/")}
    spanned = [each.values for each in facts.statistics.fields if each.path in paths]
    return facts.statistics.steps - max(spanned) if spanned else 0
