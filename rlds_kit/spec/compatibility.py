"""Whether a second writer may append to a dataset."""

from collections.abc import Callable

from rlds_kit.spec.describe import describe_spec
from rlds_kit.spec.fit import fits_shape
from rlds_kit.spec.problem import Problem, ProblemKind, at_entry, at_item, at_key
from rlds_kit.spec.tree import Any, Array, Dict, Graph, List, OneOf, Optional, Sequence, Spec, Tuple


def compatible(old: Spec, new: Spec, place: str = "") -> list[Problem]:
    """Lists why a writer with spec `new` may not append to a dataset with spec `old`; empty when it may.

    Structure, dtype and shape must be the same, except that where `old` is wider (an unknown length, `Optional`,
    `Any`) `new` may be narrower. Names and bounds may differ.

    >>> for problem in compatible(Array((), "float64"), Array((), "float32"), "reward"):
    ...     print(problem)
    reward: the dataset has float64 (), this writer has float32 ()
    """
    if isinstance(old, Any) or new == OneOf(()):  # nothing fits the latter, so nothing can go wrong
        return []
    if isinstance(old, Optional):
        return compatible(old.spec, new.spec if isinstance(new, Optional) else new, place) if old != new else []
    if type(old) is not type(new):
        return [_differs(old, new, place)]
    return _same_kind(old, new, place)


def _same_kind(old: Spec, new: Spec, place: str) -> list[Problem]:
    match old, new:
        case Array(), Array():
            if old.dtype == new.dtype and fits_shape(new.shape, old.shape):
                return []
            return [_differs(old, new, place, "shape" if old.dtype == new.dtype else "dtype")]
        case Dict(), Dict():
            return _dicts(old, new, place)
        case Tuple(), Tuple():
            return _items(old, new, old.items, new.items, place, at_item)
        case List(), List():
            return _items(old, new, old.items, new.items, place, at_entry)
        case OneOf(), OneOf():
            return _items(old, new, old.alternatives, new.alternatives, place, at_item)
        case Sequence(), Sequence() if old.stacked == new.stacked:
            return compatible(old.element, new.element, at_item(place, 0))
        case Graph(), Graph() if (old.edge is None) == (new.edge is None):
            edges = compatible(old.edge, new.edge, at_item(place, 1)) if old.edge and new.edge else []
            return compatible(old.node, new.node, at_item(place, 0)) + edges
        case ((Sequence() | Graph()), _):
            return [_differs(old, new, place)]
        case _:
            return []


def _dicts(old: Dict, new: Dict, place: str) -> list[Problem]:
    found: list[Problem] = []
    for key, field in old.fields.items():
        if key in new.fields:
            found += compatible(field, new.fields[key], at_key(place, key))
        elif not isinstance(field, Optional | Any):
            message = f"the dataset has {describe_spec(field)}, this writer does not have the field"
            found.append(Problem(at_key(place, key), message, "missing"))
    for key in new.fields.keys() - old.fields.keys():
        message = f"this writer has {describe_spec(new.fields[key])}, the dataset does not have the field"
        found.append(Problem(at_key(place, key), message, "unexpected"))
    return found


def _items(
    old: Spec, new: Spec, olds: tuple[Spec, ...], news: tuple[Spec, ...], place: str, at: Callable[[str, int], str]
) -> list[Problem]:
    if len(olds) != len(news):
        return [_differs(old, new, place, "length")]
    pairs = enumerate(zip(olds, news, strict=True))
    return [problem for index, (one, other) in pairs for problem in compatible(one, other, at(place, index))]


def _differs(old: Spec, new: Spec, place: str, kind: ProblemKind = "type") -> Problem:
    return Problem(place, f"the dataset has {describe_spec(old)}, this writer has {describe_spec(new)}", kind)
