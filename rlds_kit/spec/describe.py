"""Specs and values in the few words that an error message has room for."""

from collections.abc import Mapping

import numpy as np

from rlds_kit.spec.tree import Any, Array, Bytes, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Text, Tuple

MAX_CHARACTERS = 40
"""Most characters of a value that a message shows."""


def shape_text(shape: tuple[int | None, ...]) -> str:
    """A shape with `?` for what is unknown.

    >>> shape_text((None, 3)), shape_text((2,)), shape_text(())
    ('(?, 3)', '(2,)', '()')
    """
    return str(shape).replace("None", "?")


def describe_spec(spec: Spec) -> str:
    """Describes in words what a value of `spec` is.

    >>> describe_spec(Optional(Array((None, 3), np.uint8)))
    'uint8 (?, 3) or None'
    """
    match spec:
        case Array(shape, dtype):
            return f"{_dtype_text(dtype)} {shape_text(shape)}"
        case Text():
            return "str"
        case Bytes():
            return "bytes"
        case Dict(fields):
            return f"dict with {', '.join(fields)}" if fields else "empty dict"
        case Tuple(items):
            return f"tuple of {len(items)}"
        case List(items):
            return f"list of {len(items)}"
        case Sequence(element, stacked):
            return f"{'batch' if stacked else 'tuple'} of {describe_spec(element)}"
        case Optional(OneOf(())):
            return "None"
        case Optional(inner):
            return f"{describe_spec(inner)} or None"
        case OneOf(alternatives):
            return f"(index, value) with index below {len(alternatives)}"
        case Graph():
            return "graph (nodes, edges, edge_links)"
        case Any():
            return "any value"


def describe_value(value: object) -> str:
    """Describes in words what `value` is.

    >>> describe_value(np.zeros((84, 84), np.float32)), describe_value(np.int8(3)), describe_value([1])
    ('float32 (84, 84)', 'int8 scalar 3', 'list of 1')
    """
    if isinstance(value, np.ndarray):
        return f"{_dtype_text(value.dtype)} {value.shape}"
    if value is None:
        return "None"
    if isinstance(value, list | tuple | Mapping):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, np.generic):
        return _cut(f"{value.dtype.name} scalar {value}")
    if isinstance(value, bool | int | float | complex | str | bytes):
        return _cut(f"{type(value).__name__} {value!r}")
    return type(value).__qualname__


def _dtype_text(dtype: np.dtype[np.generic]) -> str:
    return dtype.name if dtype.isnative and dtype.kind not in "US" else dtype.str


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "..."
