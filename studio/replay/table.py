"""The table of episodes: filters, sorting, and pages."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.episode.episode import Episode
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.replay.bodies import whole_number
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.rows import Rows, ending

MOST_ROWS: Final = 200
"""Maximum rows of a page."""
_FILTERS: Final = ("tag", "end", "text", "shortest", "longest")
_QUERY: Final = {*_FILTERS, "page", "size", "sort", "order"}
Numbered = tuple[int, Episode]


class Table:
    """Makes pages of the episodes of a collection. Safe to use from several threads."""

    def __init__(self, collection: Collection) -> None:
        self._collection, self._rows = collection, Rows()
        self._keys: Mapping[str, Callable[[Numbered], Any]] = {
            "number": lambda pair: pair[0],
            "length": lambda pair: pair[1].length,
            "end": lambda pair: ending(pair[1]),
            "return": lambda pair: self._rows.total(pair[1]),
            "seconds": lambda pair: _or_least(self._rows.seconds(pair[1])),
            "started": lambda pair: self._rows.origin(pair[1]).started,
            "environment": lambda pair: self._rows.origin(pair[1]).environment,
        }

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """A page of the episodes that match the filters, as JSON.

        Args:
          query: `page` from 0, `size` (at most 200), `sort` (number, length, end, return, seconds, started,
            environment), `order` (asc, desc), and the filters `tag`, `end`, `text` (in environment, id or tags),
            `shortest` and `longest` (steps).

        Returns:
          `episodes` (of each `number`, `id`, `length`, `end`, `started`, `environment`, `return`, `seconds`, `tags`),
          `total` (that match the filters), `all`, `page`, `size`, and `tags` (all labels in the collection).

        Raises:
          ApiError: one of these is invalid.
        """
        _require_known(query)
        size, page = whole_number(query, "size", 50, 1, MOST_ROWS), whole_number(query, "page", 0, 0, 2**31)
        key = self._keys[_one_of(query, "sort", self._keys)]
        is_descending = _one_of(query, "order", ("asc", "desc")) == "desc"
        dataset, tags = self._collection.dataset, self._collection.labels()
        wanted = _wanted(query)
        chosen = [
            pair for pair in enumerate(dataset.episodes) if self._fits(pair[1], wanted, tags.get(pair[1].id, set()))
        ]
        if key is not self._keys["number"] or is_descending:
            chosen.sort(key=key, reverse=is_descending)
        shown = chosen[page * size : (page + 1) * size]
        return {
            "episodes": [self._rows.row(*pair, tags.get(pair[1].id, set())) for pair in shown],
            "total": len(chosen),
            "all": len(dataset.episodes),
            "page": page,
            "size": size,
            "tags": sorted(set().union(*tags.values())),
        }

    def _fits(self, episode: Episode, wanted: "_Wanted", tags: set[str]) -> bool:
        """Whether an episode matches all filters; those that read data come last."""
        return (
            wanted.shortest <= episode.length <= wanted.longest
            and (not wanted.tag or wanted.tag in tags)
            and (not wanted.end or ending(episode) == wanted.end)
            and (not wanted.text or self._has(episode, wanted.text, tags))
        )

    def _has(self, episode: Episode, text: str, tags: set[str]) -> bool:
        places = (str(episode.id), *tags, self._rows.origin(episode).environment)
        return any(text in each.casefold() for each in places)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The filters; empty ones match everything."""

    tag: str
    end: str
    text: str
    shortest: int
    longest: int


def _wanted(query: Mapping[str, str]) -> _Wanted:
    tag, end, text = (query.get(name, "") for name in ("tag", "end", "text"))
    shortest, longest = whole_number(query, "shortest", 0, 0, 2**63), whole_number(query, "longest", 2**63, 0, 2**63)
    return _Wanted(tag, end, text.casefold(), shortest, longest)


def _or_least(seconds: float | None) -> float:
    return -math.inf if seconds is None else seconds


def _require_known(query: Mapping[str, str]) -> None:
    unknown = sorted(set(query) - _QUERY)
    if unknown:
        raise ApiError(400, "malformed", f"expected some of {', '.join(sorted(_QUERY))}", unknown[0])


def _one_of(query: Mapping[str, str], name: str, known: Any) -> str:
    """One of the allowed words; the first is the default."""
    words = tuple(known)
    given = query.get(name) or words[0]
    if given not in words:
        raise ApiError(400, "malformed", f"expected one of {', '.join(words)}, got {given[:40]!r}", name)
    return str(given)
