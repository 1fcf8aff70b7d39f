"""The code that `vector_rows` and `vector_columns` have in common."""

from typing import Any, TypeAlias

from rlds_kit.logger.reset_counter import ResetCounters

Flags = tuple[bool, bool]
"""Gymnasium's terminated and truncated."""
VectorResult: TypeAlias = tuple[Any, Any, Any, Any, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos of a step."""


def start_provenance(resets: ResetCounters, index: int, *, autoreset: bool) -> dict[str, Any]:
    """The provenance of an episode of a sub-environment that begins now."""
    return {"sub_environment": index, "autoreset": autoreset, **resets.provenance(index)}
