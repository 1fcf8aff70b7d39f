"""Values from the environment are data: those that do not fit their spaces are recorded exactly, with one warning."""

import math
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dm_env
import gymnasium
import numpy as np
import pytest
from dm_env import specs as dm_specs
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import SpecError, logger
from rlds_kit import spec as specs
from rlds_kit.lint import lint
from rlds_kit.spec.from_gymnasium import from_gymnasium
from rlds_kit.tools.edit import merge
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.verify import verify
from tests.storage.truth import same

BOX = spaces.Box(-1, 1, (3,), np.float32)


class Given(gymnasium.Env[Any, Any]):
    """Returns the given values in turn, also those that are not in its space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: spaces.Space[Any], observations: Sequence[Any], rewards: Sequence[Any] = (0.0,)) -> None:
        self.observation_space, self._observations, self._rewards = space, observations, rewards
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._at = 0
        return self._observations[0], {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self._at += 1
        observation = self._observations[self._at % len(self._observations)]
        return observation, self._rewards[(self._at - 1) % len(self._rewards)], self._at == 6, False, {}


def _record(directory: Path, env: Any, *, episodes: int = 1, **options: Any) -> list[str]:
    """Records whole episodes; returns what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with logger.GymnasiumLogger(env, directory, record_info=False, **options) as logged:
            for _ in range(episodes):
                logged.reset()
                while not logged.step(0)[2]:
                    pass
    return [str(each.message) for each in caught]


FLOAT = np.zeros(3, np.float32)
WIDE = np.array([0.1, 0.2, 0.3])
PAIR = spaces.Dict({"a": BOX, "b": BOX})
CASES: dict[str, tuple[spaces.Space[Any], list[Any], list[Any]]] = {
    "float64 for float32": (BOX, [FLOAT, WIDE], [0.0]),
    "float32 for float64": (spaces.Box(-1, 1, (3,), np.float64), [FLOAT], [0.0]),
    "list for Box": (BOX, [FLOAT, [0.5, 0.25, 0.125]], [0.0]),
    "int64 for MultiBinary": (spaces.MultiBinary(3), [np.array([0, 1, 1])], [0.0]),
    "lists for MultiDiscrete": (spaces.MultiDiscrete([3, 3]), [[1, 2]], [0.0]),
    "float for Discrete": (spaces.Discrete(3), [np.int64(1), np.float64(0.5)], [0.0]),
    "reward of shape (1,)": (BOX, [FLOAT], [np.array([0.5])]),
    "rewards of several shapes": (BOX, [FLOAT], [np.array([0.5]), 1.0, np.array([[2.0]])]),
    "reward None": (BOX, [FLOAT], [1.0, None]),
    "Python float for array": (BOX, [FLOAT, 0.5], [0.0]),
    "wrong shape": (BOX, [FLOAT, np.zeros((2, 2), np.float32)], [0.0]),
    "None": (BOX, [FLOAT, None], [0.0]),
    "dict for array": (BOX, [FLOAT, {"a": 1.0}], [0.0]),
    "text for array": (BOX, ["cold"], [0.0]),
    "array for dict": (PAIR, [{"a": FLOAT, "b": FLOAT}, FLOAT], [0.0]),
    "missing key": (PAIR, [{"a": FLOAT, "b": FLOAT}, {"a": FLOAT}], [0.0]),
    "extra key": (PAIR, [{"a": FLOAT, "b": FLOAT}, {"a": FLOAT, "b": FLOAT, "c": 1}], [0.0]),
    "key never there": (PAIR, [{"a": FLOAT}], [0.0]),
    "longer tuple": (spaces.Tuple([BOX, BOX]), [(FLOAT, FLOAT), (FLOAT, FLOAT, FLOAT)], [0.0]),
    "list for tuple": (spaces.Tuple([BOX, BOX]), [[FLOAT, FLOAT]], [0.0]),
    "wrong item of a tuple": (spaces.Tuple([BOX, BOX]), [(FLOAT, FLOAT), (FLOAT, WIDE)], [0.0]),
    "nested": (spaces.Dict({"in": PAIR}), [{"in": {"a": FLOAT, "b": FLOAT}}, {"in": {"a": FLOAT, "b": [1.0]}}], [0.0]),
}


@pytest.mark.parametrize("case", CASES)
def test_recorded_exactly_and_reported_once(tmp_path: Path, case: str) -> None:
    """Types and bits come back; one warning for the field, over all episodes, with what to do."""
    space, observations, rewards = CASES[case]
    said = _record(tmp_path / "d", Given(space, observations, rewards), episodes=2)
    assert len(said) == 1
    assert said[0].startswith(("observation", "reward"))
    assert "expected" in said[0]
    assert "strict=True" in said[0]
    dataset = rlds_kit.open(tmp_path / "d")
    assert [episode.length for episode in dataset.episodes] == [7, 7]
    for episode in dataset.episodes:
        for row, step in enumerate(episode.steps):
            assert same(step["observation"], observations[row % len(observations)])
            if row < 6:
                assert same(step["reward"], rewards[row % len(rewards)])


@pytest.mark.parametrize("case", CASES)
def test_verify_and_lint_list_it(tmp_path: Path, case: str) -> None:
    """It is no damage, and no secret; also after a rechunk and a merge."""
    space, observations, rewards = CASES[case]
    _record(tmp_path / "d", Given(space, observations, rewards))
    rechunk(tmp_path / "d", tmp_path / "r", block_rows=2)
    merge([tmp_path / "d", tmp_path / "r"], tmp_path / "m")
    for name in "drm":
        report = verify(tmp_path / name)
        assert report.problems == ()
        assert "deviation" in {each.rule for each in report.notes}
        assert lint(tmp_path / name, select=["RK309"]).rules == ("RK309",)


def test_what_fits_is_not_listed(tmp_path: Path) -> None:
    """Numbers of another type that the declared one can represent are no deviation."""
    assert _record(tmp_path / "d", Given(BOX, [FLOAT], [1, 2, np.float32(0.5), np.array(1.0)])) == []
    dataset = rlds_kit.open(tmp_path / "d")
    assert dataset.deviations == {}
    assert verify(tmp_path / "d").notes == ()
    assert lint(tmp_path / "d", select=["RK309"]).rules == ()


@pytest.mark.parametrize("case", CASES)
def test_strict_logger_records_nothing_of_the_step(tmp_path: Path, case: str) -> None:
    """The error names the field, and earlier rows are recorded."""
    space, observations, rewards = CASES[case]
    env = logger.GymnasiumLogger(Given(space, observations, rewards), tmp_path / "d", strict=True)
    with env, pytest.raises(SpecError, match="expected"):
        _until_it_raises(env)
    for episode in rlds_kit.open(tmp_path / "d").episodes:
        for row, step in enumerate(episode.steps):
            assert same(step["observation"], observations[row % len(observations)])
    assert verify(tmp_path / "d").notes == ()


def _until_it_raises(env: Any) -> None:
    env.reset()
    for _ in range(4):
        env.step(0)


ARRAYS = {
    "float64 for float32": (np.float64, (3,)),
    "float32 for float64": (np.float64, (3,)),
    "list for Box": (np.float32, (3,)),
    "int64 for MultiBinary": (np.int64, (3,)),
    "lists for MultiDiscrete": (np.int64, (2,)),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_are_widened_where_nothing_is_lost(tmp_path: Path, case: str) -> None:
    """Of an episode, of batches, of TensorFlow's and PyTorch's feeds: one dtype that has every value."""
    dtype, shape = ARRAYS[case]
    space, observations, rewards = CASES[case]
    _record(tmp_path / "d", Given(space, observations, rewards))
    dataset = rlds_kit.open(tmp_path / "d")
    expected = np.stack([np.asarray(observations[row % len(observations)], dtype) for row in range(7)])
    np.testing.assert_array_equal(dataset.episodes[0]["observation"], expected)
    (batch,) = dataset.transitions().batches(6)
    assert (batch["observation"].dtype, batch["observation"].shape) == (dtype, (6, *shape))
    np.testing.assert_array_equal(batch["observation"], expected[:6])


def test_rewards_with_a_dimension_of_one_are_numbers(tmp_path: Path) -> None:
    """In arrays; each step has its own."""
    _record(tmp_path / "d", Given(*CASES["rewards of several shapes"]))
    dataset = rlds_kit.open(tmp_path / "d")
    assert dataset.episodes[0]["reward"].tolist() == [0.5, 1, 2, 0.5, 1, 2, 0]
    (batch,) = dataset.transitions().batches(6)
    assert batch["reward"].tolist() == [0.5, 1, 2, 0.5, 1, 2]


@pytest.mark.parametrize(
    "case",
    [
        "reward None",
        "Python float for array",
        "wrong shape",
        "None",
        "dict for array",
        "array for dict",
        "longer tuple",
    ],
)
def test_no_array_where_something_would_be_lost(tmp_path: Path, case: str) -> None:
    """The error names the field and the episode, and `steps` has all."""
    space, observations, rewards = CASES[case]
    _record(tmp_path / "d", Given(space, observations, rewards))
    dataset = rlds_kit.open(tmp_path / "d")
    field = "reward" if case == "reward None" else "observation"
    with pytest.raises(SpecError, match=f"episode {dataset.episodes[0].id}: {field}.*expected"):
        dataset.episodes[0][field]


@pytest.mark.parametrize("case", ["Python float for array", "wrong shape", "dict for array", "float for Discrete"])
def test_batches_refuse_what_they_would_change(tmp_path: Path, case: str) -> None:
    """With the field and the episode."""
    _record(tmp_path / "d", Given(*CASES[case]))
    with pytest.raises(SpecError, match=r"observation of dtype .* but episode 0"):
        list(rlds_kit.open(tmp_path / "d").transitions().batches(6))


@pytest.mark.parametrize("case", ["missing key", "array for dict", "longer tuple", "reward None", "None", "extra key"])
def test_batches_make_nothing_up(tmp_path: Path, case: str) -> None:
    """What is missing or something else is an object, never zeros."""
    space, observations, rewards = CASES[case]
    _record(tmp_path / "d", Given(space, observations, rewards))
    (batch,) = rlds_kit.open(tmp_path / "d").transitions().batches(6)
    if case == "reward None":
        assert batch["reward"].tolist() == [1.0, None] * 3
    elif case in ("missing key", "extra key"):
        key = case[0].replace("m", "b").replace("e", "c")
        assert [item is None for item in batch["observation"][key]] == [
            (row % 2 == 1) == (key == "b") for row in range(6)
        ]
    else:
        for row in range(6):
            assert same(batch["observation"][row], observations[row % 2])


def test_every_logger_is_tolerant(tmp_path: Path) -> None:
    """With dm_env, vector environments, and several agents; the writer only with the option `strict=False`."""

    class Odd(dm_env.Environment):
        def reset(self) -> dm_env.TimeStep:
            return dm_env.restart(np.zeros(2))

        def step(self, action: Any) -> dm_env.TimeStep:
            return dm_env.termination(np.array([1.0]), [0.5, 0.5])

        def observation_spec(self) -> Any:
            return dm_specs.Array((2,), np.float32)

        def action_spec(self) -> Any:
            return dm_specs.DiscreteArray(2)

    with logger.EnvLogger(Odd(), tmp_path / "dm") as env:
        with pytest.warns(UserWarning, match="observation: expected"):
            env.reset()
        with pytest.warns(UserWarning, match="reward: expected"):
            env.step(0)
    assert rlds_kit.open(tmp_path / "dm").episodes[0].steps[1]["observation"] == [0.5, 0.5]

    made = [lambda: Given(BOX, [FLOAT])] * 2
    envs = logger.VectorLogger(_Wide(SyncVectorEnv(made)), tmp_path / "vector")
    with pytest.warns(UserWarning, match="expected float32") as said:
        envs.reset()
    envs.step(np.array([0, 1]))
    envs.close()
    assert len(said) == 1
    recorded = rlds_kit.open(tmp_path / "vector").episodes
    assert all(step["observation"].dtype == np.float64 for each in recorded for step in each.steps)

    declared = specs.Dict({"observation": specs.Array((2,), np.float32)})
    with logger.EpisodeWriter(tmp_path / "strict", declared) as writer, writer.episode() as episode:
        with pytest.raises(SpecError, match="observation"):
            episode.start([1.0, 2.0])
        assert episode.rows == 0
    tolerant = logger.EpisodeWriter(tmp_path / "w", declared, strict=False)
    with tolerant, tolerant.episode() as episode, pytest.warns(UserWarning, match="observation: expected float32"):
        episode.start([1.0, 2.0])
    assert rlds_kit.open(tmp_path / "w").episodes[0].steps[0]["observation"] == [1.0, 2.0]


class _Wide(gymnasium.vector.VectorWrapper):
    """Gives float64."""

    def reset(self, **given: Any) -> Any:
        observations, infos = super().reset(**given)
        return observations.astype(np.float64), infos

    def step(self, actions: Any) -> Any:
        observations, *rest = super().step(actions)
        return observations.astype(np.float64), *rest


def test_warning_that_is_an_error_comes_after_the_row(tmp_path: Path) -> None:
    """The step is on disk all the same."""
    with logger.GymnasiumLogger(Given(*CASES["float64 for float32"]), tmp_path / "d") as env, warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset()
        with pytest.raises(UserWarning, match="expected float32"):
            env.step(0)
    assert same(rlds_kit.open(tmp_path / "d").episodes[0].steps[1]["observation"], WIDE)


def _spaces() -> st.SearchStrategy[spaces.Space[Any]]:
    boxes = st.builds(
        lambda shape, dtype: spaces.Box(0, 1, tuple(shape), dtype),
        st.lists(st.integers(0, 3), max_size=2),
        st.sampled_from([np.float32, np.float64, np.uint8, np.int64]),
    )
    leaves = st.one_of(
        boxes,
        st.builds(spaces.Discrete, st.integers(1, 5)),
        st.builds(spaces.MultiBinary, st.integers(1, 3)),
        st.builds(spaces.MultiDiscrete, st.lists(st.integers(1, 4), min_size=1, max_size=3)),
        st.just(spaces.Text(5)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(spaces.Dict, st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3)),
            st.builds(spaces.Tuple, st.lists(inner, min_size=1, max_size=3)),
        ),
        max_leaves=4,
    )


def _deviating() -> st.SearchStrategy[Any]:
    arrays = st.builds(
        lambda shape, dtype: np.full(tuple(shape), 1, dtype),
        st.lists(st.integers(0, 3), max_size=3),
        st.sampled_from(["f2", "f4", "f8", "i1", "i8", "u1", "?", ">f4", "c8", "U3"]),
    )
    leaves = st.one_of(
        arrays,
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=4).filter(lambda text: text.isprintable()),
        st.binary(max_size=4),
        st.sampled_from([np.float32(0.5), np.float64(math.nan), np.int8(3), np.bool_(True), np.uint64(2**63)]),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.sampled_from(["a", "b", "x/y", "(0)", ""]), inner, max_size=3),
        ),
        max_leaves=5,
    )


@st.composite
def _runs(draw: st.DrawFn) -> tuple[spaces.Space[Any], list[Any], list[Any]]:
    space = draw(_spaces())
    space.seed(draw(st.integers(0, 100)))
    observations = [draw(_deviating()) if draw(st.booleans()) else space.sample() for _ in range(7)]
    rewards = draw(st.lists(st.one_of(st.floats(), _deviating()), min_size=6, max_size=6))
    return space, observations, rewards


@settings(max_examples=40)
@given(_runs())
def test_recording_never_raises_and_gives_back_every_bit(run: tuple[spaces.Space[Any], list[Any], list[Any]]) -> None:
    """Whatever the space is, and whatever came; an array that is given has exactly these numbers."""
    space, observations, rewards = run
    with tempfile.TemporaryDirectory() as folder:
        _record(Path(folder), Given(space, observations, rewards))
        dataset = rlds_kit.open(folder)
        (episode,) = dataset.episodes
        steps = list(episode.steps)
        assert len(steps) == 7
        for row, step in enumerate(steps):
            assert same(step["observation"], observations[row]), (step["observation"], observations[row])
            assert row == 6 or same(step["reward"], rewards[row])
        assert verify(folder).problems == ()
        _check_arrays(episode, "reward", rewards)
        _check_arrays(episode, "observation", observations)


def _check_arrays(episode: rlds_kit.Episode, field: str, given: Sequence[Any]) -> None:
    """Each number of an array is the one that came, if the array is given at all."""
    try:
        stacked = episode[field]
    except SpecError as error:
        assert field in str(error)  # noqa: PT017  either is right
        return
    if isinstance(stacked, np.ndarray) and stacked.dtype.kind in "biufc":
        for row, value in enumerate(given):
            assert np.array_equal(np.ravel(stacked[row]), np.ravel(np.asarray(value)), equal_nan=True)


@settings(max_examples=40)
@given(_runs())
def test_strict_recording_has_nothing_that_does_not_fit(run: tuple[spaces.Space[Any], list[Any], list[Any]]) -> None:
    """It stops before the first value that does not, and has all before."""
    space, observations, rewards = run
    declared = specs.Dict({"observation": from_gymnasium(space, "observation"), "reward": specs.Array((), np.float64)})
    fit = list(_fitting(declared, observations, rewards))
    with tempfile.TemporaryDirectory() as folder:
        env = logger.GymnasiumLogger(Given(space, observations, rewards), folder, strict=True, record_info=False)
        with env:
            if len(fit) < 7:
                with pytest.raises(SpecError):
                    _play(env)
            else:
                _play(env)
        episodes = list(rlds_kit.open(folder).episodes)
        assert sum(episode.length for episode in episodes) == len(fit)
        for step, observation in zip((step for episode in episodes for step in episode.steps), fit, strict=True):
            assert same(step["observation"], observation)
        report = verify(folder)
        assert (report.problems, [each for each in report.notes if each.rule == "deviation"]) == ((), [])


def _play(env: Any) -> None:
    env.reset()
    for _ in range(6):
        env.step(0)


def _fitting(declared: specs.Dict, observations: Sequence[Any], rewards: Sequence[Any]) -> Iterator[Any]:
    for row, observation in enumerate(observations):
        if specs.problems(declared.fields["observation"], observation):
            return
        if row and specs.problems(declared.fields["reward"], rewards[row - 1]):
            return
        yield observation
