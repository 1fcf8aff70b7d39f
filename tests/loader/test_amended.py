"""Views with amendments: amended episodes have amended values, others recorded ones, however steps are read."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers, logger
from rlds_kit import spec as specs
from rlds_kit.storage import located
from tests.loader.recording import numbered

LENGTHS: Final = (9, 5, 12, 7)
"""Two shards of two episodes; the reward of each step is a number of the dataset."""
SUBSETS: Final = [each for size in range(5) for each in itertools.combinations(range(4), size)]


def amended(directory: Path, chosen: Sequence[int]) -> rlds_kit.Dataset:
    """A view in which the rewards of some episodes are negative."""
    dataset = numbered(directory, LENGTHS)
    for number in chosen:
        episode = dataset.episodes[number]
        rewards = -1.0 - np.arange(len(episode) - 1)
        dataset.annotate("model", [layers.rewards(episode, rewards)], source="critic")
    dataset.annotate("tags", [layers.tag(dataset.episodes[0], "first")], source="critic")
    return rlds_kit.open(directory).as_amended()


def rewards_of(batches: Any) -> dict[tuple[int, int], float]:
    """By episode and step."""
    found: dict[tuple[int, int], float] = {}
    for batch in batches:
        keys = zip(batch["episode"].tolist(), batch["step"].tolist(), strict=True)
        found.update(zip(keys, batch["reward"].tolist(), strict=True))
    return found


@pytest.mark.parametrize("chosen", SUBSETS)
def test_every_way_reads_the_amended_values(tmp_path: Path, chosen: tuple[int, ...]) -> None:
    """Also if some episodes of a shard are amended and others are not, and in views of some episodes."""
    dataset = amended(tmp_path, chosen)
    for view in (dataset, dataset.take([3, 1, 0]), dataset.select("observation", "action", "reward")):
        episodes = [np.asarray(episode["reward"]) for episode in view.episodes]
        truth = {
            (number, step): float(reward)
            for number, rewards in enumerate(episodes)
            for step, reward in enumerate(rewards[:-1])
        }
        is_negative = [bool((rewards < 0).any()) for rewards in episodes]
        assert sum(is_negative) == len({*chosen} & ({3, 1, 0} if len(episodes) == 3 else {0, 1, 2, 3}))
        samples = view.transitions()
        assert rewards_of([samples.gather(range(len(samples)))]) == truth
        for shuffle in (None, "blocks", "global"):
            assert rewards_of(samples.batches(4, shuffle=shuffle)) == truth
        np.testing.assert_array_equal(view.arrays()["reward"], np.concatenate(episodes))


def test_a_dict_amended_as_a_whole_has_its_new_keys(tmp_path: Path) -> None:
    """In the spec and in windows; a key that is missing in amended steps is optional there."""
    with logger.EpisodeWriter(tmp_path) as writer:
        writer.write(np.zeros(4), np.zeros(3), np.zeros(3), infos={"x": np.arange(4.0)}, terminated=True)
    dataset = rlds_kit.open(tmp_path)
    dataset.annotate(
        "model", [layers.amendment(dataset.episodes[0], "info", {"y": 5.0}, steps=range(1, 3))], source="x"
    )
    view = rlds_kit.open(tmp_path).as_amended()
    info = view.spec.fields["info"]
    assert isinstance(info, specs.Dict)
    assert {name: type(each) for name, each in info.fields.items()} == {"x": specs.Optional, "y": specs.Optional}
    window = view.select("info").windows(4)[0]["info"]
    assert {name: [*values] for name, values in window.items()} == {"x": [0, None, None, 3], "y": [None, 5, 5, None]}
    assert [step["info"] for step in view.episodes[0].steps] == [{"x": 0}, {"y": 5}, {"y": 5}, {"x": 3}]


@pytest.mark.skipif(located.native is None, reason="the C extension is left out")
def test_a_global_shuffle_with_amended_episodes_uses_pools(tmp_path: Path) -> None:
    """Unless all columns fit into the cache: every batch would have episodes that only pools can read."""
    dataset = numbered(tmp_path, LENGTHS, shades=16)
    assert dataset.windows(1).random_access(2048) is not None
    dataset.annotate("model", [layers.rewards(dataset.episodes[1], np.zeros(4))], source="critic")
    for view, is_pooled in ((rlds_kit.open(tmp_path), False), (rlds_kit.open(tmp_path).as_amended(), True)):
        assert (view.windows(1).random_access(2048) is None) == is_pooled
        assert view.windows(1).random_access(1 << 20) is not None
