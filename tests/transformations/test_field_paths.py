"""Paths of fields in nests."""

from typing import Any, NamedTuple

import pytest

from rlds_kit.transformations.fields import leaves, paths_of, with_leaves


class Pair(NamedTuple):
    """A tuple with names."""

    left: Any
    right: Any


TREE = {"b": {"y": 1, "x": (2, 3)}, "a": Pair(4, {"z": 5})}


def test_every_leaf_has_its_path() -> None:
    """Keys of dicts and numbers in tuples, joined by slashes."""
    assert leaves(TREE) == {"a/0": 4, "a/1/z": 5, "b/x/0": 2, "b/x/1": 3, "b/y": 1}


def test_replacing_leaves_keeps_the_rest_and_the_structure() -> None:
    """Nothing that was given is changed."""
    assert with_leaves(TREE, {"a/0": 9, "b/y": 8}) == {"b": {"y": 8, "x": (2, 3)}, "a": Pair(9, {"z": 5})}
    assert leaves(TREE)["a/0"] == 4


def test_fields_are_leaves_or_what_is_nested_in_them() -> None:
    """Each once, in the order of the fields; a common beginning of names is not nesting."""
    known = ["ab", "a/x", "a/y"]
    assert paths_of(known, ["ab", "a", "a/x"]) == ["ab", "a/x", "a/y"]


def test_unknown_fields_and_single_strings_are_refused() -> None:
    """A string is a sequence of strings too, and never meant as one."""
    with pytest.raises(ValueError, match="no field 'b'; there are a"):
        paths_of(["a"], ["b"])
    with pytest.raises(TypeError, match=r"write \['a'\]"):
        paths_of(["a"], "a")
