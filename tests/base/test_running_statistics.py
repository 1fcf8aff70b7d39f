"""Statistics of episodes from a stream of rows: masks, returns, lengths, and cuts of the stream that do not matter."""

import doctest
import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import running_statistics
from rlds_kit.base.running_statistics import EpisodeStatistics, Rows, gather_statistics

Episode = dict[str, Any]


@st.composite
def episodes(draw: st.DrawFn) -> list[Episode]:
    """Episodes of whole-number rewards, so that sums are exact, some with gaps."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    return [_episode(length, draw(st.integers(0, 2**32 - 1))) for length in lengths]


def _episode(length: int, seed: int) -> Episode:
    rng = np.random.default_rng(seed)
    return {
        "observation/position": rng.integers(-9, 9, (length, 2)),
        "action": rng.integers(0, 9, length),
        "reward": rng.integers(-9, 9, length).astype(np.float32),
        "step_index": np.cumsum(rng.choice([1, 1, 1, 3], length)) - 1,
        "observation_valid": np.arange(length) < length - rng.integers(0, 2),
    }


def _rows(several: Sequence[Episode]) -> Rows:
    number = np.repeat(np.arange(len(several)), [len(one["reward"]) for one in several])
    joined = {name: np.concatenate([one[name] for one in several]) for name in several[0]}
    index, valid = joined.pop("step_index"), joined.pop("observation_valid")
    return Rows(number, joined, index, valid)


def _cut(rows: Rows, at: list[int]) -> list[Rows]:
    """The same rows in parts, some of them empty."""
    ends = [0, *sorted(at), len(rows.episode)]
    parts = []
    for part in itertools.starmap(slice, itertools.pairwise(ends)):
        fields = {path: values[part] for path, values in rows.fields.items()}
        assert rows.step_index is not None
        assert rows.observation_valid is not None
        parts.append(Rows(rows.episode[part], fields, rows.step_index[part], rows.observation_valid[part]))
    return parts


def _taken(one: Episode) -> np.ndarray[Any, Any]:
    return np.append(np.diff(one["step_index"]) == 1, values=False)


def test_examples_of_docstrings() -> None:
    """Runs the examples of all docstrings."""
    assert doctest.testmod(running_statistics).failed == 0


@given(episodes())
def test_only_what_is_defined_counts(several: list[Episode]) -> None:
    """Actions and rewards of last steps and before gaps are left out, and observations that are not valid."""
    statistics = gather_statistics([_rows(several)])
    for path in ("action", "reward", "observation/position"):
        parts = [one[path][one["observation_valid"] if "/" in path else _taken(one)] for one in several]
        values = np.concatenate(parts).astype(np.float64)
        assert (statistics[path].count == len(values)).all()
        if len(values):
            np.testing.assert_allclose(statistics[path].mean, values.mean(0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(statistics[path].std, values.std(0), rtol=1e-12, atol=1e-12)


@given(episodes())
def test_returns_and_lengths(several: list[Episode]) -> None:
    """One number for each episode: the sum of its defined rewards, and its steps."""
    statistics = gather_statistics([_rows(several)])
    returns = [float(one["reward"][_taken(one)].sum()) for one in several]
    lengths = [len(one["reward"]) for one in several]
    for found, expected in ((statistics.returns["reward"], returns), (statistics.length, lengths)):
        assert [found.count, found.min, found.max] == [len(several), min(expected), max(expected)]
        assert found.mean == pytest.approx(np.mean(expected))
        assert found.quantile(0.5) == pytest.approx(np.median(expected))
    assert (statistics.episodes, statistics.steps) == (len(several), sum(lengths))


@given(episodes(), st.data())
def test_cuts_of_the_stream_do_not_matter(several: list[Episode], data: st.DataObject) -> None:
    """Parts may end anywhere, also within an episode and right before or after a gap."""
    rows = _rows(several)
    cuts = data.draw(st.lists(st.integers(0, len(rows.episode)), max_size=5))
    whole, in_parts = gather_statistics([rows]), gather_statistics(_cut(rows, cuts))
    _assert_close(in_parts, whole)


@given(episodes(), episodes())
def test_merging_gives_the_statistics_of_the_union(a: list[Episode], b: list[Episode]) -> None:
    """Of two sets of episodes."""
    merged = gather_statistics([_rows(a)]).merge(gather_statistics([_rows(b)]))
    _assert_close(merged, gather_statistics([_rows(a + b)]))


@given(episodes())
def test_json_keeps_every_bit(several: list[Episode]) -> None:
    """One line of strict JSON."""
    statistics = gather_statistics([_rows(several)])
    text = statistics.to_json()
    assert "\n" not in text
    assert EpisodeStatistics.from_json(text).to_json() == text


def test_rewards_by_agent_have_returns_by_agent() -> None:
    """And a return has the shape of a reward."""
    rows = Rows(np.zeros(3, int), {"reward/ann": np.ones((3, 2)), "reward/bob": np.zeros(3)})
    returns = gather_statistics([rows]).returns
    assert {path: one.mean.tolist() for path, one in returns.items()} == {"reward/ann": [2, 2], "reward/bob": 0}


def test_garbage_in_undefined_rewards_does_no_harm() -> None:
    """NaN on the last step is not part of the return."""
    rows = Rows(np.zeros(3, int), {"reward": np.array([1, 2, np.nan])})
    statistics = gather_statistics([rows])
    assert [statistics.returns["reward"].mean, statistics["reward"].nan_count] == [3, 0]


def test_large_fields_have_no_quantiles() -> None:
    """All but one of the parts may be masked: it is the shape that counts."""
    fields = {"observation": np.zeros((2, 300)), "action": np.zeros((2, 300)), "small": np.zeros((2, 256))}
    statistics = gather_statistics([Rows(np.arange(2), fields)])
    has_quantiles = {path: one.sketches is not None for path, one in statistics.fields.items()}
    assert has_quantiles == {"observation": False, "action": False, "small": True}


def test_no_steps_are_refused() -> None:
    """Without steps there are no statistics."""
    with pytest.raises(ValueError, match="expected episodes with steps"):
        gather_statistics([Rows(np.zeros(0, int), {"reward": np.zeros(0)})])


def test_fields_of_no_numbers_are_refused_by_name() -> None:
    """The message begins with the path."""
    with pytest.raises(TypeError, match=r"^observation/text: expected real numbers"):
        gather_statistics([Rows(np.zeros(1, int), {"observation/text": np.array(["a"])})])


def test_unknown_fields_are_refused_by_name() -> None:
    with pytest.raises(KeyError, match="no statistics of 'action', only of reward"):
        gather_statistics([Rows(np.zeros(1, int), {"reward": np.zeros(1)})])["action"]


def test_different_fields_do_not_merge() -> None:
    """The message names those that only one has; or the one whose shape differs."""
    one, other, third = (
        gather_statistics([Rows(np.zeros(1, int), fields)])
        for fields in ({"a": np.zeros(1)}, {"b": np.zeros(1)}, {"a": np.zeros((1, 2))})
    )
    with pytest.raises(ValueError, match="only one of the two has a, b"):
        one.merge(other)
    with pytest.raises(ValueError, match=r"^a: cannot merge"):
        one.merge(third)


@pytest.mark.parametrize("text", ['{"version": 2}', "{}", "[]"])
def test_json_of_another_version_is_refused(text: str) -> None:
    """The message says what to do."""
    with pytest.raises(ValueError, match="make them again"):
        EpisodeStatistics.from_json(text)


def _assert_close(actual: EpisodeStatistics, expected: EpisodeStatistics) -> None:
    """Equal up to rounding of means and squares."""
    _assert_close_json(json.loads(actual.to_json()), json.loads(expected.to_json()), "")


def _assert_close_json(actual: Any, expected: Any, path: str) -> None:
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), path
        for key, value in expected.items():
            _assert_close_json(actual[key], value, f"{path}/{key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), path
        for number, value in enumerate(expected):
            _assert_close_json(actual[number], value, f"{path}/{number}")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-11, abs=1e-11), path
    else:
        assert actual == expected, path
