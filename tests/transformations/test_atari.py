"""Preprocessing of recorded frames against Gymnasium's wrapper in live games, bit for bit."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.transformations.atari import _luminance, atari_preprocessing
from rlds_kit.transformations.downsample import first_action
from rlds_kit.transformations.frame_stack import frame_stack
from tests.transformations.episodes import MODES, Steps, assert_same, run, to_tensors

gymnasium.register_envs(ale_py)

GAMES = {"SpaceInvaders": 300, "Breakout": 300, "Pong": 200}
"""With how many actions. Breakout ends before."""


def make(game: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """A game that shows every frame and has scripted results."""
    return gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.0, **options)


@functools.cache
def actions_of(game: str) -> list[int]:
    """What the agent does."""
    space = make(game).action_space
    assert isinstance(space, gymnasium.spaces.Discrete)
    return [int(action) for action in np.random.default_rng(0).integers(space.n, size=GAMES[game])]


def play(environment: gymnasium.Env[Any, Any], actions: Iterator[int]) -> Steps:
    """An episode as arrays, with zeros where nothing is defined."""
    observation, info = environment.reset(seed=0)
    rows, is_terminal = [[observation, 0, 0.0, info["lives"]]], False
    for action in actions:
        observation, reward, terminated, truncated, info = environment.step(action)
        rows[-1][1:3] = action, reward
        rows.append([observation, 0, 0.0, info["lives"]])
        is_terminal = terminated
        if terminated or truncated:
            break
    count = len(rows)
    discount = np.ones(count, np.float32)
    discount[-2:-1] = not is_terminal
    discount[-1] = 0
    return {
        "observation": np.stack([row[0] for row in rows]),
        "action": np.array([row[1] for row in rows]),
        "reward": np.array([row[2] for row in rows]),
        "discount": discount,
        "is_first": np.arange(count) == 0,
        "is_last": np.arange(count) == count - 1,
        "is_terminal": (np.arange(count) == count - 1) & is_terminal,
        "info": {"lives": np.array([row[3] for row in rows])},
    }


def play_raw(game: str, skip: int, **options: Any) -> Steps:
    """The game frame by frame, each action repeated."""
    return play(make(game, **options), iter(np.repeat(actions_of(game), skip)))


def play_live(game: str, skip: int, **options: Any) -> Steps:
    """The same game through the wrapper."""
    environment = AtariPreprocessing(make(game), noop_max=0, frame_skip=skip, **options)
    return play(environment, iter(actions_of(game)))


@pytest.mark.thorough
@pytest.mark.parametrize("game", GAMES)
def test_whole_games_are_those_of_the_wrapper(game: str) -> None:
    """Screens, actions, rewards, discounts, flags and lives, to the end of the game if there is time."""
    actual = run(atari_preprocessing, play_raw(game, 4), "function, dense")
    assert_same(actual, play_live(game, 4))


@pytest.mark.parametrize(
    ("skip", "options"),
    [
        (1, {}),
        (2, {"terminal_on_life_loss": True}),
        (3, {"screen_size": (100, 60)}),
        (4, {"grayscale": False}),
        (4, {"terminal_on_life_loss": True}),
        (5, {"screen_size": 96, "grayscale": False, "terminal_on_life_loss": True}),
    ],
)
def test_every_option_is_that_of_the_wrapper(skip: int, options: dict[str, Any]) -> None:
    """In Breakout, where lives are lost early."""
    theirs = {"grayscale_obs" if name == "grayscale" else name: value for name, value in options.items()}
    actual = run(lambda steps: atari_preprocessing(steps, skip, **options), play_raw("Breakout", skip), "eager, dense")
    assert_same(actual, play_live("Breakout", skip, **theirs))


def test_games_recorded_in_gray_give_the_same() -> None:
    """ALE's own gray, a third of the bytes."""
    steps = play_raw("Breakout", 4, obs_type="grayscale")
    actual = run(atari_preprocessing, steps, "eager, dense")
    assert_same(actual, play_live("Breakout", 4))


def test_stacks_of_screens_are_those_of_the_wrappers() -> None:
    """`frame_stack` after the preprocessing, both wrappers around the game."""
    environment = FrameStackObservation(AtariPreprocessing(make("Breakout"), noop_max=0), 4)
    steps = play_raw("Breakout", 4)
    actual = run(lambda steps: frame_stack(atari_preprocessing(steps), 4), steps, "eager, dense")
    assert_same(actual, play(environment, iter(actions_of("Breakout"))))


def test_from_the_logger_to_the_agent(tmp_path: Path) -> None:
    """What the logger recorded has everything that is needed, lives included."""
    with GymnasiumLogger(make("Breakout"), tmp_path / "breakout", record_info=True) as environment:
        play(environment, iter(np.repeat(actions_of("Breakout"), 4)))
    recorded = rlds_kit.open(tmp_path / "breakout").episodes[0]
    fields = ("observation", "action", "reward", "discount", "is_first", "is_last", "is_terminal")
    steps = {name: recorded[name] for name in fields} | {"info": {"lives": recorded["info/lives"]}}
    actual = run(lambda steps: atari_preprocessing(steps, terminal_on_life_loss=True), steps, "eager, dense")
    live = play_live("Breakout", 4, terminal_on_life_loss=True)
    np.testing.assert_array_equal(actual["observation"], live["observation"])
    np.testing.assert_array_equal(actual["reward"], live["reward"])


def small_game(length: int, **fields: Any) -> Steps:
    """Frames of a small screen, with any other given fields."""
    rng = np.random.default_rng(0)
    steps = {
        "observation": rng.integers(0, 256, (length, 8, 6, 3), np.uint8),
        "action": np.zeros(length, np.int64),
        "reward": np.where(np.arange(length) < length - 1, 1.0, 0.0),
        "is_last": np.arange(length) == length - 1,
        "is_terminal": np.zeros(length, bool),
    }
    return steps | fields


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [0, 1, 2, 5, 70])
def test_every_mode_gives_the_same(mode: str, length: int) -> None:
    """Any length, also none, and one that is no multiple of what is computed together."""
    steps = small_game(length)

    def preprocess(given: Any) -> Any:
        return atari_preprocessing(given, 2, (3, 4))

    assert_same(run(preprocess, steps, mode), run(preprocess, steps, "eager, dense"))


@pytest.mark.parametrize("length", range(1, 12))
def test_screens_are_the_maximum_of_two_frames(length: int) -> None:
    """At the end too, if it is not terminal; a screen of the full size is the maximum itself."""
    frames = np.random.default_rng(0).integers(0, 256, (length, 4, 4), np.uint8)
    steps = small_game(length, observation=frames)
    actual = run(lambda given: atari_preprocessing(given, 3, 4), steps, "eager, dense")
    kept = [*range(0, length - 1, 3), length - 1]
    expected = [np.maximum(frames[row], frames[max(row - 1, 0)]) for row in kept]
    np.testing.assert_array_equal(actual["observation"], expected)


def test_nothing_is_joined_across_a_gap() -> None:
    """The first screen after it is of one frame, as after a reset."""
    frames = np.random.default_rng(0).integers(0, 256, (6, 4, 4), np.uint8)
    steps = small_game(6, observation=frames, step_index=np.array([0, 1, 2, 10, 11, 12]))
    actual = run(lambda given: atari_preprocessing(given, 2, 4), steps, "eager, dense")
    expected = [frames[0], np.maximum(frames[1], frames[2]), frames[3], np.maximum(frames[4], frames[5])]
    np.testing.assert_array_equal(actual["observation"], expected)
    assert actual["step_index"].tolist() == [0, 1, 3, 4]


def test_gray_of_every_colour_is_the_nearest_integer() -> None:
    """Computed exactly, halves up; every third red, to be quick."""
    red, green, blue = (axis.ravel() for axis in np.mgrid[0:256:3, 0:256, 0:256].astype(np.int32))
    colours = np.stack([red, green, blue], -1).astype(np.uint8)
    expected = (red * 2989 + green * 5870 + blue * 1140 + 5000) // 10_000
    np.testing.assert_array_equal(_luminance(tf.constant(colours)), expected)


def test_a_life_lost_ends_the_episode() -> None:
    """Later steps are removed, the step is terminal, and its action, reward and discount are undefined."""
    steps = small_game(9, discount=np.ones(9, np.float32), info={"lives": np.array([3, 3, 3, 3, 2, 2, 2, 1, 0])})
    actual = run(lambda given: atari_preprocessing(given, 2, 4, terminal_on_life_loss=True), steps, "eager, dense")
    assert actual["reward"].tolist() == [2, 2, 0]
    assert actual["discount"].tolist() == [1, 0, 0]
    assert actual["is_last"].tolist() == actual["is_terminal"].tolist() == [False, False, True]


def test_actions_that_differ_within_a_skip() -> None:
    """They are refused, unless a function chooses."""
    steps = small_game(5, action=np.array([1, 2, 3, 4, 0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="actions differ"):
        atari_preprocessing(to_tensors(steps), 2, 4)
    chosen = atari_preprocessing(to_tensors(steps), 2, 4, choose_action=first_action)
    assert chosen["action"].numpy().tolist() == [1, 3, 0]


def test_shapes_are_known_when_the_graph_is_traced() -> None:
    """The number of steps is not, everything else is."""
    spec = {"observation": tf.TensorSpec([None, 210, 160, 3], tf.uint8)}
    for grayscale, shape in ((True, [None, 84, 84]), (False, [None, 84, 84, 3])):
        traced = tf.function(functools.partial(atari_preprocessing, grayscale=grayscale)).get_concrete_function(spec)
        assert traced.output_shapes["observation"].as_list() == shape


def test_sizes_may_be_numbers_of_numpy() -> None:
    """They come out of computations and files."""
    steps = to_tensors(small_game(9))
    sizes: Any = {"frame_skip": np.int64(2), "screen_size": np.int64(4)}
    expected = atari_preprocessing(steps, frame_skip=2, screen_size=(4, 4))["observation"]
    assert np.array_equal(atari_preprocessing(steps, **sizes)["observation"], expected)


@pytest.mark.parametrize(
    ("options", "fields", "error", "message"),
    [
        ({"frame_skip": 0}, {}, ValueError, "frame_skip of at least 1, got 0"),
        ({"screen_size": 0}, {}, ValueError, "to be shrunk to height 0 and width 0"),
        ({"frame_skip": 4.0}, {}, TypeError, "expected frame_skip to be an integer, got 4.0"),
        ({"screen_size": 4.0}, {}, TypeError, "expected screen_size to be an integer, got 4.0"),
        ({"screen_size": (4, 4.0)}, {}, TypeError, "expected screen_size to be an integer, got 4.0"),
        ({"screen_size": (4,)}, {}, ValueError, r"one number, or of width and height, got \(4,\)"),
        ({"screen_size": 9}, {}, ValueError, "they are of height 8 and width 6"),
        ({"field": "pixels"}, {}, ValueError, "no field 'pixels'"),
        ({"terminal_on_life_loss": True}, {}, ValueError, "no field 'info/lives'.*record_info=True"),
        ({}, {"observation": np.zeros((9, 8, 6, 3), np.float32)}, TypeError, "expected frames of uint8, got float32"),
        ({}, {"observation": np.zeros((9, 8), np.uint8)}, ValueError, r"expected frames \[T, height, width, 3.*got"),
        ({}, {"observation": np.zeros((9, 8, 6, 4), np.uint8)}, ValueError, r"expected frames \[T, height, width"),
        ({"grayscale": False}, {"observation": np.zeros((9, 8, 6), np.uint8)}, ValueError, "expected frames in colour"),
        ({}, {"observation": {"a": np.zeros((9, 8, 6), np.uint8)}}, ValueError, "name one of observation/a"),
    ],
)
def test_bad_arguments_are_refused(
    options: dict[str, Any], fields: Steps, error: type[Exception], message: str
) -> None:
    """Each message says what was expected."""
    with pytest.raises(error, match=message):
        atari_preprocessing(to_tensors(small_game(9, **fields)), **({"screen_size": 4} | options))
