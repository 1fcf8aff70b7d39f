"""`write_arrays` makes a dataset of arrays of many episodes."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import DatasetExistsError, EpisodeEnd, RldsKitError, logger
from rlds_kit import spec as specs
from rlds_kit.convert import convert

LENGTHS = (3, 1, 4)
ROWS = sum(LENGTHS)
RNG = np.random.default_rng(0)
LAST = np.isin(np.arange(ROWS), np.cumsum(LENGTHS) - 1)


def _transitions() -> dict[str, Any]:
    """As of D4RL: the first episode terminated, the second was cut, the third broke off."""
    ends = np.flatnonzero(LAST)
    return {
        "observations": RNG.normal(size=(ROWS, 3)).astype(np.float32),
        "actions": RNG.normal(size=(ROWS, 2)).astype(np.float32),
        "rewards": RNG.normal(size=ROWS).astype(np.float32),
        "terminals": np.arange(ROWS) == ends[0],
        "timeouts": np.arange(ROWS) == ends[1],
        "infos/qpos": RNG.normal(size=(ROWS, 5)),
        "metadata/algorithm": "SAC",
    }


def _steps() -> dict[str, Any]:
    defined = ~LAST[:, np.newaxis]  # which makes zeros of both signs
    return {
        "observation": {"x": RNG.normal(size=(ROWS, 3)), "words": [f"w{row}" for row in range(ROWS)]},
        "action": RNG.normal(size=(ROWS, 2)) * defined,
        "reward": np.arange(ROWS) * ~LAST,
        "discount": np.ones(ROWS),
        "is_first": np.roll(LAST, 1),
        "is_last": LAST,
        "is_terminal": np.arange(ROWS) == 2,
    }


@pytest.mark.parametrize("has_next", [True, False])
def test_transitions_are_what_convert_makes_of_a_file_of_them(tmp_path: Path, has_next: bool) -> None:
    """Same content of every episode as that of D4RL's file."""
    arrays = _transitions()
    if has_next:
        following = np.roll(arrays["observations"], -1, axis=0)
        following[LAST] = 7
        arrays["next_observations"] = following
    dataset = logger.write_arrays(tmp_path / "ours", arrays)
    with h5py.File(tmp_path / "theirs.hdf5", "w") as file:
        for name, each in arrays.items():
            file[name] = each
    convert(tmp_path / "theirs.hdf5", tmp_path / "converted")
    other = rlds_kit.open(tmp_path / "converted")
    assert [each.content_digest for each in dataset.episodes] == [each.content_digest for each in other.episodes]
    assert [each.end for each in dataset.episodes] == [
        *(EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED)
    ]
    assert dataset.spec == other.spec
    assert dataset.metadata == {"algorithm": "SAC"}


def test_trajectories_of_ogbench(tmp_path: Path) -> None:
    """Without rewards and timeouts, terminals end trajectories, and their row has the final observation."""
    arrays = {"observations": np.arange(6.0), "actions": np.arange(6.0), "terminals": np.array([0, 0, 1, 0, 0, 1])}
    found = logger.write_arrays(tmp_path, arrays).episodes
    assert [(len(each), each.end, each["action"].tolist()) for each in found] == [
        (3, EpisodeEnd.INTERRUPTED, [0.0, 1.0, 0.0]),
        (3, EpisodeEnd.INTERRUPTED, [3.0, 4.0, 0.0]),
    ]


@pytest.mark.parametrize("flags", [("is_first", "is_last"), ("is_first",), ("is_last",)])
def test_steps_are_episodes(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The last step of each has its final observation."""
    arrays = _steps()
    given = {name: each for name, each in arrays.items() if name not in ("is_first", "is_last") or name in flags}
    found = logger.write_arrays(tmp_path, given).episodes
    assert [len(each) for each in found] == [*LENGTHS]
    assert [each.end for each in found] == [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.TRUNCATED]
    begin = 0
    for each in found:
        rows = slice(begin, begin := begin + len(each))
        assert each["observation"]["x"].tobytes() == arrays["observation"]["x"][rows].tobytes()
        assert [step["observation"]["words"] for step in each.steps] == arrays["observation"]["words"][rows]
        for name in ("action", "reward"):
            assert each[name][:-1].tobytes() == arrays[name][rows][:-1].tobytes()
        assert each.mask("action").tolist() == [True] * (len(each) - 1) + [False]
        assert each["discount"].tolist() == [1.0] * (len(each) - 1) + [0.0]


def test_steps_after_the_last_end_were_interrupted(tmp_path: Path) -> None:
    """Their last action is one that was done, and the observation after it is missing."""
    arrays = {"observation": np.arange(5), "action": np.arange(1, 6), "is_last": np.array([0, 0, 1, 0, 0])}
    arrays["action"][2] = 0
    found = logger.write_arrays(tmp_path, arrays).episodes
    assert [(len(each), each.end, each["action"].tolist()) for each in found] == [
        (3, EpisodeEnd.INTERRUPTED, [1, 2, 0]),
        (3, EpisodeEnd.INTERRUPTED, [4, 5, 0]),
    ]
    assert found[1].mask("observation").tolist() == [True, True, False]


def test_arrays_of_no_steps(tmp_path: Path) -> None:
    """Are a dataset of no episodes."""
    nothing = np.zeros(0)
    steps = {"observation": nothing, "action": nothing, "is_last": nothing}
    transitions = {"observations": nothing, "actions": nothing, "terminals": nothing}
    for name, arrays in {"steps": steps, "transitions": transitions}.items():
        assert len(logger.write_arrays(tmp_path / name, arrays).episodes) == 0


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
@settings(deadline=None, max_examples=30)
def test_episodes_come_back_from_their_steps(lengths: list[int], data: st.DataObject) -> None:
    """Episodes one by one and joined to flat arrays are the same dataset."""
    import tempfile

    rows = sum(lengths)
    last = np.isin(np.arange(rows), np.cumsum(lengths) - 1)
    numbers = st.lists(st.integers(-9, 9), min_size=rows, max_size=rows)
    observation, action = (np.array(data.draw(numbers)) for _ in range(2))
    action[last] = 0
    is_terminal = last & np.array(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    ends = np.cumsum(lengths).tolist()
    listed = [
        {
            "observations": observation[end - length : end],
            "actions": action[end - length : end - 1],
            "terminated": bool(is_terminal[end - 1]),
            "truncated": not is_terminal[end - 1],
        }
        for length, end in zip(lengths, ends, strict=True)
    ]
    steps = {"observation": observation, "action": action, "is_last": last, "is_terminal": is_terminal}
    with tempfile.TemporaryDirectory() as name:
        found = [
            [each.content_digest for each in logger.write_arrays(Path(name) / way, arrays).episodes]
            for way, arrays in (("steps", steps), ("listed", listed))
        ]
    assert found[0] == found[1]


def test_episodes_may_come_one_after_the_other(tmp_path: Path) -> None:
    """From a generator, with fields that are named."""
    episodes = (
        {"observations": np.full((3, 2), n), "actions": np.zeros(2), "metadata": {"n": n}, "battery": np.ones(3)}
        for n in range(3)
    )
    dataset = logger.write_arrays(tmp_path, episodes, fields=["battery"], metadata={"run": 1}, mode="error")
    assert [each.metadata["n"] for each in dataset.episodes] == [0, 1, 2]
    declared = {"observation": specs.Array((2,), np.int64), "action": specs.Array((), np.float64)}
    assert declared.items() <= dataset.spec.fields.items()
    assert (dataset.metadata, dataset.episodes[0]["battery"].tolist()) == ({"run": 1}, [1.0, 1.0, 1.0])
    with pytest.raises(DatasetExistsError):
        logger.write_arrays(tmp_path, [], mode="error")


def _changed(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """None removes an array."""
    return {name: each for name, each in (arrays | changes).items() if each is not None}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            _changed(_transitions(), rewards=np.zeros(3)),
            "as many rows in every array, got 8 in obs.* 3 in rewards",
        ),
        (
            _changed(_transitions(), terminals=None, timeouts=None),
            "expected the ends of episodes, as terminals",
        ),
        (_changed(_transitions(), reward=np.zeros(8)), "got reward; name further arrays"),
        (dict[Any, Any](_transitions()) | {3: np.zeros(8)}, "expected names of arrays, got 3"),
        (
            _changed(_transitions(), **{"metadata/algorithm": None, "metadata": 3}),
            "metadata: expected a dict of metadata of the dataset, got int",
        ),
        (
            _changed(_transitions(), observations=np.zeros(8, np.longdouble), next_observations=None),
            "observation: cannot record dtype",
        ),
        (_changed(_transitions(), actions=None), "expected actions, got only observations"),
        (_changed(_transitions(), terminals=np.full(8, 3)), "terminals: expected a 0 or 1 for each of 8 rows"),
        (
            _changed(_transitions(), next_observations=np.zeros((8, 2))),
            "and next_observations of one dtype",
        ),
        (_changed(_transitions(), infos=np.zeros(8)), "expected infos once, got it twice"),
        (_changed(_steps(), is_first=np.zeros(8)), "is_first: expected it to be set in step 0"),
        (
            _changed(_steps(), is_first=np.arange(8) == 0),
            "after every step with is_last alone, not so after step 2",
        ),
        (_changed(_steps(), is_terminal=np.ones(8)), "is_terminal: expected it in last steps alone, got it in step 0"),
        (_changed(_steps(), action=np.ones(8)), "action: expected zeros in step 2, which is the last one"),
        (_changed(_steps(), is_last=np.full(8, "x")), "is_last: expected a 0 or 1"),
        (_changed(_steps(), observation=None), "expected observation, got only action"),
        ([{"observations": np.zeros(3), "actions": np.zeros(2), "reward": np.zeros(2)}], "episode 0: .* got reward"),
        ([{"observations": np.zeros(3)}], "episode 0: expected actions, got only observations"),
        ([np.zeros(3)], "episode 0: expected a dict of arrays, got ndarray"),
        ([{"observations": np.zeros(3), "actions": np.zeros(7)}], "got 3 observations, 7 actions"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path: Path, arrays: Any, message: str) -> None:
    """With what was expected, what came, and where."""
    with pytest.raises(RldsKitError, match=message):
        logger.write_arrays(tmp_path, arrays)


def test_the_number_of_a_wrong_episode_is_reported(tmp_path: Path) -> None:
    good = {"observations": np.zeros((3, 2)), "actions": np.zeros(2)}
    with pytest.raises(RldsKitError, match=r"observation: expected float64 \(2,\), got float32") as caught:
        logger.write_arrays(tmp_path, [good, good | {"observations": np.zeros((3, 2), np.float32)}])
    assert caught.value.__notes__ == ["This is episode 1 of the arrays; those before it are recorded."]
    assert len(rlds_kit.open(tmp_path).episodes) == 1
