"""`VectorLogger` records what separate environments, given the same seeds and actions, would have given."""

import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, UnsupportedTypeError, logger
from rlds_kit.storage.batch_recorder import BatchRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.row_log import IS_ATOMIC, RowLog
from tests.logger.scripted_vectors import content_of
from tests.processes import exit_code_of_child

# Gymnasium forks the processes of an AsyncVectorEnv; the threads that exist then belong to the test runner.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

if TYPE_CHECKING:
    Wrapper = gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]
else:
    Wrapper = gymnasium.vector.VectorWrapper  # generic only in the newest versions of Gymnasium

MODES = list(AutoresetMode)
ENVS = 3


class Walk(gymnasium.Env[Any, Any]):
    """A random walk that ends at random in each of the ways there are, with infos that come and go."""

    observation_space = spaces.Dict(
        {"place": spaces.Box(-np.inf, np.inf, (2,), np.float32), "steps": spaces.Discrete(100)}
    )
    action_space = spaces.MultiDiscrete([3, 3])

    def __init__(self) -> None:
        self.place = np.zeros(2, np.float32)
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.place, self.steps = self.np_random.normal(size=2).astype(np.float32), 0
        return self._observation(), {"home": self.place.copy(), "text": f"start {self.place[0]:.3f}"}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = self.place + np.asarray(action, np.float32) - 1 + self.np_random.normal(size=2).astype(np.float32)
        self.steps += 1
        info: dict[str, Any] = {"steps": self.steps, "deep": {"sum": float(self.place.sum())}}
        if self.steps % 2:
            info["odd"] = True
            info["deep"]["odd"] = {"place": self.place.copy()}
        terminated, truncated = (bool(self.np_random.random() < 0.15) for _ in range(2))
        return self._observation(), float(self.place[0]), terminated, truncated, info

    def _observation(self) -> dict[str, Any]:
        return {"place": self.place.copy(), "steps": np.int64(self.steps)}


class Endless(Walk):
    """Never ends."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


@dataclass
class Told:
    """An episode of a single environment, as the expected value."""

    observations: list[Any] = field(default_factory=list)
    infos: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[Any] = field(default_factory=list)
    flags: tuple[bool, bool] = (False, False)


def _tell(env: gymnasium.Env[Any, Any], mode: AutoresetMode, seed: int | None, actions: list[Any]) -> list[Told]:
    """Step one environment through `actions` as a vector environment in `mode` would, and return its episodes."""
    episodes: list[Told] = []

    def begin(**kwargs: Any) -> None:
        observation, info = env.reset(**kwargs)
        episodes.append(Told([observation], [info]))

    begin(seed=seed)
    for action in actions:
        if any(episodes[-1].flags):  # NEXT_STEP: this call is a reset
            begin()
            continue
        now = episodes[-1]
        observation, reward, terminated, truncated, info = env.step(action)
        now.observations.append(observation)
        now.infos.append(info)
        now.actions.append(action)
        now.rewards.append(reward)
        now.flags = terminated, truncated
        if any(now.flags) and mode is not AutoresetMode.NEXT_STEP:
            begin()
    return episodes


def _recorded(directory: Path) -> dict[int, list[rlds_kit.Episode]]:
    """Return the episodes of each sub-environment."""
    found = defaultdict(list)
    for episode in rlds_kit.open(directory).episodes:
        found[episode.provenance["sub_environment"]].append(episode)
    return found


def _compare(recorded: list[rlds_kit.Episode], told: list[Told]) -> None:
    assert len(recorded) == len(told)
    for episode, expected in zip(recorded, told, strict=True):
        steps = list(episode.steps)
        np.testing.assert_equal([step["observation"] for step in steps], expected.observations)
        np.testing.assert_equal([step.get("info") for step in steps], expected.infos)
        np.testing.assert_equal([step["action"] for step in steps[:-1]], expected.actions)
        np.testing.assert_equal([step["reward"] for step in steps[:-1]], expected.rewards)
        assert (episode.terminated, episode.truncated) == expected.flags
        ends = {(True, True): EpisodeEnd.TERMINATED, (True, False): EpisodeEnd.TERMINATED}
        ends |= {(False, True): EpisodeEnd.TRUNCATED, (False, False): EpisodeEnd.INTERRUPTED}
        assert episode.end is ends[expected.flags]
        assert episode.mask("action").tolist() == [True] * (len(steps) - 1) + [False]


def _reset_the_ended(envs: VectorEnv[Any, Any, Any], result: tuple[Any, ...]) -> None:
    mask = np.logical_or(result[2], result[3])
    if mask.any():
        envs.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [SyncVectorEnv, AsyncVectorEnv])
def test_recorded_is_what_separate_environments_give(
    tmp_path: Path, make: Callable[..., VectorEnv[Any, Any, Any]], mode: AutoresetMode
) -> None:
    """Observations, actions, rewards, infos, flags and ends, in every autoreset mode."""
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 3, (60, ENVS, 2))
    with logger.VectorLogger(make([Walk] * ENVS, autoreset_mode=mode), tmp_path, draw_seeds=False) as envs:
        envs.reset(seed=11)
        for batch in actions:
            result = envs.step(batch)
            if mode is AutoresetMode.DISABLED:
                _reset_the_ended(envs, result)
    recorded = _recorded(tmp_path)
    assert len(rlds_kit.open(tmp_path).episodes) > 3 * ENVS
    for index in range(ENVS):
        _compare(recorded[index], _tell(Walk(), mode, 11 + index, list(actions[:, index])))
        assert [episode.seed for episode in recorded[index]][:2] == [11 + index, None]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_atari_vector_env_is_recorded_as_single_ones(tmp_path: Path, mode: AutoresetMode) -> None:
    """ale_py batches in its own way: no masks, stacked final observations, no final infos, int32 rewards."""
    ale_py = pytest.importorskip("ale_py", minversion="0.12", reason="older versions do not say how they autoreset")
    actions = np.random.default_rng(3).integers(0, 4, (120, 2))
    options = {"noop_max": 0, "use_fire_reset": False, "episodic_life": True, "autoreset_mode": mode}
    with logger.VectorLogger(ale_py.AtariVectorEnv("breakout", 2, **options), tmp_path) as envs:
        envs.reset(seed=5)
        for batch in actions:
            envs.step(batch)
    recorded = _recorded(tmp_path)
    for index in range(2):
        single = _SingleAtari(ale_py.AtariVectorEnv("breakout", 1, **options | {"autoreset_mode": "NextStep"}), index)
        told = _tell(single, mode, 5 + index, list(actions[:, index]))
        if mode is AutoresetMode.SAME_STEP:
            for episode in told[:-1]:
                episode.infos[-1] = {}  # which ale_py does not hand out
        assert len(told) > 2
        _compare(recorded[index], told)
    assert [episode.length for episode in recorded[0]] != [episode.length for episode in recorded[1]]
    assert type(recorded[0][0].steps[0]["reward"]) is np.int32


class _SingleAtari(gymnasium.Env[Any, Any]):
    """One environment of an AtariVectorEnv of one, for ale_py's single environments preprocess nothing."""

    def __init__(self, envs: VectorEnv[Any, Any, Any], env_id: int) -> None:
        self.envs, self.env_id, self.is_due = envs, env_id, False

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if self.is_due:  # its own autoreset, for another reset would draw other random numbers
            observations, _, _, _, infos = self.envs.step(np.zeros(1, np.int64))
        else:
            observations, infos = self.envs.reset(seed=seed)
        self.is_due = False
        return observations[0], self._info(infos)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observations, rewards, terminations, truncations, infos = self.envs.step(np.array([action]))
        self.is_due = bool(terminations[0] or truncations[0])
        return observations[0], rewards[0], bool(terminations[0]), bool(truncations[0]), self._info(infos)

    def _info(self, infos: dict[str, Any]) -> dict[str, Any]:
        return {key: value[0] for key, value in infos.items()} | {"env_id": self.env_id}


@pytest.mark.parametrize("mode", MODES)
def test_provenance_of_hundreds_of_steps_is_as_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: AutoresetMode
) -> None:
    """Seeds, resets and steps of each episode, though most steps are only logged, and flushes come at any time."""
    added = _count_logged(monkeypatch)
    for name, step_fn in (("columns", None), ("rows", lambda *_: None)):
        rng = np.random.default_rng(5)
        inner = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode=mode)
        with logger.VectorLogger(inner, tmp_path / name, step_fn=step_fn, policy=FlushPolicy.manual()) as envs:
            envs.reset(seed=7)
            for step in range(500):
                result = envs.step(rng.integers(0, 2, 4))
                if mode is AutoresetMode.DISABLED:
                    _reset_the_ended(envs, result)
                if rng.random() < 0.03:
                    envs.recorder.flush()
                if step in (150, 330):
                    envs.reset(seed=step)
                elif step == 250:
                    envs.reset()
    assert sum(added) > (400 if mode is AutoresetMode.NEXT_STEP else 150) or not IS_ATOMIC
    found = content_of(tmp_path / "columns")
    assert found == content_of(tmp_path / "rows")
    chains = [chain for lane in found.values() for *_, chain in lane]
    assert all({"seed", "resets", "steps"} <= chain.keys() for chain in chains)
    assert len({(chain["seed"], chain["resets"], chain["steps"]) for chain in chains}) == len(chains) > 60


def _count_logged(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each row that was offered to a log was added; grows with each."""
    open_log, added = BatchRecorder.open_log, list[bool]()

    def counted(self: BatchRecorder, *given: Any) -> RowLog | None:
        log = open_log(self, *given)
        if log is not None:
            log.put, log.step = (_counting(log, each, added) for each in (log.put, log.step))
        return log

    monkeypatch.setattr(BatchRecorder, "open_log", counted)
    return added


def _counting(log: RowLog, add: Callable[..., Any], added: list[bool]) -> Callable[..., Any]:
    """As `add`, and notes whether the log has a row more afterwards."""

    def counted(*given: Any) -> Any:
        before = log.rows
        found = add(*given)
        added.append(log.rows > before)
        return found

    return counted


class Counting(gymnasium.Env[Any, Any]):
    """Observes the last seed, and the resets and steps since; episodes have 2 to 9 steps."""

    observation_space = spaces.Box(0, np.inf, (3,), np.float64)
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.seed = self.resets = self.steps = self.left = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.seed, self.resets, self.steps = (self.seed, self.resets + 1, self.steps) if seed is None else (seed, 0, 0)
        self.left = int(self.np_random.integers(2, 10))
        return self._observed(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps, self.left = self.steps + 1, self.left - 1
        return self._observed(), 0.0, self.left == 0, False, {}

    def _observed(self) -> Any:
        return np.array([self.seed, self.resets, self.steps], np.float64)


class Failing(Wrapper):
    """Makes its steps, and then some raise, or return too few flags."""

    def __init__(self, envs: VectorEnv[Any, Any, Any], raising: set[int], *, is_raising: bool) -> None:
        super().__init__(envs)
        self.number, self.raising, self.is_raising = 0, raising, is_raising

    def step(self, actions: Any) -> Any:
        result, self.number = self.env.step(actions), self.number + 1
        if self.number not in self.raising:
            return result
        if self.is_raising:
            raise RuntimeError
        return *result[:2], result[2][:1], *result[3:]


@pytest.mark.parametrize("is_raising", [True, False])
@pytest.mark.parametrize("seed", [None, 40])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_provenance_is_right_after_steps_that_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: AutoresetMode, seed: int | None, is_raising: bool
) -> None:
    """They were made; the recording goes on after a reset, with a seed or without, and is as row by row."""
    added = _count_logged(monkeypatch)
    for name, step_fn in (("columns", None), ("rows", lambda *_: None)):
        vector = SyncVectorEnv([Counting] * ENVS, autoreset_mode=mode)
        inner = Failing(vector, {13, 57, 58, 101}, is_raising=is_raising)
        with logger.VectorLogger(inner, tmp_path / name, step_fn=step_fn) as envs:
            envs.reset(seed=7)
            for _ in range(150):
                try:
                    envs.step(np.zeros(ENVS, np.int64))
                except (RuntimeError, SpecError):
                    envs.reset(seed=None if seed is None else seed + inner.number)
    assert sum(added) > (100 if mode is AutoresetMode.NEXT_STEP else 30) or not IS_ATOMIC
    assert content_of(tmp_path / "columns") == content_of(tmp_path / "rows")
    episodes = rlds_kit.open(tmp_path / "columns").episodes
    assert len(episodes) > 40
    for episode in episodes if mode is AutoresetMode.NEXT_STEP or seed is not None else ():
        # Else the result that was lost would have said whether a reset was a part of the step.
        chain = episode.provenance["reset_chain"]
        assert episode.steps[0]["observation"].tolist() == [chain["seed"], chain["resets"], chain["steps"]]


def test_episodes_say_when_they_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the times before and after the step that began them, however many steps later they are written."""
    added, times = _count_logged(monkeypatch), list[tuple[int, int]]()
    with logger.VectorLogger(SyncVectorEnv([Counting] * ENVS), tmp_path, policy=FlushPolicy.manual()) as envs:
        for number in range(200):
            before = time.time_ns()
            if number:
                envs.step(np.zeros(ENVS, np.int64))
            else:
                envs.reset(seed=7)
            times.append((before, time.time_ns()))
            if number % 70 == 50:
                envs.recorder.flush()
    assert sum(added) > 150 or not IS_ATOMIC
    episodes = rlds_kit.open(tmp_path).episodes
    assert len(episodes) > 60
    for episode in episodes:
        before, after = times[int(episode.steps[0]["observation"][1:].sum())]
        assert before <= episode._start.started_unix_ns <= after


def test_results_pass_through_as_the_same_objects(tmp_path: Path) -> None:
    """The wrapper returns the objects of the environment unchanged, including infos with final observations."""
    made: list[Any] = []

    class Noting(Wrapper):
        def step(self, actions: Any) -> Any:
            made.append(super().step(actions))
            return made[-1]

    inner = Noting(SyncVectorEnv([Walk] * ENVS, autoreset_mode=AutoresetMode.SAME_STEP))
    with logger.VectorLogger(inner, tmp_path) as envs:
        envs.reset(seed=1)
        got = [envs.step(np.ones((ENVS, 2), np.int64)) for _ in range(20)]
    assert all(one is other for one, other in zip(made, got, strict=True))
    assert any("final_obs" in result[4] for result in got)


def test_observations_in_reused_memory_are_copied(tmp_path: Path) -> None:
    """With copy=False the vector environment returns the same arrays again and again."""
    with logger.VectorLogger(SyncVectorEnv([Walk], copy=False), tmp_path, draw_seeds=False) as envs:
        envs.reset(seed=3)
        actions = np.ones((30, 1, 2), np.int64)
        for batch in actions:
            envs.step(batch)
    _compare(_recorded(tmp_path)[0], _tell(Walk(), AutoresetMode.NEXT_STEP, 3, list(actions[:, 0])))


@pytest.mark.parametrize("step_fn", [None, lambda *_: {}])
def test_flags_may_be_a_column(tmp_path: Path, step_fn: Any) -> None:
    """Some environments return them so; the caller gets the same objects."""

    class Columns(Wrapper):
        def step(self, actions: Any) -> Any:
            observations, rewards, *_, infos = self.env.step(actions)
            return observations, rewards, np.arange(ENVS)[:, np.newaxis] == 1, np.zeros((ENVS, 1), np.bool_), infos

    with logger.VectorLogger(Columns(SyncVectorEnv([Walk] * ENVS)), tmp_path, step_fn=step_fn) as envs:
        envs.reset(seed=1)
        assert envs.step(envs.action_space.sample())[2].shape == (ENVS, 1)
    assert sorted(each.terminated for each in rlds_kit.open(tmp_path).episodes) == [False, False, True]


def test_statistics_of_a_wrapper_below_are_recorded(tmp_path: Path) -> None:
    """RecordEpisodeStatistics has its own way of masking."""
    inner = gymnasium.wrappers.vector.RecordEpisodeStatistics(SyncVectorEnv([Walk] * ENVS))
    with logger.VectorLogger(inner, tmp_path) as envs:
        envs.reset(seed=1)
        for _ in range(30):
            envs.step(np.ones((ENVS, 2), np.int64))
    whole = [episode for episode in rlds_kit.open(tmp_path).episodes if episode.end is not EpisodeEnd.INTERRUPTED]
    assert whole
    for episode in whole:
        infos = [step["info"] for step in episode.steps]
        assert ["episode" in info for info in infos] == [False] * (len(infos) - 1) + [True]
        assert infos[-1]["episode"]["l"] == len(infos) - 1


def test_batched_spaces_without_arrays(tmp_path: Path) -> None:
    """Text is batched as a tuple, and comes apart again."""

    class Teller(gymnasium.Env[Any, Any]):
        observation_space = spaces.Text(20)
        action_space = spaces.Text(20)

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return "once", {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return action * 2, 0.0, False, False, {}

    with logger.VectorLogger(SyncVectorEnv([Teller] * 2), tmp_path) as envs:
        envs.reset()
        envs.step(("ab", "cd"))
    texts = {index: [step["observation"] for step in _recorded(tmp_path)[index][0].steps] for index in range(2)}
    assert texts == {0: ["once", "abab"], 1: ["once", "cdcd"]}


@pytest.mark.parametrize(
    ("seed", "expected"), [(7, [7, 8, 9]), ([3, 1, 2], [3, 1, 2])], ids=["one number", "one for each"]
)
def test_seeds_are_recorded_as_each_environment_gets_them(tmp_path: Path, seed: Any, expected: list[int]) -> None:
    """Gymnasium counts an integer up."""
    with logger.VectorLogger(SyncVectorEnv([Walk] * ENVS), tmp_path) as envs:
        observations, _ = envs.reset(seed=seed)
    recorded = _recorded(tmp_path)
    assert [recorded[index][0].seed for index in range(ENVS)] == expected
    for index, one in enumerate(expected):
        np.testing.assert_array_equal(observations["place"][index], Walk().reset(seed=one)[0]["place"])


def test_drawn_seeds_are_passed_on_and_recorded(tmp_path: Path) -> None:
    """Also those that a list leaves open."""
    with logger.VectorLogger(SyncVectorEnv([Walk] * ENVS), tmp_path, draw_seeds=True) as envs:
        first, _ = envs.reset()
        second, _ = envs.reset(seed=[5, None, 6])
    recorded = _recorded(tmp_path)
    for number, observations in enumerate((first, second)):
        for index in range(ENVS):
            seed = recorded[index][number].seed
            np.testing.assert_array_equal(observations["place"][index], Walk().reset(seed=seed)[0]["place"])
    assert [recorded[index][1].seed for index in (0, 2)] == [5, 6]


def test_drawn_seeds_follow_from_the_callers(tmp_path: Path) -> None:
    """A seeded run repeats itself."""
    seeds = []
    for run in ("one", "two"):
        with logger.VectorLogger(SyncVectorEnv([Walk] * ENVS), tmp_path / run, draw_seeds=True) as envs:
            envs.reset(seed=4)
            envs.reset()
        seeds.append([episode.seed for episode in rlds_kit.open(tmp_path / run).episodes])
    assert seeds[0] == seeds[1]


@pytest.mark.parametrize("seed", [5, np.array([8, 9])])
def test_atari_counts_the_seeds_of_a_partial_reset_by_rank(tmp_path: Path, seed: Any) -> None:
    """Among those that are reset, unlike Gymnasium's own vector environments."""
    ale_py = pytest.importorskip("ale_py", minversion="0.12", reason="older versions do not say how they autoreset")
    with logger.VectorLogger(ale_py.AtariVectorEnv("breakout", 3), tmp_path) as envs:
        envs.reset(seed=1)
        envs.reset(seed=seed, options={"reset_mask": np.array([True, False, True])})
    recorded = _recorded(tmp_path)
    seeds = [[episode.seed for episode in recorded[index]] for index in range(3)]
    assert seeds == ([[1, 5], [2], [3, 6]] if isinstance(seed, int) else [[1, 8], [2], [3, 9]])


def test_reset_mask_is_no_option_of_the_episode(tmp_path: Path) -> None:
    """Other options are recorded; Gymnasium takes the mask out of the caller's dict, with or without us."""
    with logger.VectorLogger(SyncVectorEnv([Walk] * 2, autoreset_mode=AutoresetMode.DISABLED), tmp_path) as envs:
        envs.reset(options={"level": 1})
        envs.reset(options={"level": 2, "reset_mask": np.array([False, True])})
    recorded = _recorded(tmp_path)
    assert [[episode.options for episode in recorded[index]] for index in range(2)] == [
        [{"level": 1}],
        [{"level": 1}, {"level": 2}],
    ]


def test_autoreset_episodes_say_so(tmp_path: Path) -> None:
    """They have no seed, for their environment went on with the random numbers it had."""
    with logger.VectorLogger(SyncVectorEnv([Walk]), tmp_path) as envs:
        envs.reset(seed=1)
        for _ in range(30):
            envs.step(np.ones((1, 2), np.int64))
    episodes = _recorded(tmp_path)[0]
    assert [episode.provenance["autoreset"] for episode in episodes] == [False] + [True] * (len(episodes) - 1)


def test_reset_of_all_in_the_middle_interrupts_all(tmp_path: Path) -> None:
    """Also where an autoreset was due, which then does not happen."""

    class Short(Walk):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            observation, reward, _, _, info = super().step(action)
            return observation, reward, bool(action[0]), False, info

    with logger.VectorLogger(SyncVectorEnv([Short] * 2), tmp_path) as envs:
        envs.reset()
        envs.step(np.array([[1, 0], [0, 0]]))
        envs.reset()
        envs.step(np.array([[0, 0], [0, 0]]))
    recorded = _recorded(tmp_path)
    ends = [[(episode.length, episode.end) for episode in recorded[index]] for index in range(2)]
    cut = (2, EpisodeEnd.INTERRUPTED)
    assert ends == [[(2, EpisodeEnd.TERMINATED), cut], [cut, cut]]


def test_single_environment_is_refused(tmp_path: Path) -> None:
    """The message names the logger for it."""
    with pytest.raises(TypeError, match=r"expected a gymnasium.vector.VectorEnv, got .* there is GymnasiumLogger"):
        logger.VectorLogger(Walk(), tmp_path)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("mode", [None, "NoSuchMode"])
def test_unknown_autoreset_mode_is_refused(tmp_path: Path, mode: str | None) -> None:
    """A reset could not be distinguished from a step."""
    inner = SyncVectorEnv([Walk])
    inner.metadata.pop("autoreset_mode")
    if mode:
        inner.metadata["autoreset_mode"] = mode
    with pytest.raises(ValueError, match=r"to be one of NEXT_STEP, SAME_STEP, DISABLED of .* got (None|'NoSuchMode')"):
        logger.VectorLogger(inner, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_partial_batches_are_refused(tmp_path: Path) -> None:
    """ale_py can serve some of its environments at a time, in any order."""
    ale_py = pytest.importorskip("ale_py", minversion="0.12", reason="older versions do not say how they autoreset")
    inner = ale_py.AtariVectorEnv("breakout", 3, batch_size=2)
    with pytest.raises(ValueError, match="a step serves 2 of its 3 sub-environments"):
        logger.VectorLogger(inner, tmp_path)


def test_missing_final_observation_is_undefined(tmp_path: Path) -> None:
    """The last action is recorded; its result is not taken from the next episode."""

    class Forgetful(Wrapper):
        def step(self, actions: Any) -> Any:
            *result, infos = super().step(actions)
            return (*result, {key: value for key, value in infos.items() if "final" not in key})

    inner = Forgetful(SyncVectorEnv([Walk], autoreset_mode=AutoresetMode.SAME_STEP))
    with logger.VectorLogger(inner, tmp_path, draw_seeds=False) as envs:
        envs.reset(seed=3)
        actions = np.ones((30, 1, 2), np.int64)
        for batch in actions:
            envs.step(batch)
    told = _tell(Walk(), AutoresetMode.SAME_STEP, 3, list(actions[:, 0]))
    episodes = _recorded(tmp_path)[0]
    assert len(episodes) == len(told) > 3
    for episode, expected in zip(episodes[:-1], told[:-1], strict=True):
        assert episode.mask("observation/place").tolist() == [True] * len(expected.actions) + [False]
        np.testing.assert_equal(episode["action"][:-1], np.stack(expected.actions))
        np.testing.assert_equal([step["observation"] for step in episode.steps[:-1]], expected.observations[:-1])


@pytest.mark.filterwarnings("ignore:.*It is recorded exactly as it came:UserWarning")
@pytest.mark.parametrize("step_fn", [None, lambda *_: {}])
@pytest.mark.parametrize("mode", MODES)
def test_an_observation_of_none_is_a_value(tmp_path: Path, mode: AutoresetMode, step_fn: Any) -> None:
    """It is recorded as a single logger does, with its info; only a last one that is not returned is missing."""

    class Silent(Wrapper):
        def step(self, actions: Any) -> Any:
            _, rewards, *_, infos = self.env.step(actions)
            never = np.zeros(ENVS, np.bool_)
            return [None] * ENVS, rewards, never, never, {"on": np.arange(ENVS), **infos}

    envs = Silent(SyncVectorEnv([Walk] * ENVS, autoreset_mode=mode))
    with logger.VectorLogger(envs, tmp_path, step_fn=step_fn) as recorded:
        recorded.reset(seed=1)
        recorded.step(recorded.action_space.sample())
    for number, episode in enumerate(rlds_kit.open(tmp_path).episodes):
        last = episode.steps[-1]
        assert (last["observation"], last["info"]["on"]) == (None, number)


def test_row_that_cannot_be_recorded_costs_no_other_environment(tmp_path: Path) -> None:
    """The rows of the others are recorded, and then the error is raised."""

    class Odd(Walk):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            observation, reward, _, _, info = super().step(action)
            return observation, reward, False, False, info | ({"robot": object()} if action[0] == 2 else {})

    with logger.VectorLogger(SyncVectorEnv([Odd] * 3), tmp_path) as envs:
        envs.reset()
        with pytest.raises(UnsupportedTypeError, match="info/robot: cannot record object"):
            envs.step(np.array([[0, 0], [2, 0], [0, 0]]))
        envs.step(np.zeros((3, 2), np.int64))
    recorded = _recorded(tmp_path)
    assert [[episode.length for episode in recorded[index]] for index in range(3)] == [[3], [1], [3]]


@pytest.mark.parametrize("step_fn", [None, lambda *_: {}], ids=["columns", "rows"])
def test_infos_with_a_mask_that_is_none_end_the_episodes(tmp_path: Path, step_fn: Any) -> None:
    """Of the environments for which it counts; their next rows do not follow the last recorded ones."""

    class Odd(Wrapper):
        def step(self, actions: Any) -> Any:
            *result, infos = self.env.step(actions)
            lives = {"lives": np.arange(ENVS), "_lives": np.array([0.5] * ENVS)}
            return *result, {**infos, **({"game": lives, "_game": np.arange(ENVS) > 0} if actions[0, 0] == 2 else {})}

    with logger.VectorLogger(Odd(SyncVectorEnv([Endless] * ENVS)), tmp_path, step_fn=step_fn) as envs:
        envs.reset(seed=1)
        envs.step(np.zeros((ENVS, 2), np.int64))
        with pytest.raises(TypeError, match=r"infos: _lives: expected 3 truth values, .* as the mask of 'lives'; put"):
            envs.step(np.full((ENVS, 2), 2))
        envs.step(np.zeros((ENVS, 2), np.int64))
    recorded = _recorded(tmp_path)
    steps = [[each["observation/steps"].tolist() for each in recorded[index]] for index in range(ENVS)]
    assert steps == [[[0, 1, 2, 3]], [[0, 1]], [[0, 1]]]


@pytest.mark.parametrize("step_fn", [None, lambda *_: {}], ids=["columns", "rows"])
@pytest.mark.parametrize("name", ["action", "reward"])
def test_too_few_values_are_refused_after_the_step(tmp_path: Path, name: str, step_fn: Any) -> None:
    """Actions too: whether they are valid is for the environment to decide."""
    made = []

    class Lenient(Wrapper):
        def step(self, actions: Any) -> Any:
            made.append(actions)
            observations, rewards, *rest = self.env.step(np.ones((ENVS, 2), np.int64))
            return observations, rewards[1:] if name == "reward" else rewards, *rest

    with logger.VectorLogger(Lenient(SyncVectorEnv([Endless] * ENVS)), tmp_path, step_fn=step_fn) as envs:
        envs.reset(seed=1)
        actions = np.full((2, 2), 7) if name == "action" else np.ones((ENVS, 2), np.int64)
        with pytest.raises(SpecError, match=f"{name}: expected 3 values, one for each environment, got 2"):
            envs.step(actions)
    assert made == [actions]
    assert [len(each["observation/steps"]) for each in rlds_kit.open(tmp_path).episodes] == [1] * ENVS


@pytest.mark.parametrize("step_fn", [None, lambda *_: {}], ids=["columns", "rows"])
def test_batches_of_a_device_are_recorded(tmp_path: Path, step_fn: Any) -> None:
    """As the arrays that they contain, in infos too."""

    class Batch:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.array

    class Device(Wrapper):
        def reset(self, **kwargs: Any) -> Any:
            return super().reset(**kwargs)[0], {"place": Batch(np.arange(ENVS))}

        def step(self, actions: Any) -> Any:
            observations, rewards, *flags, _ = self.env.step(actions)
            on = np.zeros(ENVS, np.bool_)
            infos = {"place": Batch(np.arange(ENVS)), "deep": {"on": Batch(on)}, "_deep": Batch(~on)}
            return {key: Batch(item) for key, item in observations.items()}, Batch(rewards), *flags, infos

    with logger.VectorLogger(Device(SyncVectorEnv([Endless] * ENVS)), tmp_path, step_fn=step_fn) as envs:
        envs.reset(seed=1)
        envs.step(np.ones((ENVS, 2), np.int64))
    for number, (episode,) in _recorded(tmp_path).items():
        assert [step["info"] for step in episode.steps] == [{"place": number}, {"place": number, "deep": {"on": False}}]
        assert episode["observation/steps"].tolist() == [0, 1]


@pytest.mark.parametrize("step_fn", [None, lambda *_: {}], ids=["columns", "rows"])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_steps_before_a_reset_are_recorded_from_the_first_autoreset_on(
    tmp_path: Path, mode: AutoresetMode, step_fn: Any
) -> None:
    """Where the environment allows them."""
    envs = SyncVectorEnv([Walk], autoreset_mode=mode)
    envs.reset(seed=1)
    with logger.VectorLogger(envs, tmp_path, step_fn=step_fn) as log:
        ends = 0
        for _ in range(30):
            _, _, terminated, truncated, _ = log.step(np.ones((1, 2), np.int64))
            ends += int((terminated | truncated).sum())
    found = rlds_kit.open(tmp_path).episodes
    assert len(found) == ends > 3
    assert all(episode.provenance["autoreset"] for episode in found)


def test_each_environment_has_its_own_scheduler(tmp_path: Path) -> None:
    """One that counts steps or episodes counts those of one environment."""
    inner = gymnasium.make_vec("CartPole-v1", num_envs=2)
    with logger.VectorLogger(inner, tmp_path, make_scheduler=lambda index: logger.NStepScheduler(index + 2)) as envs:
        envs.reset(seed=1)
        for _ in range(4):
            envs.step(np.ones(2, np.int64))
    first = [_recorded(tmp_path)[index][0]["step_index"].tolist() for index in range(2)]
    assert first == [[0, 2, 4], [0, 3, 4]]


def test_callbacks_receive_the_number_of_the_environment(tmp_path: Path) -> None:
    """Time steps carry the index, the info and the flags of one sub-environment."""

    def step_fn(step: logger.GymnasiumTimeStep, _action: Any, env: Any) -> dict[str, Any]:
        assert isinstance(env, SyncVectorEnv)
        return {"me": step.env_index, "text_seen": step.info.get("text")}

    with logger.VectorLogger(
        SyncVectorEnv([Walk] * 2), tmp_path, step_fn=step_fn, episode_fn=lambda step, *_: {"index": step.env_index}
    ) as envs:
        envs.reset(seed=2)
        envs.step(np.ones((2, 2), np.int64))
    for index, (episode,) in _recorded(tmp_path).items():
        assert [step["me"] for step in episode.steps] == [index, index]
        assert episode.steps[0]["text_seen"] == episode.steps[0]["info"]["text"]
        assert episode.metadata == {"index": index}


def test_it_is_a_wrapper_like_any_other(tmp_path: Path) -> None:
    """Types, spaces, and what Gymnasium's own vector environments have beyond the interface."""
    inner = SyncVectorEnv([Walk] * 2)
    with logger.VectorLogger(inner, tmp_path) as envs:
        assert isinstance(envs, gymnasium.vector.VectorWrapper)
        assert (envs.num_envs, envs.unwrapped) == (2, inner)
        assert envs.single_action_space == inner.single_action_space
        assert envs.call("get_wrapper_attr", "steps") == (0, 0)
        assert envs.envs is inner.envs
        wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
        wrapped.reset(seed=1)
        wrapped.step(np.ones((2, 2), np.int64))
    assert inner.closed
    assert len(rlds_kit.open(tmp_path).episodes) == 2


def test_steps_that_would_go_past_the_logger_are_refused(tmp_path: Path) -> None:
    """Rather than left out of the data."""
    with (
        logger.VectorLogger(AsyncVectorEnv([Walk]), tmp_path) as envs,
        pytest.raises(AttributeError, match="step_async: steps made with it would not be recorded"),
    ):
        envs.step_async(np.ones((1, 2), np.int64))


def test_processes_may_have_loggers_of_their_own(tmp_path: Path) -> None:
    """Each worker of an AsyncVectorEnv then records into the directory by itself, and nothing is lost at its end."""
    each = [lambda: logger.GymnasiumLogger(Walk(), tmp_path / "each", draw_seeds=False)] * 2
    # Spawned: other tests have started threads of other libraries in this process, which may not survive a fork.
    spawned = AsyncVectorEnv(each, context="spawn")
    with logger.VectorLogger(spawned, tmp_path / "all", draw_seeds=False) as envs:
        envs.reset(seed=1)
        for _ in range(20):
            envs.step(np.ones((2, 2), np.int64))
    lengths = [
        sorted(episode.length for episode in rlds_kit.open(tmp_path / name).episodes) for name in ("each", "all")
    ]
    assert lengths[0] == lengths[1]


def test_action_outside_its_space_is_warned_of_once(tmp_path: Path) -> None:
    """For all sub-environments together; recorded as it was."""
    with logger.VectorLogger(SyncVectorEnv([Walk] * 2), tmp_path) as envs:
        envs.reset(seed=1)
        with pytest.warns(UserWarning, match=r"action: 1 of 2 elements outside") as seen:
            envs.step(np.array([[7, 0], [8, 0]]))
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert [_recorded(tmp_path)[index][0]["action"][0].tolist() for index in range(2)] == [[7, 0], [8, 0]]


def test_environment_is_described(tmp_path: Path) -> None:
    """Id, number and autoreset mode of the vector environment."""
    with logger.VectorLogger(
        gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"), tmp_path
    ) as envs:
        envs.reset()
    environment = rlds_kit.open(tmp_path).environment
    assert (environment["id"], environment["num_envs"]) == ("CartPole-v1", 2)
    assert environment["autoreset_mode"] == "NextStep"


def test_observation_that_does_not_fit_names_its_place(tmp_path: Path) -> None:
    """As for a single environment."""

    class Wrong(Wrapper):
        def step(self, actions: Any) -> Any:
            observations, *rest = super().step(actions)
            return ({**observations, "place": observations["place"].astype(np.float64) + 0.1}, *rest)

    with logger.VectorLogger(Wrong(SyncVectorEnv([Walk])), tmp_path, strict=True) as envs:
        envs.reset()
        with pytest.raises(SpecError, match=r"observation/place: expected float32 \(2,\), got float64 \(2,\)"):
            envs.step(np.ones((1, 2), np.int64))


@pytest.mark.parametrize("steps", [0, 20])
def test_nothing_is_stepped_when_recording_stopped(tmp_path: Path, steps: int) -> None:
    """Whether the steps before were like each other, or there were none: the disk is full, or the recorder closed."""
    envs = _counting_logger(tmp_path / "full", steps)
    envs.recorder._intake._thread._fail(OSError("no space"))
    _step_in_vain(envs)
    with pytest.raises(RecordingError, match="no space"):
        envs.close()
    envs = _counting_logger(tmp_path / "closed", steps)
    envs.close()
    _step_in_vain(envs)


def test_an_interrupt_before_a_step_ends_no_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environments were not stepped, so the next step goes on where they are."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with _counting_logger(tmp_path / "one", 20) as envs:
        counts = envs._calls.tolist()
        for name in ("step_again", "put_again"):
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(envs._log, "step_again", interrupt if name == "step_again" else lambda *_: None)
                patch.setattr(envs._check_action, "copy_of", interrupt)
                envs.step(np.zeros(ENVS, np.int64))
        assert envs._calls.tolist() == counts == [20, 0]
        for _ in range(20):
            envs.step(np.zeros(ENVS, np.int64))
    with _counting_logger(tmp_path / "other", 40):
        pass
    assert content_of(tmp_path / "one") == content_of(tmp_path / "other")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_is_stepped_in_a_forked_child(tmp_path: Path) -> None:
    """Its parent has the recorder."""
    with _counting_logger(tmp_path, 20) as envs:
        assert exit_code_of_child(lambda: _step_in_vain(envs)) == 0


def _counting_logger(directory: Path, steps: int) -> logger.VectorLogger:
    """One that has made so many steps."""
    envs = logger.VectorLogger(SyncVectorEnv([Counting] * ENVS), directory)
    envs.reset(seed=1)
    for _ in range(steps):
        envs.step(np.zeros(ENVS, np.int64))
    return envs


def _step_in_vain(envs: logger.VectorLogger) -> None:
    inner: Any = envs.unwrapped
    before = [env.steps for env in inner.envs]
    with pytest.raises(RecordingError):
        envs.step(np.zeros(ENVS, np.int64))
    assert [env.steps for env in inner.envs] == before
