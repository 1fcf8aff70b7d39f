"""Agreement of annotators: Krippendorff's alpha."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.shaping.preferences.answers import Choice, Comparison, Ranking, Rating
from rlds_kit.shaping.preferences.query import Response, latest

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

_LEVELS: Final[dict[str, Level]] = {Comparison.KIND: "nominal", Ranking.KIND: "ordinal", Rating.KIND: "interval"}
_CODES: Final = {Choice.FIRST: 0.0, Choice.SECOND: 1.0, Choice.TIE: 2.0}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of annotators.

    Attributes:
      alpha: Krippendorff's: 1 is full agreement, 0 that of chance; None: undefined, because no unit has two values, or
        all values are equal.
      equal: share of equal values among the pairs of values of a unit; None: there is no pair.
      units: queries (for rankings, segments of queries) with values of at least two annotators.
      annotators: with at least one value.
      level: of measurement.
    """

    alpha: float | None
    equal: float | None
    units: int
    annotators: int
    level: Level


def agreement(responses: Iterable[Response]) -> Agreement:
    """Measures the agreement of annotators about comparisons (nominal), rankings (ordinal) or ratings (interval).

    Only the latest answer of an annotator to a query is used. "Cannot say" is a missing value.

    Raises:
      ValueError: the responses are of several kinds, or of one without such a measure.
      MissingExtraError: the package krippendorff is not installed.
    """
    last = latest(responses)
    kinds = {each.query.kind for each in last}
    if len(kinds) > 1 or not kinds <= _LEVELS.keys():
        raise ValueError(f"expected responses of one kind ({', '.join(_LEVELS)}), got {sorted(kinds)}; filter them")
    values = _table([(each.annotator, unit, value) for each in last for unit, value in _values(each)])
    level = _LEVELS[kinds.pop()] if kinds else "nominal"
    pairs = [first == second for unit in values.T for first, second in combinations(unit[~np.isnan(unit)], 2)]
    return Agreement(
        alpha=krippendorff_alpha(values, level),
        equal=float(np.mean(pairs)) if pairs else None,
        units=int(((~np.isnan(values)).sum(axis=0) >= 2).sum()),
        annotators=int((~np.isnan(values)).any(axis=1).sum()),
        level=level,
    )


def krippendorff_alpha(values: np.ndarray[Any, Any], level: Level) -> float | None:
    """Krippendorff's alpha, from the package krippendorff (its licence is GPL-3.0; see the extra `agreement`).

    Args:
      values: `[annotators, units]` numbers; NaN: no value.
      level: of measurement.

    Returns:
      A number of at most 1; None: undefined, because no unit has two values, or all used values are equal.

    Raises:
      MissingExtraError: the package is not installed.

    >>> krippendorff_alpha(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), "nominal")
    1.0
    """
    with needs("agreement"):
        import krippendorff
    table = np.asarray(values, np.float64)
    paired = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        return None
    found = float(krippendorff.alpha(reliability_data=paired, level_of_measurement=level))
    return None if math.isnan(found) else found


def _values(response: Response) -> list[tuple[tuple[str, int], float]]:
    """The values of a response, by query and place in it."""
    answer, name = response.answer, response.query.id.hex
    if isinstance(answer, Comparison):
        return [((name, 0), _CODES[answer.choice])] if answer.choice in _CODES else []
    if isinstance(answer, Rating):
        return [] if answer.value is None else [((name, 0), float(answer.value))]
    if isinstance(answer, Ranking):
        return [((name, place), float(rank)) for place, rank in enumerate(answer.ranks) if rank is not None]
    return []


def _table(values: list[tuple[str, tuple[str, int], float]]) -> np.ndarray[Any, Any]:
    """`[annotators, units]`, in sorted order; NaN where there is no value."""
    rows = {name: row for row, name in enumerate(sorted({each[0] for each in values}))}
    columns = {unit: column for column, unit in enumerate(sorted({each[1] for each in values}))}
    table = np.full((len(rows), len(columns)), np.nan)
    for annotator, unit, value in values:
        table[rows[annotator], columns[unit]] = value
    return table
