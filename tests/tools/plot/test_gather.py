"""`gather`: what is read of a dataset, and what is not."""

import random
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.progress import Meter
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.plot.gather import ELEMENTS, Gathered, Place, gather
from rlds_kit.tools.upkeep.statistics import statistics, summary
from rlds_kit.tools.upkeep.survey import survey
from tests.tools.plot.recording import record, record_actions, record_rewards
from tests.tools.upkeep import mending


def gathered(directory: Path) -> Gathered:
    """What is read of the dataset in a directory."""
    return gather(rlds_kit.open(directory), Meter(None, 0))


def numbers(found: Gathered) -> dict[str, dict[float, int]]:
    """How often which number was met, by place."""
    tallies = {str(place): tally.cells() for place, tally in found.numbers.items()}
    return {name: dict(zip(*(part.tolist() for part in cells), strict=True)) for name, cells in tallies.items()}


def test_returns_are_those_of_the_statistics(tmp_path: Path) -> None:
    """The same numbers as `rlds-kit stats` shows, for every kind of ending."""
    directory = mending.record(tmp_path / "d", lengths=(9, 13, 1, 6))
    found, expected = gathered(directory), statistics(directory)
    assert summary(found.returns["reward"]) == pytest.approx(expected.returns["reward"])
    assert summary(found.lengths) == expected.length


def test_undefined_actions_do_not_count(tmp_path: Path) -> None:
    """The zeros of last steps and gaps are not counted as actions; the mask of the episode gives the number."""
    with Recorder(tmp_path / "d", mending.DECLARED) as recorder:
        rng, episode = random.Random(0), recorder.start_episode()
        for step in range(12):
            is_gap = step in {0, 4, 5}
            acted = {"action": step + 7, "reward": 1.0, "discount": np.float32(1)}
            episode.append(mending.observed(rng, step), None if is_gap else acted)
        episode.end(rlds_kit.EpisodeEnd.TERMINATED)
    found = gathered(tmp_path / "d")
    (recorded,) = rlds_kit.open(tmp_path / "d").episodes
    assert np.array_equal(sorted(numbers(found)["action"]), recorded["action"][recorded.mask("action")])
    assert found.returns["reward"].tolist() == [9.0]
    assert found.lengths == [12]


def test_episode_without_rewards_has_no_return(tmp_path: Path) -> None:
    """It is not the same as a return of zero."""
    found = gathered(record_rewards(tmp_path / "d", [], [0.0], [None, None], [None, 2.5]))
    assert found.returns["reward"].tolist() == [0.0, 2.5]
    assert found.lengths == [1, 2, 3, 3]


def test_each_agent_has_returns(tmp_path: Path) -> None:
    """Agents may come and go."""
    found = gathered(record_rewards(tmp_path / "d", [{"a": 1.0, "b": 2.0}, {"a": 3.0}], [{"a": 5}]))
    assert {path: each.tolist() for path, each in found.returns.items()} == {"reward/a": [4.0, 5.0], "reward/b": [2.0]}


def test_infinite_rewards_make_infinite_returns(tmp_path: Path) -> None:
    """And of both signs together NaN, without a warning."""
    found = gathered(record_rewards(tmp_path / "d", [np.inf, 1.0], [np.inf] * 4 + [-np.inf] * 4))
    assert np.array_equal(found.returns["reward"], [np.inf, np.nan], equal_nan=True)


def test_elements_of_arrays_are_counted_each_by_itself(tmp_path: Path) -> None:
    found = gathered(record_actions(tmp_path / "d", np.array([1, 2]), np.array([3.5, 2], np.float32)))
    assert numbers(found) == {"action[0]": {1: 1, 3.5: 1}, "action[1]": {2: 2}}


def test_leaves_of_nests_are_counted_each_by_itself(tmp_path: Path) -> None:
    """Dicts by key, declared tuples by position."""
    spec = specs.Dict({"arm": specs.Array((1, 2), np.float32), "pair": specs.Tuple((specs.Text(), specs.Any()))})
    action = {"arm": np.ones((1, 2), np.float32), "pair": ("left", True)}
    found = gathered(record_actions(tmp_path / "d", action, action, spec=spec))
    assert numbers(found) == {"action/arm[0, 0]": {1: 2}, "action/arm[0, 1]": {1: 2}, "action/pair/(1)": {1: 2}}
    assert {path: dict(each.counts) for path, each in found.texts.items()} == {"action/pair/(0)": {"left": 2}}


ANY_LENGTH = specs.Array((None,), np.int64)


@pytest.mark.parametrize("spec", [ANY_LENGTH, specs.Optional(ANY_LENGTH), None])
def test_arrays_of_changing_shape_are_counted_together(tmp_path: Path, spec: specs.Spec | None) -> None:
    """Also in blocks where they happen to have the same one."""
    lengths = (1, 1, 1, 1, 2, 3, 0)
    found = gathered(record_actions(tmp_path / "d", *(np.full(length, 7) for length in lengths), spec=spec))
    assert numbers(found) == {"action[...]": {7: 9}}


def test_arrays_of_changing_shape_may_be_in_a_nest_that_may_be_none(tmp_path: Path) -> None:
    """Their spec is found there too."""
    spec = specs.Optional(specs.Dict({"way": ANY_LENGTH}))
    actions = ({"way": np.full(length, 7)} for length in (1, 1, 1, 1, 2))
    found = gathered(record_actions(tmp_path / "d", *actions, None, spec=spec))
    assert numbers(found) == {"action/way[...]": {7: 6}}


def test_only_the_first_elements_of_large_arrays_are_counted(tmp_path: Path) -> None:
    """Their number is reported."""
    found = gathered(record_actions(tmp_path / "d", np.arange(30).reshape(5, 6)))
    assert len(found.numbers) == ELEMENTS
    assert numbers(found)["action[2, 3]"] == {15: 1}
    assert found.not_drawn == {"action": "action (all but 16 of 30 elements)"}


def test_action_that_is_none_does_not_count(tmp_path: Path) -> None:
    """None is not zero; if a nest may be None, its leaves keep their paths."""
    spec = specs.Optional(specs.Dict({"jump": specs.Array((), np.int64)}))
    found = gathered(record_actions(tmp_path / "d", None, {"jump": np.int64(2)}, None, spec=spec))
    assert numbers(found) == {"action/jump": {2: 1}}
    assert found.not_drawn == {}


def test_what_cannot_be_counted_is_named(tmp_path: Path) -> None:
    actions = {"a": b"raw", "b": 2j, "c": [1, 2], "d": np.array(["x"])}
    found = gathered(record(tmp_path / "d", [[(actions, np.ones(2))]]))
    assert list(found.not_drawn.values()) == [
        "action/a (bytes)",
        "action/b (complex128)",
        "action/c (containers)",
        "action/d (str32)",
        "reward (several numbers a step)",
    ]
    assert not found.numbers
    assert not found.returns


def test_numbers_beyond_any_axis_are_outliers(tmp_path: Path) -> None:
    """NaN, infinity and integers of hundreds of digits."""
    found = gathered(record_actions(tmp_path / "d", 1, 10**200, np.nan, -np.inf))
    assert found.numbers[Place("action")].cells()[0].tolist() == [1]
    assert found.numbers[Place("action")].outliers == 3


def test_bfloat16_is_a_number(tmp_path: Path) -> None:
    """NumPy itself does not know it."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    found = gathered(record_actions(tmp_path / "d", np.array([0.5], ml_dtypes.bfloat16)))
    assert numbers(found) == {"action[0]": {0.5: 1}}


def test_views_are_read_as_they_are(tmp_path: Path) -> None:
    """Episodes that were not chosen and fields that were not selected do not count."""
    dataset = rlds_kit.open(mending.record(tmp_path / "d", lengths=(9, 13, 1, 6)))
    view = dataset.where(lambda metadata: metadata["number"] % 2 == 0).select("reward")
    found = gather(view, Meter(None, 0))
    assert found.lengths == [9, 1]
    assert len(found.returns["reward"]) == 1
    assert not found.numbers


@pytest.mark.parametrize("field", ["reward", "action"])
def test_damage_is_an_error(tmp_path: Path, field: str) -> None:
    """A histogram that lacks a value would be wrong."""
    directory = mending.record(tmp_path / "d")
    (first, *_) = survey(ShardFile(mending.shard(directory))).episodes.values()
    mending.damage_column(mending.shard(directory), first.blocks[1], field)
    with pytest.raises(rlds_kit.DamagedError, match=field):
        gathered(directory)


def test_damage_elsewhere_does_not_matter(tmp_path: Path) -> None:
    """Nothing but rewards and actions is read."""
    directory = mending.record(tmp_path / "d")
    expected = numbers(gathered(directory))
    (first, *_) = survey(ShardFile(mending.shard(directory))).episodes.values()
    mending.damage_column(mending.shard(directory), first.blocks[1], "observation/pixels")
    assert numbers(gathered(directory)) == expected


def test_progress_ends_with_all_bytes(tmp_path: Path) -> None:
    """It never goes back, and an episode counts for its share of the steps."""
    directory = mending.record(tmp_path / "d", lengths=(10, 30))
    size, seen = mending.shard(directory).stat().st_size, []
    gather(rlds_kit.open(directory), Meter(lambda done, total: seen.append((done, total)), size))
    assert seen == [(size // 4, size), (size, size), (size, size)]
