"""Reads tables of TOML field by field, and notes everything that is wrong with them."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

_MISSING: Final = object()
T = TypeVar("T")


class CrowdError(ValueError):
    """A file that declares a crowd has mistakes; the message lists all of them.

    Attributes:
      problems: one text for each, with the place of the field first.

    >>> CrowdError("crowd.toml", ["name: expected text, got 3"]).problems
    ('name: expected text, got 3',)
    """

    def __init__(self, place: str, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{place}: {len(problems)} to correct\n" + "\n".join(f"  {each}" for each in problems))


class Table:
    """A table, and the problems that were found.

    Args:
      values: of the table.
      place: of the table in the file, such as `tasks.pair`; empty: the whole file.
      problems: where problems are noted; shared by all tables of a file.
    """

    def __init__(self, values: Mapping[str, Any], place: str, problems: list[str]) -> None:
        self._values, self._place, self.problems = values, place, problems
        self._read: set[str] = set()

    def at(self, name: str) -> str:
        """The place of a field in the file."""
        return f"{self._place}.{name}" if self._place else name

    def wrong(self, name: str, expected: str) -> None:
        """Notes that a field is not what was expected."""
        got = repr(self._values[name]) if name in self._values else "nothing"
        self.problems.append(f"{self.at(name)}: expected {expected}, got {got}")

    def _take(self, name: str, kind: type[T] | tuple[type, ...], expected: str, default: Any) -> Any:
        self._read.add(name)
        if name not in self._values:
            if default is _MISSING:
                self.wrong(name, expected)
            return None if default is _MISSING else default
        found = self._values[name]
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            self.wrong(name, expected)
            return None if default is _MISSING else default
        return found

    def text(self, name: str, default: Any = _MISSING) -> str:
        """Text; empty where it is wrong."""
        return self._take(name, str, "text", default) or ""

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        return bool(self._take(name, bool, "true or false", default))

    def number(self, name: str, default: Any = _MISSING, *, least: float = 0.0) -> float:
        """A number, not below `least`."""
        expected = f"a number, {least:g} or more"
        found = self._take(name, (int, float), expected, default)
        if found is not None and not (math.isfinite(found) and found >= least) and name in self._values:
            self.wrong(name, expected)
            return least
        return least if found is None else float(found)

    def integer(self, name: str, default: Any = _MISSING, *, least: int = 0) -> int:
        """A whole number, not below `least`."""
        expected = f"a whole number, {least} or more"
        found = self._take(name, int, expected, default)
        if found is not None and found < least and name in self._values:
            self.wrong(name, expected)
            return least
        return least if found is None else int(found)

    def choice(self, name: str, options: tuple[str, ...], default: Any = _MISSING) -> str:
        """One of some texts; the first where it is wrong."""
        expected = f"one of {', '.join(options)}"
        found = self._take(name, str, expected, default)
        if found is not None and found not in options:
            self.wrong(name, expected)
        return found if found in options else options[0]

    def texts(self, name: str, default: tuple[str, ...] | Any = ()) -> tuple[str, ...]:
        """A list of texts."""
        found = self._take(name, list, "a list of texts", list(default) if default is not _MISSING else default) or []
        if not all(isinstance(each, str) for each in found):
            self.wrong(name, "a list of texts")
            return ()
        return tuple(found)

    def table(self, name: str) -> "Table":
        """A table; empty if it is not there."""
        return Table(self._take(name, dict, "a table", {}) or {}, self.at(name), self.problems)

    def has(self, name: str) -> bool:
        """Whether a field is there."""
        return name in self._values

    def tables(self, name: str) -> "Iterator[tuple[str, Table]]":
        """The tables of a table, with their names."""
        below = self._take(name, dict, "tables", {}) or {}
        for key, values in below.items():
            if isinstance(values, dict):
                yield key, Table(values, f"{self.at(name)}.{key}", self.problems)
            else:
                self.problems.append(f"{self.at(name)}.{key}: expected a table, got {values!r}")

    def rows(self, name: str) -> "Iterator[Table]":
        """The tables of a list."""
        below = self._take(name, list, "a list of tables", []) or []
        for number, values in enumerate(below, 1):
            place = f"{self.at(name)}[{number}]"
            if isinstance(values, dict):
                yield Table(values, place, self.problems)
            else:
                self.problems.append(f"{place}: expected a table, got {values!r}")

    def value(self, name: str) -> Any:
        """Whatever a field has; None if it is not there."""
        self._read.add(name)
        return self._values.get(name)

    def no_more(self) -> None:
        """Notes the fields that were not read: misspelt names."""
        known = ", ".join(sorted(self._read))
        for name in self._values.keys() - self._read:
            self.problems.append(f"{self.at(name)}: there is no such field; fields are {known}")
