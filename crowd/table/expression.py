"""Predicates of episodes in Python, which become SQL: `column("score") > 200`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

_PLAIN: Final = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Expression:
    """A predicate: SQL with its values apart.

    Combine with `&`, `|` and `~`.

    >>> both = (column("score") > 200) & ~(column("kind") == "test")
    >>> both.sql, both.values
    ('("score" > ? AND NOT ("kind" = ?))', (200, 'test'))
    """

    sql: str
    values: tuple[Any, ...] = ()  # text, numbers, bools

    def __and__(self, other: "Expression") -> "Expression":
        return Expression(f"({self.sql} AND {other.sql})", (*self.values, *other.values))

    def __or__(self, other: "Expression") -> "Expression":
        return Expression(f"({self.sql} OR {other.sql})", (*self.values, *other.values))

    def __invert__(self) -> "Expression":
        return Expression(f"NOT ({self.sql})", self.values)

    def __bool__(self) -> bool:
        raise TypeError("expected &, | and ~ between predicates, in place of and, or, not and chains of comparisons")


class Column:
    """A column in predicates; compare it with a value."""

    def __init__(self, name: str) -> None:
        if not name.isidentifier():
            raise ValueError(f"a column: expected letters, digits and _, got {name!r}")
        self.name = name

    __hash__ = None  # type: ignore[assignment]  # == makes a predicate

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]  # a predicate, not a bool
        return self._is_null("IS") if value is None else self._compare("=", value)

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]  # a predicate, not a bool
        return self._is_null("IS NOT") if value is None else self._compare("!=", value)

    def __lt__(self, value: object) -> Expression:
        return self._compare("<", value)

    def __le__(self, value: object) -> Expression:
        return self._compare("<=", value)

    def __gt__(self, value: object) -> Expression:
        return self._compare(">", value)

    def __ge__(self, value: object) -> Expression:
        return self._compare(">=", value)

    def is_in(self, values: Sequence[object]) -> Expression:
        """Whether it is one of these."""
        for each in values:
            self._require_plain(each)
        return Expression(f'"{self.name}" IN ({", ".join("?" * len(values))})', tuple(values))

    def _compare(self, operator: str, value: object) -> Expression:
        self._require_plain(value)
        return Expression(f'"{self.name}" {operator} ?', (value,))

    def _is_null(self, operator: str) -> Expression:
        return Expression(f'"{self.name}" {operator} NULL')

    def _require_plain(self, value: object) -> None:
        if not isinstance(value, _PLAIN):
            raise TypeError(f"{self.name}: expected text, a number or a bool to compare with, got {value!r}")


def column(name: str) -> Column:
    """A column in predicates.

    >>> (column("length") >= 10).sql
    '"length" >= ?'
    """
    return Column(name)
