"""Anonymous ids of people and episodes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.accounts.anonymous import agent_id, episode_id

names = st.text(max_size=5)


@given(st.binary(min_size=1), names, names)
def test_r16_an_id_is_stable_within_a_study(secret: bytes, study: str, user: str) -> None:
    """The same person in the same study has the same id, of 32 hexadecimal digits."""
    assert agent_id(secret, study, user) == agent_id(secret, study, user)
    assert re.fullmatch("[0-9a-f]{32}", agent_id(secret, study, user))


@given(st.lists(st.tuples(names, names), unique=True, min_size=2, max_size=20))
def test_r16_ids_differ_across_studies_and_people(pairs: list[tuple[str, str]]) -> None:
    """No two pairs of study and person share an id, even if their joined texts are equal."""
    assert len({agent_id(b"secret", *pair) for pair in pairs}) == len(pairs)


@given(st.lists(st.tuples(names, names, st.integers(0, 99)), unique=True, min_size=2, max_size=20))
def test_r16_episodes_of_different_sessions_have_different_ids(places: list[tuple[str, str, int]]) -> None:
    """The first episodes of two sessions of one study do not share an id."""
    assert len({episode_id(b"secret", *place) for place in places}) == len(places)


def test_r16_without_the_secret_an_id_cannot_be_computed() -> None:
    """Another studio computes other ids for the same person and study; ids of people and episodes never coincide."""
    assert agent_id(b"one", "study", "ann") != agent_id(b"two", "study", "ann")
    assert episode_id(b"one", "study", "ann", 0) != agent_id(b"one", "study", "ann")
