"""Keys of known environments are played: the action that a name promises is what the environment does."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from rlds_kit.trials import from_meanings
from rlds_kit.trials.environments.controls import Controls, controls_of

DIRECTIONS = {"ArrowLeft": (0, -1), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowDown": (1, 0)}
NAMED = {"ArrowLeft": "left", "ArrowRight": "right", "ArrowUp": "up", "ArrowDown": "down"}
COMPASS = {"ArrowLeft": "west", "ArrowRight": "east", "ArrowUp": "north", "ArrowDown": "south"}


def named(controls: Controls, key: str) -> str:
    """What a key is said to do."""
    return next(name for keys, _, name in controls.actions if keys == (key,))


def pressed(env: gymnasium.Env[Any, Any], controls: Controls, key: str | None, steps: int = 1) -> Any:
    """Holds a key, or none, for some steps; returns the last observation."""
    action = None if key is None else controls.controller().act({key: 1.0})
    for _ in range(steps):
        observation, *_ = env.step(controls.default if action is None else action)
    return observation


def square_of_cliff(state: int) -> tuple[int, int]:
    """Row and column."""
    return divmod(state, 12)


def square_of_lake(state: int) -> tuple[int, int]:
    """Row and column."""
    return divmod(state, 4)


def square_of_taxi(state: int) -> tuple[int, int]:
    """Row and column."""
    return state // 100, state // 20 % 5


@pytest.mark.parametrize(
    ("name", "kwargs", "square", "start", "names"),
    [
        ("CliffWalking-v1", {}, square_of_cliff, 17, NAMED),
        ("FrozenLake-v1", {"is_slippery": False}, square_of_lake, 9, NAMED),
        ("FrozenLake8x8-v1", {"is_slippery": False}, lambda state: divmod(state, 8), 18, NAMED),
        ("Taxi-v4", {}, square_of_taxi, 241, COMPASS),
    ],
)
@pytest.mark.parametrize("key", DIRECTIONS)
def test_arrows_move_on_the_board(
    name: str, kwargs: Any, square: Callable[[int], tuple[int, int]], start: int, names: dict[str, str], key: str
) -> None:
    """Left is one column less, down one row more, and so the names say."""
    with gymnasium.make(name, **kwargs) as env:
        controls = controls_of(env)
        env.reset(seed=1)
        env.unwrapped.s = start  # type: ignore[attr-defined]  # of the tables
        row, column = square(start)
        down, right = DIRECTIONS[key]
        assert square(int(pressed(env, controls, key))) == (row + down, column + right)
        assert named(controls, key) == names[key]


@pytest.mark.parametrize(("key", "was", "is_then"), [("KeyP", 0, 4), ("KeyO", 4, 0)])
def test_a_taxi_picks_up_and_drops_off(key: str, was: int, is_then: int) -> None:
    """Where the passenger stands, or sits and wants to leave."""
    with gymnasium.make("Taxi-v4") as env:
        controls = controls_of(env)
        env.reset(seed=1)
        env.unwrapped.s = env.unwrapped.encode(0, 0, was, 1 if was == 0 else 0)  # type: ignore[attr-defined]
        _, _, passenger, _ = env.unwrapped.decode(int(pressed(env, controls, key)))  # type: ignore[attr-defined]
        assert passenger == is_then
        assert named(controls, key) == {"KeyP": "pick up", "KeyO": "drop off"}[key]


@pytest.mark.parametrize(("name", "at"), [("CartPole-v1", 1), ("MountainCar-v0", 1)])
def test_a_cart_goes_where_the_arrow_points(name: str, at: int) -> None:
    """By its speed; without a key a car only rolls."""
    speeds: dict[str | None, float] = {}
    for key in ("ArrowLeft", "ArrowRight", None):
        with gymnasium.make(name) as env:
            controls = controls_of(env)
            env.reset(seed=1)
            speeds[key] = float(pressed(env, controls, key, 3)[at])
    assert speeds["ArrowLeft"] < speeds["ArrowRight"]
    assert (named(controls, "ArrowLeft"), named(controls, "ArrowRight")) == ("left", "right")
    if name == "MountainCar-v0":
        assert speeds["ArrowLeft"] < speeds[None] < speeds["ArrowRight"]
        assert named(controls, "ArrowDown") == "nothing"


def test_acrobot_turns_as_the_name_says_and_rests_without_a_key() -> None:
    """A push with -1 while no key is pressed is no rest."""
    with gymnasium.make("Acrobot-v1") as env:
        controls = controls_of(env)
        inner: Any = env.unwrapped
        assert inner.AVAIL_TORQUE[controls.default] == 0
        for key, torque in (("ArrowLeft", -1), ("ArrowDown", 0), ("ArrowRight", 1)):
            assert inner.AVAIL_TORQUE[controls.controller().act({key: 1.0})] == torque
            assert named(controls, key) == ("nothing" if torque == 0 else f"torque {torque:+d}")


@pytest.mark.parametrize(("key", "drawn"), [("KeyH", True), ("ArrowDown", False)])
def test_blackjack_hits_and_sticks(key: str, drawn: bool) -> None:
    """Hit draws a card, stick ends the hand."""
    with gymnasium.make("Blackjack-v1") as env:
        controls = controls_of(env)
        env.reset(seed=1)
        inner: Any = env.unwrapped
        before = len(inner.player)
        pressed(env, controls, key)
        assert len(inner.player) == before + drawn
        assert named(controls, key) == ("hit" if drawn else "stick")


def test_a_lander_fires_the_engine_that_is_named() -> None:
    """The main engine lifts; the side engines turn it to opposite sides; without a key it falls."""
    pytest.importorskip("Box2D")
    ends: dict[str | None, Any] = {}
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", None):
        with gymnasium.make("LunarLander-v3") as env:
            controls = controls_of(env)
            env.reset(seed=1)
            ends[key] = pressed(env, controls, key, 20)
    assert ends["ArrowUp"][3] > ends[None][3]
    assert ends["ArrowLeft"][5] > ends[None][5] > ends["ArrowRight"][5]  # the left engine turns it anticlockwise
    assert [named(controls, f"Arrow{side}") for side in ("Left", "Up", "Right", "Down")] == [
        "left engine",
        "main engine",
        "right engine",
        "nothing",
    ]


def test_a_racing_car_steers_where_the_arrow_points() -> None:
    """Of the car with discrete actions; the front wheels turn, gas makes it faster, the brake slower."""
    pytest.importorskip("Box2D")
    ends: dict[str | None, tuple[float, float]] = {}
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", None):
        with gymnasium.make("CarRacing-v3", continuous=False) as env:
            controls = controls_of(env)
            env.reset(seed=1)
            inner: Any = env.unwrapped
            pressed(env, controls, "ArrowUp", 40)
            pressed(env, controls, key, 10)
            ends[key] = inner.car.wheels[0].joint.angle, float(np.hypot(*inner.car.hull.linearVelocity))
    assert ends["ArrowLeft"][0] > 0 > ends["ArrowRight"][0]  # anticlockwise is positive
    assert ends["ArrowUp"][1] > ends[None][1] > ends["ArrowDown"][1]
    assert controls.default == 0
    assert [named(controls, f"Arrow{side}") for side in ("Left", "Up", "Right", "Down")] == [
        "steer left",
        "gas",
        "steer right",
        "brake",
    ]


@pytest.mark.parametrize("game", ["Breakout", "Pong", "SpaceInvaders", "MontezumaRevenge", "Boxing"])
@pytest.mark.parametrize("full", [False, True])
def test_games_have_the_keys_of_their_meanings(game: str, full: bool) -> None:
    """Each chord does the action that has its name, and nothing pressed does NOOP."""
    ale_py = pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    with gymnasium.make(f"ALE/{game}-v5", full_action_space=full) as env:
        controls = controls_of(env)
        meanings = env.unwrapped.get_action_meanings()  # type: ignore[attr-defined]
    wanted = {keys: action for keys, action in from_meanings(meanings).actions.items() if keys}
    assert {frozenset(keys): action for keys, action, _ in controls.actions if keys != ("KeyE",)} == wanted
    assert controls.controller().act({"KeyE": 1.0}) == meanings.index("NOOP")  # the emulator's own key
    assert [name for _, _, name in controls.actions] == [meanings[action] for _, action, _ in controls.actions]
    assert meanings[controls.default] == "NOOP"
    assert controls.names == tuple(meanings)


class Unknown(gymnasium.Env[int, int]):
    """What its actions do is unknown."""

    def __init__(self, count: int, first: int) -> None:
        self.action_space: Any = gymnasium.spaces.Discrete(count, start=first)


def test_what_is_unknown_has_digits_and_numbers() -> None:
    """No arrow promises a direction; the names are the numbers that are recorded."""
    controls = controls_of(Unknown(12, 5))
    assert controls.names == tuple(str(number) for number in range(5, 17))
    assert controls.actions[0] == (("Digit0",), 5, "5")
    assert controls.actions[11] == (("KeyE",), 16, "16")
    assert controls.default == 5
    assert not [keys for keys, _, _ in controls.actions if keys[0].startswith("Arrow")]


def test_a_table_changes_keys_names_and_default() -> None:
    """Also where the first action is not 0; a table of other actions is refused."""
    controls = controls_of(Unknown(2, 5))
    rows = [{"name": "wait", "keys": []}, {"name": "jump", "keys": ["KeyJ", "ArrowUp+Space"]}]
    edited = controls.edited({"actions": rows, "default": 1})
    assert edited.controller().act({"Space": 1.0, "ArrowUp": 1.0}) == 6
    assert edited.controller().act({"Digit0": 1.0}) is None
    assert (edited.default, edited.names) == (6, ("wait", "jump"))
    assert edited.as_json() == {"actions": rows, "default": 1, "first": 5}
    with pytest.raises(ValueError, match="a row for each of the 2 actions, got 1"):
        controls.edited({"actions": rows[:1], "default": 0})
    with gymnasium.make("Pendulum-v1") as env, pytest.raises(ValueError, match="expected no table"):
        controls_of(env).edited({"actions": rows, "default": 0})
