"""Steps as leaves: paths that cannot be confused, and nests that come back from them."""

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError, UnsupportedTypeError
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage.branch import Branch
from tests.storage import strategies
from tests.storage.truth import same


@given(strategies.keys)
def test_escape_is_undone(key: str) -> None:
    """Any key comes back from its path element, which has no slash and is never empty."""
    assert leaves.unescape(leaves.escape(key)) == key
    assert "/" not in leaves.escape(key)
    assert leaves.escape(key)


@given(strategies.keys, strategies.keys)
def test_different_keys_have_different_elements(one: str, other: str) -> None:
    """No two keys share a path."""
    assume(one != other)
    assert leaves.escape(one) != leaves.escape(other)


@given(st.lists(strategies.keys, max_size=4))
def test_a_path_is_its_elements(keys: list[str]) -> None:
    """Keys joined into a path come apart again."""
    path = "/".join(["field", *map(leaves.escape, keys)])
    assert [leaves.unescape(element) for element in leaves.elements(path)] == ["field", *keys]


def test_the_examples() -> None:
    assert doctest.testmod(leaves).failed == 0


@given(st.lists(strategies.keys, max_size=4), st.lists(strategies.keys, min_size=1, max_size=4))
def test_paths_are_below_others_by_their_elements(keys: list[str], others: list[str]) -> None:
    """Never by the beginning of a name."""
    whole = "/".join(map(leaves.escape, others))
    assert leaves.is_at_or_below("/".join(map(leaves.escape, (*others, *keys))), whole)
    assert not leaves.is_at_or_below(whole + "x", whole)


@pytest.mark.parametrize("key", ["(0)", "[0]", "(", "[x"])
def test_a_key_never_looks_like_an_element_of_a_tuple(key: str) -> None:
    """A dict that has the key "(0)" is not a tuple."""
    assert leaves.escape(key)[:2] == "~2"
    assert leaves.nest({leaves.escape(key): 1}) == {key: 1}


@pytest.mark.parametrize("key", ["\ud800", "a\udfffb"])
def test_a_key_that_is_no_utf_8_is_refused(key: str) -> None:
    """A path is UTF-8, so that every language can read it."""
    with pytest.raises(SpecError, match="lone surrogates"):
        leaves.escape(key)


def test_a_key_that_is_no_text_is_refused() -> None:
    """A field's name is text."""
    with pytest.raises(UnsupportedTypeError, match="a key"):
        leaves.escape(1)


_nests = st.recursive(
    strategies.python_scalars,
    lambda inner: st.dictionaries(strategies.keys, inner, min_size=1, max_size=3),
    max_leaves=8,
)


@given(_nests)
def test_a_nest_comes_back_from_its_leaves(nest: Any) -> None:
    """Dicts with text keys are taken apart and put together again."""
    found = {key.path: value for key, value in Branch("field").leaves(nest)}
    assert all(path == "field" or path.startswith("field/") for path in found)
    assert same(leaves.nest({path.removeprefix("field").removeprefix("/"): item for path, item in found.items()}), nest)


def test_a_declared_tuple_of_many_comes_back_in_order() -> None:
    """Element 10 comes after element 9."""
    spec = specs.Tuple((specs.Array((), np.int64),) * 12)
    found = {key.path: value for key, value in Branch("x", spec).leaves(tuple(range(12)))}
    assert list(found)[10] == "x/(10)"
    assert leaves.nest({path[2:]: item for path, item in reversed(found.items())}) == tuple(range(12))


@pytest.mark.parametrize("container", [[], (), {}, [1], (1,), {1: 2}, {"\ud800": 1}, {"a": {"b": 1}, 2: 3}])
def test_other_containers_are_one_leaf(container: object) -> None:
    """What a path cannot describe is stored whole."""
    ((key, _),) = Branch("x").leaves(container)
    assert (key.path, key.kind) == ("x", pb.TREE)


_values = st.one_of(
    _nests,
    st.integers(-(2**70), 2**70),
    st.sampled_from([np.float32(1), np.float64(1), np.zeros(2), np.zeros((1, 2)), np.zeros(2, ">f8"), np.bool_(True)]),
    st.sampled_from([{}, {"a": {}}, {"a": 1, 2: 3}, [1], None, np.str_("a"), True]),
)


@given(st.lists(_values, max_size=6))
def test_what_came_before_changes_nothing(nests: list[Any]) -> None:
    """A place remembers columns, and finds the same ones as one that has seen nothing yet."""
    branch = Branch("field")
    for nest in nests:
        found, fresh = branch.leaves(nest), Branch("field").leaves(nest)
        assert [key for key, _ in found] == [key for key, _ in fresh]
        assert all(one is other or one == other for (_, one), (_, other) in zip(found, fresh, strict=True))


def test_keys_may_be_others_at_every_step() -> None:
    """However many there are, each has its path."""
    branch = Branch("info")
    for number in [*range(5000), *range(10)]:
        (((path, *_), value),) = branch.leaves({f"key {number}": number})
        assert (path, value) == (f"info/key {number}", number)
