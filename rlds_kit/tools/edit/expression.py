"""Conditions on episodes as text: a small part of Python's expressions, read with `ast` and never executed by Python.

There are literals, names, `metadata["key"]`, arithmetic on numbers, comparisons, `in`, `is None`, `and`, `or`, `not`.
There are no calls, no attributes, no powers, and nothing that grows without bounds.
"""

import ast
import io
import operator
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

MAX_LENGTH: Final = 2000
MAX_DEPTH: Final = 50
_RETURN: Final = "__return__"
"""Stands for `return`, which is a word of Python's own."""

_ARITHMETIC: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_COMPARISONS: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_NODES: Final = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.BinOp, ast.Compare, ast.Name, ast.Load),
    *(ast.Constant, ast.Tuple, ast.List, ast.Subscript, *_ARITHMETIC, *_COMPARISONS),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition with only the allowed expressions.

    Attributes:
      text: as it was given.
      names: that it uses.
      tree: its syntax tree.
    """

    text: str
    names: frozenset[str]
    tree: ast.expr

    def is_true(self, values: Mapping[str, Any]) -> bool:
        """Whether the condition is true for these values.

        Args:
          values: by name; those that are not in `names` are ignored.

        Raises:
          ValueError: it cannot be evaluated: it compares values that have no order, or its result is not true or false.
        """
        try:
            return _truth(_value(self.tree, values))
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ValueError(f"{self.text!r}: {error}") from error


def parse(text: str) -> Condition:
    """Parses a condition.

    Raises:
      ValueError: it is no expression, or has something that is not allowed.

    >>> parse("score > 10 and end == 'terminated'").is_true({"score": 12, "end": "terminated"})
    True
    >>> parse("return / length >= 0.5").names == {"return", "length"}
    True
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"expected a condition of at most {MAX_LENGTH} characters, got {len(text)}")
    try:
        tree = ast.parse(_without_keyword(text.strip()), mode="eval")
    except (SyntaxError, tokenize.TokenError, RecursionError, MemoryError, ValueError) as error:
        raise ValueError(f"{text!r}: expected a condition such as \"length > 20 and end == 'terminated'\"") from error
    _check(tree, text)
    names = {_name(node) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return Condition(text, frozenset(names), tree.body)


def _without_keyword(text: str) -> str:
    tokens = [
        (token.type, _RETURN if (token.type, token.string) == (tokenize.NAME, "return") else token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    ]
    return tokenize.untokenize(tokens).strip()


def _name(node: ast.Name) -> str:
    return "return" if node.id == _RETURN else node.id


def _check(tree: ast.Expression, text: str) -> None:
    """Raises an error for anything that is not in the list, and for trees that are nested too deeply."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        for node in level:
            if not isinstance(node, _NODES):
                raise ValueError(  # noqa: TRY004  the text is invalid, not its type
                    f"{text!r}: {type(node).__name__} is not allowed; there are literals, names, metadata['key'], "
                    "arithmetic, comparisons, in, and, or, not"
                )
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise ValueError(f"{text!r}: expected at most {MAX_DEPTH} expressions in one another")


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:  # metadata may have values of any type
    match node:
        case ast.Constant(value):
            return value
        case ast.Name():
            return values[_name(node)]
        case ast.Tuple(items) | ast.List(items):
            return [_value(item, values) for item in items]
        case ast.Subscript(container, key):
            return _item(_value(container, values), _value(key, values))
        case ast.UnaryOp(ast.Not(), operand):
            return not _truth(_value(operand, values))
        case ast.UnaryOp(sign, operand):
            return _ARITHMETIC[type(sign)](_number(_value(operand, values)))
        case ast.BinOp(left, sign, right):
            return _ARITHMETIC[type(sign)](_number(_value(left, values)), _number(_value(right, values)))
        case ast.BoolOp(ast.And(), operands):
            return all(_truth(_value(operand, values)) for operand in operands)
        case ast.BoolOp(ast.Or(), operands):
            return any(_truth(_value(operand, values)) for operand in operands)
        case ast.Compare(left, signs, others):
            return _compare(left, signs, others, values)
        case _:
            raise TypeError(f"{type(node).__name__} is not allowed")


def _compare(left: ast.expr, signs: list[ast.cmpop], others: list[ast.expr], values: Mapping[str, Any]) -> bool:
    one = _value(left, values)
    for sign, node in zip(signs, others, strict=True):
        other = _value(node, values)
        if isinstance(sign, ast.Is | ast.IsNot) and one is not None and other is not None:
            raise TypeError("`is` compares with None only; use == to compare values")
        if not _truth(_COMPARISONS[type(sign)](one, other)):
            return False
        one = other
    return True


def _item(container: Any, key: Any) -> Any:
    if not isinstance(container, dict | list | tuple | np.ndarray):
        raise TypeError(f"expected a dict or a list to look {key!r} up in, got {container!r}")
    return container[key]


def _number(value: Any) -> Any:
    """Only numbers are added and multiplied, because text could grow without bounds."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"expected a number, got {value!r}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"expected something that is true or false, got {value!r}")
    return bool(value)
