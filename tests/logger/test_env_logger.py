"""`EnvLogger` records dm_env environments with EnvLogger's meaning and without its defects."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dm_env
import numpy as np
import pytest
from dm_env import specs

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, UnsupportedTypeError, logger


class Counter(dm_env.Environment):
    """Counts steps and ends after `length` of them with `discount`. The reward is the count."""

    def __init__(self, length: int = 4, discount: Any = 0.0) -> None:
        self.length, self.discount, self.resets = length, discount, 0
        self.count: int | None = None

    def reset(self) -> dm_env.TimeStep:
        self.resets += 1
        self.count = 0
        return dm_env.TimeStep(dm_env.StepType.FIRST, None, None, np.int64(0))

    def step(self, action: Any) -> dm_env.TimeStep:
        if self.count is None:
            return self.reset()
        self.count += 1
        reward, observation = float(self.count), np.int64(self.count)
        if self.count < self.length:
            return dm_env.TimeStep(dm_env.StepType.MID, reward, 0.5, observation)
        self.count = None
        return dm_env.TimeStep(dm_env.StepType.LAST, reward, self.discount, observation)

    def observation_spec(self) -> specs.Array:
        return specs.Array((), np.int64, "count")

    def action_spec(self) -> specs.DiscreteArray:
        return specs.DiscreteArray(10, np.int64)

    def discount_spec(self) -> Any:
        return specs.Array(np.shape(self.discount), float, "discount")


def _play(env: dm_env.Environment, episodes: int = 1) -> None:
    for _ in range(episodes):
        step = env.reset()
        while not step.last():
            step = env.step(1)


def _only(directory: Path) -> rlds_kit.Episode:
    (episode,) = rlds_kit.open(directory).episodes
    return episode


def test_steps_are_recorded_in_sar_alignment(tmp_path: Path) -> None:
    """Action, reward and discount stand with the observation that they follow; the last row has none."""
    with logger.EnvLogger(Counter(), tmp_path) as env:
        env.reset()
        for action in (5, 6, 7, 8):
            env.step(action)
    episode = _only(tmp_path)
    assert episode["observation"].tolist() == [0, 1, 2, 3, 4]
    assert episode["action"].tolist() == [5, 6, 7, 8, 0]
    assert episode["reward"].tolist() == [1.0, 2.0, 3.0, 4.0, 0.0]
    assert episode["discount"].tolist() == [0.5, 0.5, 0.5, 0.0, 0.0]
    assert episode.mask("action").tolist() == [True] * 4 + [False]


def test_time_steps_pass_through_untouched(tmp_path: Path) -> None:
    """The caller gets the very time steps that the environment made."""
    made = []

    class Noting(Counter):
        def step(self, action: Any) -> dm_env.TimeStep:
            made.append(super().step(action))
            return made[-1]

    with logger.EnvLogger(Noting(), tmp_path) as env:
        env.reset()
        got = [env.step(1) for _ in range(4)]
    assert all(one is other for one, other in zip(made, got, strict=True))


@pytest.mark.parametrize(
    ("discount", "end"),
    [
        (0.0, EpisodeEnd.TERMINATED),
        (1.0, EpisodeEnd.TRUNCATED),
        (0.5, EpisodeEnd.TRUNCATED),
        (np.zeros(3), EpisodeEnd.TERMINATED),
        (np.array([0.0, 0.0, 1.0]), EpisodeEnd.TRUNCATED),
    ],
)
def test_last_discount_says_how_the_episode_ended(tmp_path: Path, discount: Any, end: EpisodeEnd) -> None:
    """Zero, in all elements of an array, is a termination; anything else a truncation."""

    class Vector(Counter):
        def step(self, action: Any) -> dm_env.TimeStep:
            step = super().step(action)
            return step if step.last() or step.first() else step._replace(discount=np.ones_like(discount))

    with logger.EnvLogger(Vector(discount=discount), tmp_path) as env:
        _play(env)
    assert _only(tmp_path).end is end


def test_nested_discounts_that_are_all_zero_terminate(tmp_path: Path) -> None:
    """A dict of discounts ends the episode as TERMINATED only when all of them are zero."""

    class Team(Counter):
        def step(self, action: Any) -> dm_env.TimeStep:
            step = super().step(action)
            return step if step.first() else step._replace(discount={"a": step.discount, "b": 0.0})

        def discount_spec(self) -> Any:
            return {"a": specs.Array((), float), "b": specs.Array((), float)}

    with logger.EnvLogger(Team(), tmp_path / "zero") as env:
        _play(env)
    with logger.EnvLogger(Team(discount=1.0), tmp_path / "one") as env:
        _play(env)
    ends = [_only(tmp_path / name).end for name in ("zero", "one")]
    assert ends == [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED]


def test_step_after_last_resets_and_does_not_record_the_action(tmp_path: Path) -> None:
    """As dm_env specifies; the ignored action is not in the data."""
    with logger.EnvLogger(Counter(length=2), tmp_path) as env:
        env.reset()
        env.step(1)
        env.step(2)
        assert env.step(9).first()
        env.step(3)
    episodes = rlds_kit.open(tmp_path).episodes
    assert [episode["action"].tolist() for episode in episodes] == [[1, 2, 0], [3, 0]]
    assert [episode.end for episode in episodes] == [EpisodeEnd.TERMINATED, EpisodeEnd.INTERRUPTED]


def test_step_before_reset_resets_once(tmp_path: Path) -> None:
    """The first step of a new environment begins an episode."""
    counter = Counter()
    with logger.EnvLogger(counter, tmp_path) as env:
        assert env.step(7).first()
        env.step(1)
    assert counter.resets == 1
    assert _only(tmp_path)["action"].tolist() == [1, 0]


def test_reset_in_the_middle_interrupts(tmp_path: Path) -> None:
    """It is no truncation: the environment did not end anything."""
    with logger.EnvLogger(Counter(), tmp_path) as env:
        env.reset()
        env.step(1)
        _play(env)
    episodes = rlds_kit.open(tmp_path).episodes
    assert [(episode.length, episode.end) for episode in episodes] == [
        (2, EpisodeEnd.INTERRUPTED),
        (5, EpisodeEnd.TERMINATED),
    ]


def test_environment_that_starts_again_by_itself_interrupts(tmp_path: Path) -> None:
    """A FIRST in the middle begins another episode and joins nothing to the open one."""

    class Restless(Counter):
        def step(self, action: Any) -> dm_env.TimeStep:
            return self.reset() if action == 9 else super().step(action)

    with logger.EnvLogger(Restless(), tmp_path) as env:
        env.reset()
        for action in (1, 2, 9, 3):
            env.step(action)
    episodes = rlds_kit.open(tmp_path).episodes
    assert [episode["action"].tolist() for episode in episodes] == [[1, 2, 0], [3, 0]]
    assert episodes[0].end is EpisodeEnd.INTERRUPTED


def test_episode_without_steps_is_an_episode(tmp_path: Path) -> None:
    """A reset alone is one row; EnvLogger's converter makes an object array of its action."""
    with logger.EnvLogger(Counter(), tmp_path) as env:
        env.reset()
    episode = _only(tmp_path)
    assert (episode.length, episode.end, episode["action"].dtype) == (1, EpisodeEnd.INTERRUPTED, np.int64)


def test_step_fn_dict_becomes_fields(tmp_path: Path) -> None:
    """The callback gets time step, action and environment; its dict stands beside the observation."""
    counter, seen = Counter(length=2), []

    def step_fn(step: dm_env.TimeStep, action: Any, env: Any) -> dict[str, Any]:
        seen.append((step.step_type, action, env is counter))
        return {"twice": int(step.observation) * 2}

    with logger.EnvLogger(counter, tmp_path, step_fn=step_fn) as env:
        _play(env)
    kinds = dm_env.StepType
    assert seen == [(kinds.FIRST, None, True), (kinds.MID, 1, True), (kinds.LAST, 1, True)]
    assert [step["twice"] for step in _only(tmp_path).steps] == [0, 2, 4]


def test_step_fn_value_becomes_custom_data(tmp_path: Path) -> None:
    """What is no dict has EnvLogger's name for it; None leaves the field out."""
    with logger.EnvLogger(Counter(2), tmp_path, lambda step, _, __: None if step.first() else "late") as env:
        _play(env)
    assert [step.get("custom_data") for step in _only(tmp_path).steps] == [None, "late", "late"]


@pytest.mark.parametrize("name", ["observation", "reward", "is_last", "step_index", "time_ns", "info"])
def test_step_fn_cannot_take_a_reserved_name(tmp_path: Path, name: str) -> None:
    """The error names the clash."""
    env = logger.EnvLogger(Counter(), tmp_path, step_fn=lambda *_: {name: 1})
    with env, pytest.raises(SpecError, match=f"step_fn: the name '{name}' is taken by a field of the step"):
        env.reset()


def test_error_in_step_fn_ends_the_episode_before_its_step(tmp_path: Path) -> None:
    """No row is left out silently: the rows before it are an interrupted episode, and the caller gets the error."""

    def step_fn(step: dm_env.TimeStep, _action: Any, _env: Any) -> None:
        if step.observation == 2:
            raise ZeroDivisionError

    with logger.EnvLogger(Counter(), tmp_path, step_fn=step_fn) as env:
        env.reset()
        env.step(1)
        with pytest.raises(ZeroDivisionError) as caught:
            env.step(1)
        env.step(1)
        env.step(1)
        env.reset()
    assert "Steps up to the next reset are not recorded" in caught.value.__notes__[0]
    episodes = rlds_kit.open(tmp_path).episodes
    assert [episode["observation"].tolist() for episode in episodes] == [[0, 1], [0]]


def test_last_value_of_episode_fn_that_is_not_none_counts(tmp_path: Path) -> None:
    """It is called at every step, and may stop returning values."""

    def episode_fn(step: dm_env.TimeStep, _action: Any, _env: Any) -> dict[str, Any] | None:
        return {"seen": int(step.observation)} if step.observation < 3 else None

    with logger.EnvLogger(Counter(), tmp_path, episode_fn=episode_fn) as env:
        _play(env, 2)
        env.reset()
    assert [episode.metadata for episode in rlds_kit.open(tmp_path).episodes] == [{"seen": 2}, {"seen": 2}, {"seen": 0}]


def test_metadata_that_cannot_be_recorded_costs_no_episode(tmp_path: Path) -> None:
    """The rows and the end are recorded; only the metadata are missing, and an error is raised."""
    with (
        logger.EnvLogger(Counter(), tmp_path, episode_fn=lambda *_: {"bad": object()}) as env,
        pytest.raises(UnsupportedTypeError, match="metadata/bad: cannot record object"),
    ):
        _play(env)
    episode = _only(tmp_path)
    assert (episode.length, episode.end, episode.metadata) == (5, EpisodeEnd.TERMINATED, {})


def test_metadata_of_the_run_is_recorded_and_not_changed(tmp_path: Path) -> None:
    """EnvLogger puts the specs into the caller's dict; this does not."""
    metadata = {"agent": "random", "tags": ["a"]}
    before = copy.deepcopy(metadata)
    with logger.EnvLogger(Counter(), tmp_path, metadata=metadata) as env:
        _play(env)
    assert metadata == before
    assert rlds_kit.open(tmp_path).metadata == before


def test_every_run_keeps_its_own_metadata(tmp_path: Path) -> None:
    """EnvLogger stores only that of a directory's first run."""
    for agent in ("first", "second"):
        with logger.EnvLogger(Counter(), tmp_path, metadata={"agent": agent}) as env:
            _play(env)
    agents = {episode.run_metadata["agent"] for episode in rlds_kit.open(tmp_path).episodes}
    assert agents == {"first", "second"}


def test_directory_is_made(tmp_path: Path) -> None:
    """EnvLogger requires that it exists, and raises an error only at the first step."""
    with logger.EnvLogger(Counter(), tmp_path / "new" / "deep") as env:
        _play(env)
    assert _only(tmp_path / "new" / "deep").length == 5


def test_extras_are_forwarded_and_dunders_are_not(tmp_path: Path) -> None:
    """Attributes of the environment are reachable; protocols are the logger's own business."""
    with logger.EnvLogger(Counter(), tmp_path) as env:
        assert env.length == 4
        with pytest.raises(AttributeError, match="nothing_like_this"):
            env.nothing_like_this  # noqa: B018  the lookup is the test
        with pytest.raises(AttributeError, match="__array__"):
            env.__array__  # noqa: B018  the lookup is the test
        assert env.observation_spec().name == "count"
        assert isinstance(env, dm_env.Environment)


def test_buffers_that_are_used_again_are_copied(tmp_path: Path) -> None:
    """Each row has the content of the buffer at the time at which the environment returned it."""

    class Reusing(dm_env.Environment):
        def __init__(self) -> None:
            self.buffer = np.zeros((3, 2), np.float32)
            self.reward = np.zeros(())

        def reset(self) -> dm_env.TimeStep:
            self.buffer[:] = 0
            return dm_env.TimeStep(dm_env.StepType.FIRST, None, None, self.buffer)

        def step(self, action: np.ndarray) -> dm_env.TimeStep:
            self.buffer += action[0]
            self.reward += 1
            action[:] = -1
            return dm_env.TimeStep(dm_env.StepType.MID, self.reward, 1.0, self.buffer)

        def observation_spec(self) -> specs.Array:
            return specs.Array((3, 2), np.float32)

        def action_spec(self) -> specs.Array:
            return specs.Array((1,), np.float32)

    with logger.EnvLogger(Reusing(), tmp_path) as env:
        env.reset()
        for value in (1.0, 2.0, 3.0):
            env.step(np.array([value], np.float32))
    episode = _only(tmp_path)
    assert episode["observation"][:, 0, 0].tolist() == [0.0, 1.0, 3.0, 6.0]
    assert episode["action"][:3, 0].tolist() == [1.0, 2.0, 3.0]
    assert episode["reward"][:3].tolist() == [1.0, 2.0, 3.0]


def test_error_of_the_environment_passes_and_loses_nothing(tmp_path: Path) -> None:
    """The exception of the environment is raised; every earlier row is recorded."""
    problem = OSError("motor")

    class Failing(Counter):
        def step(self, action: Any) -> dm_env.TimeStep:
            if action == 9:
                raise problem
            return super().step(action)

    env = logger.EnvLogger(Failing(), tmp_path)
    env.reset()
    env.step(1)
    with pytest.raises(OSError, match="motor") as caught:
        env.step(9)
    env.close()
    assert caught.value is problem
    assert _only(tmp_path)["observation"].tolist() == [0, 1]
    assert _only(tmp_path).end is EpisodeEnd.INTERRUPTED


def test_exception_in_the_with_block_loses_nothing(tmp_path: Path) -> None:
    """Minari would delete this episode; the logger records it as interrupted."""
    with pytest.raises(RuntimeError, match="trainer"), logger.EnvLogger(Counter(), tmp_path) as env:
        _play(env)
        env.reset()
        env.step(1)
        raise RuntimeError("trainer")
    lengths = [episode.length for episode in rlds_kit.open(tmp_path).episodes]
    assert lengths == [5, 2]


def test_close_closes_the_environment_and_twice_is_once(tmp_path: Path) -> None:
    """A second close adds nothing; a step after it raises an error that explains what to do."""
    env = logger.EnvLogger(Counter(), tmp_path)
    env.reset()
    env.close()
    env.close()
    with pytest.raises(RecordingError, match="the recorder is closed; open another one"):
        env.step(1)
    assert _only(tmp_path).length == 1


def test_environment_is_closed_and_both_errors_are_reported_when_both_fail(tmp_path: Path) -> None:
    """The recorder's error is raised, with the environment's as its cause."""

    class Stuck(Counter):
        def close(self) -> None:
            raise OSError("door is stuck")

    env = logger.EnvLogger(Stuck(), tmp_path)
    env.reset()
    env._recording.before_close(_raise(RecordingError("3 steps are lost")))
    with pytest.raises(RecordingError, match="3 steps are lost") as caught:
        env.close()
    assert str(caught.value.__cause__) == "door is stuck"


def _raise(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_action_outside_its_spec_is_recorded_and_warned_of_once(tmp_path: Path) -> None:
    """What the agent did is data."""
    with logger.EnvLogger(Counter(), tmp_path) as env:
        env.reset()
        with pytest.warns(
            UserWarning, match=r"action: 11 is outside \[0, 9\]. Actions are recorded as they are"
        ) as seen:
            env.step(11)
        env.step(12)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert _only(tmp_path)["action"].tolist() == [11, 12, 0]


def test_time_is_recorded_on_request(tmp_path: Path) -> None:
    """Nanoseconds since the episode began, never decreasing; recorded only if requested."""
    with logger.EnvLogger(Counter(), tmp_path / "timed", record_time=True) as env:
        _play(env)
    times = _only(tmp_path / "timed")["time_ns"]
    assert times[0] == 0
    assert (np.diff(times) >= 0).all()
    with logger.EnvLogger(Counter(), tmp_path / "plain") as env:
        _play(env)
    assert "time_ns" not in _only(tmp_path / "plain").fields


def test_step_scheduler_keeps_first_and_last_row(tmp_path: Path) -> None:
    """Also if the scheduler does not select them; rows have their numbers, and no transition crosses a gap."""
    with logger.EnvLogger(Counter(6), tmp_path, scheduler=logger.ListStepScheduler([2, 3])) as env:
        env.reset()
        for action in range(1, 7):
            env.step(action)
    episode = _only(tmp_path)
    assert episode["observation"].tolist() == [0, 2, 3, 6]
    assert episode["step_index"].tolist() == [0, 2, 3, 6]
    assert episode.mask("action").tolist() == [False, True, False, False]
    assert episode.mask("reward").tolist() == [False, True, False, False]
    assert (episode["action"][1], episode["reward"][1]) == (3, 3.0)
    assert episode.end is EpisodeEnd.TERMINATED


def test_step_scheduler_keeps_the_last_row_of_an_interrupted_episode(tmp_path: Path) -> None:
    """The row that was left out is remembered until another one follows, with the values that it had then."""

    class Reusing(Counter):
        buffer = np.zeros((), np.int64)

        def step(self, action: Any) -> dm_env.TimeStep:
            step = super().step(action)
            self.buffer[()] = step.observation
            return step._replace(observation=self.buffer)

        def reset(self) -> dm_env.TimeStep:
            self.buffer[()] = 0
            return super().reset()._replace(observation=self.buffer)

    with logger.EnvLogger(Reusing(), tmp_path, scheduler=lambda _: False) as env:
        for _ in range(2):
            env.reset()
            env.step(1)
            env.step(1)
    episodes = rlds_kit.open(tmp_path).episodes
    assert [episode["observation"].tolist() for episode in episodes] == [[0, 2], [0, 2]]
    assert [episode.end for episode in episodes] == [EpisodeEnd.INTERRUPTED] * 2


def test_last_row_next_to_a_kept_one_has_its_transition(tmp_path: Path) -> None:
    """A left-out row that becomes the last one is joined to the recorded row directly before it."""
    with logger.EnvLogger(Counter(), tmp_path, scheduler=logger.ListStepScheduler([0])) as env:
        env.reset()
        env.step(7)
    episode = _only(tmp_path)
    assert episode["observation"].tolist() == [0, 1]
    assert episode.mask("action").tolist() == [True, False]
    assert episode["action"][0] == 7


def test_scheduler_that_skips_first_steps_merges_no_episodes(tmp_path: Path) -> None:
    """EnvLogger appends the steps of such episodes to the one before."""
    scheduler = logger.NStepScheduler(2)  # with 5 rows per episode it does not select every second first row
    with logger.EnvLogger(Counter(), tmp_path, scheduler=scheduler) as env:
        _play(env, 4)
    rows = [episode["observation"].tolist() for episode in rlds_kit.open(tmp_path).episodes]
    assert rows == [[0, 2, 4], [0, 1, 3, 4]] * 2


def test_episode_scheduler_leaves_out_whole_episodes(tmp_path: Path) -> None:
    """An episode that is not chosen leaves nothing; a chosen one is whole."""
    with logger.EnvLogger(Counter(), tmp_path, scheduler=logger.NEpisodeScheduler(2)) as env:
        _play(env, 3)
    episodes = rlds_kit.open(tmp_path).episodes
    assert [(episode.length, episode.mask("action").sum()) for episode in episodes] == [(5, 4), (5, 4)]


def test_custom_episode_scheduler_may_look_at_the_first_step(tmp_path: Path) -> None:
    """Subclasses define how an episode is selected."""

    class Never(logger.EpisodeScheduler):
        def choose(self) -> bool:
            return False

    with logger.EnvLogger(Counter(), tmp_path, scheduler=Never()) as env:
        _play(env, 3)
    assert len(rlds_kit.open(tmp_path).episodes) == 0


def test_scheduler_sees_what_step_fn_returned(tmp_path: Path) -> None:
    """StepData has EnvLogger's three parts."""
    seen: list[logger.StepData] = []

    def scheduler(data: logger.StepData) -> bool:
        seen.append(data)
        return True

    with logger.EnvLogger(Counter(2), tmp_path, lambda *_: "custom", scheduler=scheduler) as env:
        _play(env)
    assert [(data.timestep.reward, data.action, data.custom_data) for data in seen] == [
        (None, None, "custom"),
        (1.0, 1, "custom"),
        (2.0, 1, "custom"),
    ]


def test_row_that_does_not_fit_ends_the_episode_before_it(tmp_path: Path) -> None:
    """The error names the field; earlier rows are recorded, and later ones are not joined to them."""

    class Growing(Counter):
        def step(self, action: Any) -> dm_env.TimeStep:
            step = super().step(action)
            return step._replace(observation=np.zeros(2, np.int64)) if step.observation == 2 else step

    with logger.EnvLogger(Growing(), tmp_path, strict=True) as env:
        env.reset()
        env.step(1)
        with pytest.raises(SpecError, match=r"observation: expected int64 \(\), got int64 \(2,\)"):
            env.step(1)
        env.step(1)
    episode = _only(tmp_path)
    assert (episode["observation"].tolist(), episode.end) == ([0, 1], EpisodeEnd.INTERRUPTED)


def test_nested_observations_and_text_round_trip(tmp_path: Path) -> None:
    """Dicts, lists and tuples of specs come back as they were."""
    observations: Iterator[dict[str, Any]] = iter(
        {"image": np.full((2, 2), value, np.uint8), "parts": [np.float32(value), "text"]} for value in (1, 2)
    )

    class Nested(Counter):
        def reset(self) -> dm_env.TimeStep:
            return super().reset()._replace(observation=next(observations))

        def step(self, action: Any) -> dm_env.TimeStep:
            return super().step(action)._replace(observation=next(observations))

        def observation_spec(self) -> Any:
            text = specs.StringArray((), str)
            return {"image": specs.Array((2, 2), np.uint8), "parts": [specs.Array((), np.float32), text]}

    with logger.EnvLogger(Nested(), tmp_path) as env:
        env.reset()
        env.step(1)
    last = _only(tmp_path).steps[1]["observation"]
    assert last["image"].tolist() == [[2, 2], [2, 2]]
    assert last["parts"] == [2.0, "text"]
    assert type(last["parts"][0]) is np.float32
