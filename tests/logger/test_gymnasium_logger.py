"""`GymnasiumLogger` records a Gymnasium environment without any effect on the caller."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, UnsupportedTypeError, logger
from rlds_kit.base.reset_chain import chain_of

Result = tuple[Any, Any, Any, bool, dict[str, Any]]


class Script(gymnasium.Env[Any, Any]):
    """Returns the given results step by step; then always the observation 0."""

    observation_space: gymnasium.Space[Any] = spaces.Box(-np.inf, np.inf, (), np.float64)
    action_space: gymnasium.Space[Any] = spaces.Discrete(3)

    def __init__(self, *results: Result, first_info: dict[str, Any] | None = None) -> None:
        self._results, self._first_info = list(results), first_info or {}
        self.got: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.got.append(("reset", seed, options))
        return np.float64(0), self._first_info

    def step(self, action: Any) -> Result:
        self.got.append(action)
        return self._results.pop(0) if self._results else (np.float64(0), 0.0, False, False, {})


def _step(**info: Any) -> Result:
    return np.float64(1), 1.0, False, False, info


def _last(*, terminated: bool = True, truncated: bool = False) -> Result:
    return np.float64(2), 2.0, terminated, truncated, {}


def _only(directory: Path) -> rlds_kit.Episode:
    (episode,) = rlds_kit.open(directory).episodes
    return episode


def test_observations_rewards_flags_and_infos_are_the_same_objects(tmp_path: Path) -> None:
    """The wrapper returns the objects of the environment unchanged."""
    first, result = {"lives": 3}, (np.float64(1), np.float64(0.5), np.True_, False, {"lives": 2})
    with logger.GymnasiumLogger(Script(result, first_info=first), tmp_path) as env:
        assert env.reset()[1] is first
        got = env.step(0)
    assert all(one is other for one, other in zip(got, result, strict=True))


def test_every_step_of_an_episode_is_recorded(tmp_path: Path) -> None:
    """A whole CartPole episode reads back equal to what the caller saw."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        observation, _ = env.reset(seed=3)
        observations, actions, rewards, done = [observation], [], [], False
        while not done:
            actions.append(env.action_space.sample())
            observation, reward, terminated, truncated, _ = env.step(actions[-1])
            observations.append(observation)
            rewards.append(reward)
            done = terminated or truncated
    episode = _only(tmp_path)
    np.testing.assert_array_equal(episode["observation"], np.stack(observations))
    assert episode["observation"].dtype == np.float32
    assert episode["action"][:-1].tolist() == actions
    assert episode["reward"][:-1].tolist() == rewards
    assert episode["discount"][:-1].tolist() == [1.0] * (len(actions) - 1) + [0.0]
    assert (episode.end, episode.terminated, episode.truncated) == (EpisodeEnd.TERMINATED, True, False)


def test_atari_is_recorded_with_its_infos(tmp_path: Path) -> None:
    """An ALE game with all of its infos, which differ between reset and step; Minari fails on them."""
    ale_py = pytest.importorskip("ale_py", reason="needs the extra `atari`")
    gymnasium.register_envs(ale_py)
    with logger.GymnasiumLogger(gymnasium.make("ALE/Breakout-v5", max_episode_steps=30), tmp_path) as env:
        observation, info = env.reset(seed=1)
        observations, infos, done = [observation], [info], False
        while not done:
            observation, _, terminated, truncated, info = env.step(env.action_space.sample())
            observations.append(observation)
            infos.append(info)
            done = terminated or truncated
    episode = _only(tmp_path)
    np.testing.assert_array_equal(episode["observation"], np.stack(observations))
    recorded = [step["info"] for step in episode.steps]
    assert recorded == infos
    assert type(recorded[0]["lives"]) is int
    assert episode.end is EpisodeEnd.TRUNCATED


@pytest.mark.parametrize(
    ("terminated", "truncated", "end", "discount"),
    [
        (True, False, EpisodeEnd.TERMINATED, 0.0),
        (False, True, EpisodeEnd.TRUNCATED, 1.0),
        (True, True, EpisodeEnd.TERMINATED, 0.0),
    ],
)
def test_both_flags_are_kept(
    tmp_path: Path, terminated: bool, truncated: bool, end: EpisodeEnd, discount: float
) -> None:
    with logger.GymnasiumLogger(Script(_last(terminated=terminated, truncated=truncated)), tmp_path) as env:
        env.reset()
        env.step(0)
    episode = _only(tmp_path)
    assert (episode.end, episode.terminated, episode.truncated) == (end, terminated, truncated)
    assert episode["discount"].tolist() == [discount, 0.0]


def test_reset_in_the_middle_is_no_truncation(tmp_path: Path) -> None:
    """Minari writes a truncation that the environment never returned; the logger records INTERRUPTED."""
    with logger.GymnasiumLogger(Script(), tmp_path) as env:
        env.reset()
        env.step(0)
        env.reset()
    episodes = rlds_kit.open(tmp_path).episodes
    assert [(episode.length, episode.end) for episode in episodes] == [
        (2, EpisodeEnd.INTERRUPTED),
        (1, EpisodeEnd.INTERRUPTED),
    ]
    assert [episode.truncated for episode in episodes] == [False, False]


def test_seed_and_options_of_the_caller_are_passed_on_and_recorded(tmp_path: Path) -> None:
    """As they were given, to the environment and to the data."""
    script = Script()
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset(seed=7, options={"level": "hard"})
    episode = _only(tmp_path)
    assert script.got == [("reset", 7, {"level": "hard"})]
    assert (episode.seed, episode.options) == (7, {"level": "hard"})


def test_drawn_seed_is_passed_on_and_recorded(tmp_path: Path) -> None:
    """A reset without a seed gets one with which the episode can be played again."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path, draw_seeds=True) as env:
        observations = [env.reset()[0] for _ in range(3)]
    episodes = rlds_kit.open(tmp_path).episodes
    assert len({episode.seed for episode in episodes}) == 3
    for episode, observation in zip(episodes, observations, strict=True):
        again, _ = gymnasium.make("CartPole-v1").reset(seed=episode.seed)
        np.testing.assert_array_equal(again, observation)


def test_drawn_seeds_follow_from_the_callers(tmp_path: Path) -> None:
    """A seeded run repeats itself, and another seed gives another run."""
    seeds = {}
    for run, seed in (("one", 5), ("two", 5), ("three", 6)):
        with logger.GymnasiumLogger(Script(), tmp_path / run, draw_seeds=True) as env:
            env.reset(seed=seed)
            env.reset()
            env.reset()
        seeds[run] = [episode.seed for episode in rlds_kit.open(tmp_path / run).episodes]
    assert seeds["one"] == seeds["two"]
    assert seeds["one"][1:] != seeds["three"][1:]


def test_random_numbers_are_left_alone(tmp_path: Path) -> None:
    """Nothing is drawn by default: resets behave exactly as without the logger."""
    plain = gymnasium.make("CartPole-v1")
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        for seed in (4, None, None):
            np.testing.assert_array_equal(env.reset(seed=seed)[0], plain.reset(seed=seed)[0])
    assert [episode.seed for episode in rlds_kit.open(tmp_path).episodes] == [4, None, None]


def test_resets_and_steps_since_the_last_seed_are_recorded(tmp_path: Path) -> None:
    """Also the steps after an end, which are in no episode; a new seed begins anew."""
    game = gymnasium.make("CartPole-v1", max_episode_steps=4)
    with logger.GymnasiumLogger(game, tmp_path) as env, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*outside an episode")
        env.reset()  # the random state is unknown
        env.step(0)
        for seed in (4, None, None, 5):
            env.reset(seed=seed)
            for _ in range(5):
                env.step(0)
    chains = [chain_of(episode.provenance) for episode in rlds_kit.open(tmp_path).episodes]
    assert chains[0] is None
    found = [(each.seed, each.seeded_reset, each.resets) for each in chains if each is not None]
    assert found == [(4, 2, 0), (4, 2, 1), (4, 2, 2), (5, 5, 0)]
    steps = [each.steps for each in chains if each is not None]
    assert steps == [0, 5, 10, 0]
    assert len({each.instance for each in chains if each is not None}) == 1


def test_infos_may_change_keys_shapes_and_types(tmp_path: Path) -> None:
    """Every info comes back exactly, Python types included."""
    infos: list[dict[str, Any]] = [
        {},
        {"lives": 3, "name": "ada", "none": None},
        {"lives": np.int32(2), "grid": np.arange(6, dtype=np.int16).reshape(2, 3)},
        {"lives": [1, (2.5, "x")], "grid": np.zeros((0, 4)), "deep": {"flag": True, "raw": b"\0"}},
        {"name": 7, "deep": {"flag": np.bool_(False), "other": 1 << 80}},
    ]
    script = Script(*(_step(**info) for info in infos[1:]), first_info=infos[0])
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        for _ in infos[1:]:
            env.step(0)
    recorded = [step["info"] for step in _only(tmp_path).steps]
    for one, other in zip(recorded, infos, strict=True):
        np.testing.assert_equal(one, other)
        assert [type(value) for value in one.values()] == [type(value) for value in other.values()]


def test_object_in_an_info_is_named_at_the_first_step_with_what_to_do(tmp_path: Path) -> None:
    """Nothing is pickled, and the message names the key, the type and the argument to use."""
    script = Script(_step(robot=object()))
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        with pytest.raises(UnsupportedTypeError, match="info/robot: cannot record object") as caught:
            env.step(0)
    assert any("info_fn" in note for note in caught.value.__notes__)
    assert (_only(tmp_path).length, _only(tmp_path).end) == (1, EpisodeEnd.INTERRUPTED)


def test_info_fn_chooses_what_is_recorded(tmp_path: Path) -> None:
    """The caller still sees the whole info."""
    script = Script(_step(robot=object(), lives=1), first_info={"lives": 3})
    with logger.GymnasiumLogger(script, tmp_path, info_fn=lambda info: {"lives": info["lives"]}) as env:
        env.reset()
        assert "robot" in env.step(0)[4]
    assert [step["info"] for step in _only(tmp_path).steps] == [{"lives": 3}, {"lives": 1}]


def test_record_info_off_records_none(tmp_path: Path) -> None:
    with logger.GymnasiumLogger(Script(first_info={"robot": object()}), tmp_path, record_info=False) as env:
        env.reset()
    assert "info" not in _only(tmp_path).fields


def test_it_is_a_wrapper_like_any_other(tmp_path: Path) -> None:
    """Types, spaces, spec, rendering, and attributes of inner layers."""
    inner = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    with logger.GymnasiumLogger(inner, tmp_path) as env:
        assert isinstance(env, gymnasium.Wrapper)
        assert env.unwrapped is inner.unwrapped
        assert (env.observation_space, env.action_space) == (inner.observation_space, inner.action_space)
        assert env.metadata["render_fps"] == inner.metadata["render_fps"]
        assert env.get_wrapper_attr("gravity") == inner.get_wrapper_attr("gravity")
        env.set_wrapper_attr("gravity", 5.0)
        assert inner.unwrapped.get_wrapper_attr("gravity") == 5.0
        assert env.render_mode == "rgb_array"


def test_rendering_is_the_environments(tmp_path: Path) -> None:
    """Frames come from the environment, and are not recorded unless it returns them."""
    script = Script()
    script.render = lambda: "picture"  # type: ignore[method-assign]  # a script has no other
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        assert env.render() == "picture"


def test_spec_makes_the_environment_and_no_second_recording(tmp_path: Path) -> None:
    """An evaluation environment made from it must not write into the training data."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1", max_episode_steps=9), tmp_path) as env:
        assert env.spec is not None
        again = gymnasium.make(env.spec)
    assert not isinstance(again, logger.GymnasiumLogger)
    assert again.spec is not None
    assert again.spec.max_episode_steps == 9


def test_wrappers_around_the_logger_see_an_ordinary_environment(tmp_path: Path) -> None:
    """Frames are recorded as the environment gave them, below the wrappers of the trainer."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        outer = gymnasium.wrappers.FrameStackObservation(gymnasium.wrappers.RecordEpisodeStatistics(env), 3)
        outer.reset(seed=1)
        assert outer.step(0)[0].shape == (3, 4)
    assert _only(tmp_path)["observation"].shape == (2, 4)


@pytest.mark.filterwarnings(
    "ignore:.*Box observation space.*value is:UserWarning",  # CartPole's speed has no limit
    "ignore:.*is different from the unwrapped version:UserWarning",  # wrapping is what is tested
)
def test_gymnasium_env_checker_is_content(tmp_path: Path) -> None:
    """The official checker, which also compares seeded resets and steps."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1").unwrapped, tmp_path) as env:
        check_env(env, skip_render_check=True)
    assert len(rlds_kit.open(tmp_path).episodes) > 0


def test_buffers_that_are_used_again_are_copied(tmp_path: Path) -> None:
    """Observation, info and action are recorded as they were at their step."""

    class Reusing(gymnasium.Env[Any, Any]):
        observation_space = spaces.Dict({"image": spaces.Box(0, 255, (2, 2), np.uint8)})
        action_space = spaces.Box(-1, 1, (1,), np.float32)
        buffer = np.zeros((2, 2), np.uint8)
        info: dict[str, Any] = {"list": [0], "array": np.zeros(1)}  # noqa: RUF012  shared on purpose

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return {"image": self.buffer}, self.info

        def step(self, action: Any) -> Result:
            self.buffer += 1
            self.info["list"][0] += 1
            self.info["array"] += 1
            action *= 0
            return {"image": self.buffer}, 0.0, False, False, self.info

    with logger.GymnasiumLogger(Reusing(), tmp_path) as env:
        env.reset()
        for _ in range(3):
            env.step(np.ones(1, np.float32))
    episode = _only(tmp_path)
    assert episode["observation"]["image"][:, 0, 0].tolist() == [0, 1, 2, 3]
    assert [step["info"]["list"] for step in episode.steps] == [[0], [1], [2], [3]]
    assert [step["info"]["array"].tolist() for step in episode.steps] == [[0.0], [1.0], [2.0], [3.0]]
    assert episode["action"][:3].tolist() == [[1.0]] * 3


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(5, start=2),
        spaces.MultiBinary(3),
        spaces.MultiDiscrete([2, 3]),
        spaces.Text(6, min_length=0),
        spaces.Dict({"a": spaces.Box(0, 1, (2,), np.float32), "b": spaces.Discrete(2)}),
        spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 255, (2, 2), np.uint8)]),
        spaces.Sequence(spaces.Box(0, 1, (2,), np.float32)),
        spaces.Sequence(spaces.Discrete(4), stack=True),
        spaces.Graph(spaces.Box(0, 1, (2,), np.float32), spaces.Discrete(3)),
        spaces.OneOf([spaces.Discrete(3), spaces.Box(0, 1, (2,), np.float32)]),
    ],
    ids=lambda space: type(space).__name__,
)
def test_observations_and_actions_of_every_space_round_trip(tmp_path: Path, space: gymnasium.Space[Any]) -> None:
    """What the space samples reads back equal, as observation and as action."""
    space.seed(1)
    samples = [space.sample() for _ in range(4)]
    script = Script(*((sample, 0.0, False, False, {}) for sample in samples))
    script.observation_space = script.action_space = space
    script.reset = lambda **_: (samples[0], {})  # type: ignore[method-assign]  # a script has no other first step
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        for sample in samples:
            env.step(sample)
    steps = list(_only(tmp_path).steps)
    for step, sample in zip(steps[1:], samples, strict=True):
        np.testing.assert_equal(_plain(step["observation"]), _plain(sample))
    for step, sample in zip(steps, samples, strict=False):
        np.testing.assert_equal(_plain(step["action"]), _plain(sample))


def _plain(value: Any) -> Any:
    """Return named tuples as tuples: their class is not recorded."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value


def test_action_outside_its_space_is_recorded_and_warned_of_once(tmp_path: Path) -> None:
    """What the agent did is data; the environment may well accept it."""
    with logger.GymnasiumLogger(Script(), tmp_path) as env:
        env.reset()
        with pytest.warns(UserWarning, match=r"action: 8 is outside \[0, 2\]") as seen:
            env.step(8)
        env.step(9)
    assert seen[0].filename == __file__
    assert _only(tmp_path)["action"].tolist() == [8, 9, 0]


def test_warning_that_is_an_error_leaves_the_data_whole(tmp_path: Path) -> None:
    """It comes before the environment is stepped, so no step is lost."""
    script = Script()
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        with pytest.raises(UserWarning, match="action: 8"):
            env.step(8)
        env.step(1)
    assert script.got[1:] == [1]
    assert _only(tmp_path)["action"].tolist() == [1, 0]


def test_steps_after_the_end_pass_through_and_a_warning_says_that_they_are_not_recorded(tmp_path: Path) -> None:
    """Gymnasium leaves them undefined; they are not in the data."""
    with logger.GymnasiumLogger(Script(_last()), tmp_path) as env:
        env.reset()
        env.step(0)
        with pytest.warns(UserWarning, match="outside an episode; such steps are not recorded") as seen:
            env.step(0)
        env.step(0)
    assert seen[0].filename == __file__
    assert _only(tmp_path).length == 2


def test_observation_that_does_not_fit_names_its_place(tmp_path: Path) -> None:
    """The space is checked; earlier rows are recorded."""
    script = Script((np.zeros(3), 0.0, False, False, {}))
    with logger.GymnasiumLogger(script, tmp_path, strict=True) as env:
        env.reset()
        with pytest.raises(SpecError, match=r"observation: expected float64 \(\), got float64 \(3,\)"):
            env.step(0)
    assert (_only(tmp_path).length, _only(tmp_path).end) == (1, EpisodeEnd.INTERRUPTED)


def test_space_of_an_unknown_kind_is_refused_at_once(tmp_path: Path) -> None:
    """Before an episode is played, and naming the field."""

    class Odd(gymnasium.Space[Any]):
        pass

    script = Script()
    script.action_space = Odd()
    with pytest.raises(SpecError, match="action: expected a space that is or derives from Box"):
        logger.GymnasiumLogger(script, tmp_path)


def test_reward_space_of_the_environment_is_used(tmp_path: Path) -> None:
    """Environments with several objectives return vectors."""
    script = Script((np.float64(0), np.array([1, 2], np.float32), True, False, {}))
    script.reward_space = spaces.Box(-5, 5, (2,), np.float32)  # type: ignore[attr-defined]  # likewise
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        env.step(0)
    assert _only(tmp_path)["reward"].tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_error_of_the_environment_passes_and_loses_nothing(tmp_path: Path) -> None:
    """The exception is the environment's own."""
    script = Script()
    with logger.GymnasiumLogger(script, tmp_path) as env:
        env.reset()
        env.step(0)
        script.step = lambda action: 1 / 0  # type: ignore[method-assign,return-value,assignment]  # breaks
        with pytest.raises(ZeroDivisionError):
            env.step(0)
    assert (_only(tmp_path).length, _only(tmp_path).end) == (2, EpisodeEnd.INTERRUPTED)


def test_nothing_is_stepped_that_cannot_be_recorded(tmp_path: Path) -> None:
    """After close, the environment is left alone."""
    script = Script()
    env = logger.GymnasiumLogger(script, tmp_path)
    env.reset()
    env.close()
    with pytest.raises(RecordingError, match="the recorder is closed"):
        env.step(0)
    with pytest.raises(RecordingError, match="the recorder is closed"):
        env.reset()
    assert len(script.got) == 1


def test_callbacks_see_infos_and_flags(tmp_path: Path) -> None:
    """Their time step is dm_env's with what Gymnasium adds, so one callback serves all loggers."""
    seen: list[logger.GymnasiumTimeStep] = []

    def step_fn(step: logger.GymnasiumTimeStep, action: Any, env: Any) -> dict[str, Any]:
        assert env is script
        seen.append(step)
        return {"was": action}

    script = Script(_step(lives=2), _last(truncated=True))
    with logger.GymnasiumLogger(script, tmp_path, step_fn=step_fn) as env:
        env.reset()
        env.step(1)
        env.step(2)
    assert [(step.first(), step.last()) for step in seen] == [(True, False), (False, False), (False, True)]
    assert seen[1].info == {"lives": 2}
    assert (seen[2].terminated, seen[2].truncated, seen[2].discount) == (True, True, 0.0)
    assert [step.get("was") for step in _only(tmp_path).steps] == [None, 1, 2]


def test_episode_fn_and_scheduler_work_as_for_dm_env(tmp_path: Path) -> None:
    """Metadata of the episode, and rows left out with a number on the rest."""

    def episode_fn(step: logger.GymnasiumTimeStep, _action: Any, _env: Any) -> dict[str, Any] | None:
        return {"won": step.terminated} if step.last() else None

    scheduler = logger.NStepScheduler(3)
    env = logger.GymnasiumLogger(
        Script(_step(), _step(), _step(), _last()), tmp_path, episode_fn=episode_fn, scheduler=scheduler
    )
    with env:
        env.reset()
        for _ in range(4):
            env.step(0)
    episode = _only(tmp_path)
    assert episode.metadata == {"won": True}
    assert episode["step_index"].tolist() == [0, 3, 4]
    assert episode.mask("action").tolist() == [False, True, False]


def test_environment_is_described(tmp_path: Path) -> None:
    """The dataset has the description of the environment and can make it again."""
    with logger.GymnasiumLogger(gymnasium.make("Pendulum-v1", g=9.81), tmp_path) as env:
        env.reset()
    dataset = rlds_kit.open(tmp_path)
    assert dataset.environment["id"] == "Pendulum-v1"
    assert dataset.environment["kwargs"]["g"] == 9.81
    assert dataset.make_env().unwrapped.get_wrapper_attr("g") == 9.81


def test_flush_makes_durable_what_was_given(tmp_path: Path) -> None:
    """The recorder is accessible, and returns the number of durable rows of the open episode."""
    with logger.GymnasiumLogger(Script(), tmp_path, policy=logger.FlushPolicy.manual()) as env:
        env.reset()
        env.step(0)
        env.recorder.flush()
        assert list(env.recorder.durable.values()) == [2]
    assert _only(tmp_path).length == 2


def test_mode_error_refuses_a_dataset_that_is_there(tmp_path: Path) -> None:
    """Options of the recorder are passed on."""
    for _ in range(2):
        with logger.GymnasiumLogger(Script(), tmp_path, about={"name": "script"}) as env:
            env.reset()
    assert len(rlds_kit.open(tmp_path).episodes) == 2
    with pytest.raises(rlds_kit.DatasetExistsError, match="holds a dataset"):
        logger.GymnasiumLogger(Script(), tmp_path, mode="error")
