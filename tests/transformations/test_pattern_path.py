"""Paths through nested steps."""

from typing import Any

import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.transformations.pattern_path import leaves, map_paths, place_of

nests = st.recursive(
    st.integers(),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(nests)
def test_leaves_have_the_order_of_tensorflow(nest: Any) -> None:
    """So that both can be used on the same nest."""
    assert leaves(nest) == tf.nest.flatten(nest)


@given(nests)
def test_paths_lead_to_their_leaves(nest: Any) -> None:
    """The place is an expression that gives the leaf."""
    places = map_paths(place_of, nest)
    found = [eval(place, {"step": nest}) for place in leaves(places)]  # noqa: S307  made from keys just above
    assert found == leaves(nest)
