"""Nests of values that a file has by path."""

from collections.abc import Mapping
from typing import Any


def unflattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """A nest from names that are paths with slashes.

    Raises:
      ValueError: a path of a value is also a prefix of other paths.

    >>> unflattened({"a/b": 1, "a/c": 2})
    {'a': {'b': 1, 'c': 2}}
    """
    nest: dict[str, Any] = {}
    for path, value in values.items():
        *groups, own = path.split("/")
        inner = nest
        for group in groups:
            below = inner.setdefault(group, {})
            if not isinstance(below, dict):
                raise ValueError(f"expected values by name, got {group} and {path}")  # noqa: TRY004  a bad file
            inner = below
        if own in inner:
            raise ValueError(f"expected values by name, got {path} and others below it")
        inner[own] = value
    return nest
