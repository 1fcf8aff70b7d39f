"""D4RL's layout: where episodes end, and which observation is their last one."""

import copy
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base.errors import FormatError
from rlds_kit.convert.arrays import ArraysReader
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.episode_content import content_of

Arrays = dict[str, Any]


def rollouts(*ends: tuple[int, str]) -> tuple[Arrays, list[np.ndarray]]:
    """Arrays of episodes of these lengths and ends, and the observations that each really had."""
    truth: list[np.ndarray] = []
    parts: list[Arrays] = []
    for number, (actions, end) in enumerate(ends):
        seen = (100 * number + np.arange(actions + 1, dtype=np.float32))[:, np.newaxis] * np.ones(2, np.float32)
        truth.append(seen)
        last = np.arange(actions) == actions - 1
        parts.append(
            {
                "observations": seen[:-1],
                "next_observations": seen[1:],
                "actions": np.arange(actions, dtype=np.int32) + 10 * number,
                "rewards": np.arange(actions, dtype=np.float32) / 4,
                "terminals": last & (end == "terminal"),
                "timeouts": last & (end == "timeout"),
                "infos/qpos": seen[:-1] * 2,
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, truth


ENDS = ((3, "terminal"), (2, "timeout"), (4, "terminal"), (1, "timeout"), (2, "nothing"))
NAMES = [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED]


def store(path: Path, arrays: Arrays) -> Path:
    """Writes a file in the format of its suffix."""
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays)
    else:
        with h5py.File(path, "w") as file:
            for name, each in arrays.items():
                file.create_dataset(name, data=each)
    return path


@pytest.fixture(params=["d4rl.hdf5", "d4rl.npz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of either kind."""
    return tmp_path / str(request.param)


def test_final_observation_is_the_next_one_of_the_episodes_own_last_row(path: Path, tmp_path: Path) -> None:
    """Not that of the whole file, as where D4RL was made into RLDS before."""
    arrays, truth = rollouts(*ENDS)
    convert(store(path, arrays), tmp_path / "ours")
    episodes = rlds_kit.open(tmp_path / "ours").episodes
    for episode, seen in zip(episodes, truth, strict=True):
        np.testing.assert_array_equal(episode["observation"], seen)
        assert episode.mask("observation").all()
    assert [episode.end for episode in episodes] == [*NAMES, EpisodeEnd.INTERRUPTED]


def test_actions_and_infos_stand_with_the_observation_they_belong_to(path: Path, tmp_path: Path) -> None:
    """Row k of every array is step k; the final step has neither."""
    arrays, truth = rollouts(*ENDS)
    convert(store(path, arrays), tmp_path / "ours")
    for number, (episode, seen) in enumerate(zip(rlds_kit.open(tmp_path / "ours").episodes, truth, strict=True)):
        assert episode["action"][:-1].tolist() == [10 * number + i for i in range(len(seen) - 1)]
        assert episode["reward"].dtype == np.float32
        assert episode.mask("action").tolist() == episode.mask("info").tolist() == [True] * (len(seen) - 1) + [False]
        np.testing.assert_array_equal(episode["info"]["qpos"][:-1], seen[:-1] * 2)


def test_final_observations_that_are_not_there_are_not_invented(path: Path, tmp_path: Path) -> None:
    """Without `next_observations` the last action stays and its observation is undefined."""
    arrays, truth = rollouts(*ENDS)
    del arrays["next_observations"]
    convert(store(path, arrays), tmp_path / "ours")
    for episode, seen in zip(rlds_kit.open(tmp_path / "ours").episodes, truth, strict=True):
        assert episode.mask("observation").tolist() == [True] * (len(seen) - 1) + [False]
        assert episode.mask("action").tolist() == [True] * (len(seen) - 1) + [False]
        np.testing.assert_array_equal(episode["observation"][:-1], seen[:-1])


def test_episodes_without_timeouts_end_where_observations_do_not_join(path: Path, tmp_path: Path) -> None:
    """They are not joined; that they ended for a limit is not guessed."""
    arrays, truth = rollouts(*ENDS)
    del arrays["timeouts"]
    convert(store(path, arrays), tmp_path / "ours")
    episodes = rlds_kit.open(tmp_path / "ours").episodes
    assert [len(episode) for episode in episodes] == [len(seen) for seen in truth]
    assert [episode.end is EpisodeEnd.INTERRUPTED for episode in episodes] == [False, True, False, True, True]


def test_both_flags_are_kept(path: Path, tmp_path: Path) -> None:
    """A terminal step at the limit is both."""
    arrays, _ = rollouts((3, "terminal"))
    arrays["timeouts"] = arrays["terminals"].astype(np.float32)
    convert(store(path, arrays), tmp_path / "ours")
    (episode,) = rlds_kit.open(tmp_path / "ours").episodes
    assert (episode.end, episode.terminated, episode.truncated) == (EpisodeEnd.TERMINATED, True, True)


def test_what_belongs_to_no_step_is_metadata(path: Path, tmp_path: Path) -> None:
    """Scalars, text and the weights of a policy; other arrays of the steps are fields."""
    arrays, _ = rollouts(*ENDS)
    extra = {"metadata/policy/weight": np.eye(3), "metadata/rows": np.arange(12), "version": np.int64(2)}
    stored = store(path, arrays | extra | {"masks": np.ones(12, np.float32), "reward": np.zeros(12)})
    convert(stored, tmp_path / "ours")
    ours = rlds_kit.open(tmp_path / "ours")
    np.testing.assert_array_equal(ours.metadata["metadata"]["policy"]["weight"], np.eye(3))
    assert (ours.metadata["metadata"]["rows"].shape, ours.metadata["version"]) == ((12,), 2)
    assert {"masks", "recorded_reward"} <= set(ours.episodes[0].fields)


def test_nested_observations_are_nests(path: Path, tmp_path: Path) -> None:
    """A group of arrays is a dict of fields, in `next_observations` too."""
    arrays, truth = rollouts(*ENDS)
    for name in ("observations", "next_observations"):
        both = arrays.pop(name)
        arrays |= {f"{name}/a": both, f"{name}/b": both.astype(np.int64)}
    convert(store(path, arrays), tmp_path / "ours")
    for episode, seen in zip(rlds_kit.open(tmp_path / "ours").episodes, truth, strict=True):
        np.testing.assert_array_equal(episode["observation"]["a"], seen)
        assert episode["observation"]["b"].dtype == np.int64


def ogbench(*actions: int) -> tuple[Arrays, list[np.ndarray]]:
    """A file as of OGBench, whose trajectories have so many actions: the last row of each has one that was not done."""
    truth = [
        100 * number + np.arange(count + 1, dtype=np.float32)[:, np.newaxis] for number, count in enumerate(actions)
    ]
    ends = np.concatenate([np.arange(count + 1) == count for count in actions])
    seen = np.concatenate(truth)
    return {"observations": seen, "actions": seen[:, 0] + 0.5, "terminals": ends, "qpos": seen * 2}, truth


def compact(arrays: Arrays) -> Arrays:
    """As OGBench loads them with `compact_dataset=True`."""
    ends = arrays["terminals"].astype(np.float32)
    return {**arrays, "valids": 1 - ends, "terminals": np.minimum(ends + np.append(ends[1:], 1), 1).astype(np.float32)}


def regular(arrays: Arrays) -> Arrays:
    """As OGBench loads them by default."""
    kept = ~arrays["terminals"]
    following = {
        "next_observations": arrays["observations"][np.append(False, kept[:-1])],
        "terminals": np.append(arrays["terminals"][1:], True)[kept].astype(np.float32),
    }
    return {**{name: each[kept] for name, each in arrays.items()}, **following}


@pytest.mark.parametrize(
    ("layout", "rewards"), [(dict, False), (compact, False), (compact, True), (regular, False), (regular, True)]
)
def test_ends_of_trajectories_are_not_those_of_the_environment(
    layout: Callable[[Arrays], Arrays], rewards: bool, path: Path, tmp_path: Path
) -> None:
    """OGBench's files in all of its layouts: nothing terminated, and the final observations are the right ones."""
    arrays, truth = ogbench(3, 2, 4)
    made = layout(arrays)
    if rewards:  # with which its tasks of one goal come, and with masks
        made |= {
            name: np.full(len(made["actions"]), value, np.float32) for name, value in (("rewards", -1), ("masks", 1))
        }
    convert(store(path, made), tmp_path / "ours")
    episodes = rlds_kit.open(tmp_path / "ours").episodes
    for episode, seen in zip(episodes, truth, strict=True):
        assert (episode.end, episode.terminated, episode.truncated) == (EpisodeEnd.INTERRUPTED, False, False)
        np.testing.assert_array_equal(episode["observation"], seen)
        assert episode.mask("observation").all()
        assert episode.mask("action").tolist() == [True] * (len(seen) - 1) + [False]
        assert episode["action"][:-1].tolist() == (seen[:-1, 0] + 0.5).tolist()
        if layout is not regular:
            assert episode.mask("recorded_action").tolist() == [False] * (len(seen) - 1) + [True]
            assert episode["recorded_action"][-1] == seen[-1, 0] + 0.5


def test_a_mask_of_0_says_that_a_row_is_terminal(path: Path, tmp_path: Path) -> None:
    """A mask of 1 means that more steps would have followed."""
    arrays, _ = rollouts((3, "terminal"), (2, "terminal"))
    del arrays["timeouts"]
    convert(store(path, arrays | {"masks": np.array([1, 1, 0, 1, 1], np.float32)}), tmp_path / "ours")
    assert [each.end for each in rlds_kit.open(tmp_path / "ours").episodes] == [
        EpisodeEnd.TERMINATED,
        EpisodeEnd.INTERRUPTED,
    ]


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["terminal", "timeout"])), min_size=1, max_size=5))
def test_every_transition_is_one_that_happened(
    tmp_path_factory: pytest.TempPathFactory, ends: list[tuple[int, str]]
) -> None:
    """However episodes are cut, each row's observation, action and next observation stay together."""
    arrays, _ = rollouts(*ends)
    path = store(tmp_path_factory.mktemp("arrays") / "a.npz", arrays)
    found = []
    for episode in ArraysReader(path):
        seen = [row["observation"] for row in episode.observed]
        found += [(seen[i], row["action"], seen[i + 1]) for i, row in enumerate(episode.acted)]
    expected = zip(*(arrays[name] for name in ("observations", "actions", "next_observations")), strict=True)
    assert [[np.ravel(part).tolist() for part in each] for each in found] == [
        [np.ravel(part).tolist() for part in each] for each in expected
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"actions": None},
        {"terminals": np.full(12, 2)},
        {"terminals": np.zeros((12, 2))},
        {"rewards": np.zeros(11)},
        {"next_observations": np.zeros((12, 3), np.float32)},
        {"next_observations": np.zeros((12, 2), np.float64)},
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(change: Arrays, path: Path) -> None:
    """With what was expected, and what came."""
    arrays = {name: each for name, each in (rollouts(*ENDS)[0] | change).items() if each is not None}
    with pytest.raises(FormatError, match="expected"):
        ArraysReader(store(path, arrays))


def test_an_npz_file_is_decompressed_for_others(tmp_path: Path) -> None:
    """A process that gets the reader reads the shared arrays, not the file; names are any, and arrays may be empty."""
    large = np.random.default_rng(0).normal(size=(20_000, 2))
    arrays: Arrays = {
        "actions": large,
        "observations": large,
        "terminals": large[:, 0] > 2,
        "timeouts": large[:, 0] > 2,
    }
    arrays |= {"infos/qpos": np.asfortranarray(large), "infos/.. é": np.arange(20_000), "metadata/nothing": np.zeros(0)}
    np.savez(tmp_path / "a.npz", **arrays)
    reader = ArraysReader(tmp_path / "a.npz")
    contents = [content_of(episode) for episode in reader]
    assert reader.share(tmp_path / "shared")
    (tmp_path / "a.npz").unlink()
    other = copy.copy(reader)  # by pickle's protocol
    assert len(pickle.dumps(other)) < 1 << 20
    pieces = len(reader.weigh(lambda _: None))
    found = [content_of(episode) for begin, end in ((0, 5), (5, pieces)) for episode in other.read(begin, end)]
    assert found == contents
    assert len(contents) == len(reader) == len(other) > 100


def test_an_npz_file_of_little_content_is_not_shared(tmp_path: Path) -> None:
    """Decompressing it is faster than writing its arrays, and one process does it; the result is the same."""
    zeros = np.zeros((20_000, 100))
    ends = np.arange(20_000) % 100 == 99
    np.savez_compressed(tmp_path / "a.npz", observations=zeros, actions=zeros, terminals=ends)
    assert not ArraysReader(tmp_path / "a.npz").share(tmp_path / "shared")
    assert not (tmp_path / "shared").exists()
    reports = [convert(tmp_path / "a.npz", tmp_path / str(n), workers=n, part_bytes=1 << 20) for n in (1, 2)]
    assert reports[0].content_digest == reports[1].content_digest
    assert len(list((tmp_path / "2").glob("*.riegeli"))) > 1


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    """An array of objects in an NPZ file is an error, whatever is in it."""
    path = tmp_path / "a.npz"
    np.savez(path, observations=np.array([{}], object))
    with pytest.raises(FormatError, match="pickle"):
        ArraysReader(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("observations.npy", pickle.dumps({}))
    with pytest.raises(FormatError, match="expected"):
        ArraysReader(path)


def test_files_that_claim_absurd_sizes_are_refused(tmp_path: Path) -> None:
    """A few bytes that would be terabytes are not read."""
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        for name in ("observations", "actions", "rewards", "terminals"):
            file.create_dataset(name, (10**12,), np.uint8, chunks=(1 << 20,), compression="gzip")
    with pytest.raises(FormatError, match="claim"):
        ArraysReader(path)


def test_links_and_files_elsewhere_are_not_followed(tmp_path: Path) -> None:
    """Neither links nor external storage lead out of a file."""
    path = store(tmp_path / "a.hdf5", rollouts(*ENDS)[0])
    with h5py.File(path, "a") as file:
        file["other"] = h5py.SoftLink("/actions")
    with pytest.raises(FormatError, match="link"):
        ArraysReader(path)
    with h5py.File(path, "a") as file:
        del file["other"]
        file.create_dataset("outside", (12,), np.uint8, external=[(str(tmp_path / "secret"), 0, 12)])
    with pytest.raises(FormatError, match="another file"):
        ArraysReader(path)
