"""Keys, chords, sticks and switches."""

import itertools

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.trials import Axes, Chords, from_keys_to_action, from_meanings, numbered

NAMES = ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Space")
DIRECTIONS = ("", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPLEFT", "DOWNRIGHT", "DOWNLEFT")
ALE = ["NOOP", "FIRE", *DIRECTIONS[1:], *(f"{direction}FIRE" for direction in DIRECTIONS[1:])]


@pytest.mark.parametrize(("number", "meaning"), list(enumerate(ALE)))
def test_c9_every_chord_of_atari(number: int, meaning: str) -> None:
    """All 18 actions have keys of their own, by arrows or by letters."""
    arrows = {"UP": "ArrowUp", "DOWN": "ArrowDown", "LEFT": "ArrowLeft", "RIGHT": "ArrowRight", "FIRE": "Space"}
    letters = {"UP": "KeyW", "DOWN": "KeyS", "LEFT": "KeyA", "RIGHT": "KeyD", "FIRE": "Space"}
    for keys in (arrows, letters):
        held = {key: 1.0 for name, key in keys.items() if name in meaning}
        assert from_meanings(ALE).act(held) == (number or None)


def test_the_arcade_learning_environment_is_understood() -> None:
    """Its own names of actions."""
    ale_py = pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    for game in ("Breakout", "SpaceInvaders", "Seaquest"):
        with gymnasium.make(f"ALE/{game}-v5") as env:
            meanings = env.unwrapped.get_action_meanings()  # type: ignore[attr-defined]
            chords = from_meanings(meanings)
            assert sorted(chords.actions.values()) == list(range(len(meanings)))


@given(st.sets(st.sampled_from(NAMES)), st.permutations(NAMES))
def test_c9_a_key_too_many_is_ignored(keys: set[str], order: list[str]) -> None:
    """The largest chord among the keys that are held is done, whatever else is held."""
    chords = Chords({frozenset(each): "+".join(each) for n in (1, 2) for each in itertools.combinations(NAMES[2:], n)})
    held = dict.fromkeys([key for key in order if key in keys], 1.0)
    action = chords.act(held)
    possible = keys & set(NAMES[2:])
    assert (action is None) == (not possible)
    if action is not None:
        assert len(action.split("+")) == min(2, len(possible))


def test_of_two_equal_chords_the_later_counts() -> None:
    """As people expect who press right before they release left."""
    chords = Chords({frozenset({"ArrowLeft"}): 1, frozenset({"ArrowRight"}): 2})
    assert chords.act({"ArrowLeft": 1.0, "ArrowRight": 1.0}) == 2
    assert chords.act({"ArrowRight": 1.0, "ArrowLeft": 1.0}) == 1


def test_a_gamepad_plays_what_keys_play() -> None:
    """Its cross, its stick from half way on, its first button."""
    chords = from_meanings(ALE)
    assert chords.act({"Button12": 1.0, "Button0": 1.0}) == ALE.index("UPFIRE")
    assert chords.act({"Axis0": 0.51, "Axis1": -0.8}) == ALE.index("UPRIGHT")
    assert chords.act({"Axis0": 0.49}) is None


@given(st.floats(-1, 1))
def test_sticks_are_not_rounded(value: float) -> None:
    """What they say is what is done."""
    axes = Axes(np.array([-2.0]), np.array([2.0]), {"Axis0": (0, 1.0)}, np.zeros(1))
    assert axes.act({"Axis0": value})[0] == 2.0 * value


def test_keys_move_axes_to_their_bounds_and_no_further() -> None:
    """From where they rest, on each side as far as there is room."""
    moves = {"ArrowLeft": (0, -1.0), "KeyA": (0, -1.0), "ArrowRight": (0, 1.0)}
    axes = Axes(np.array([0.0], np.float32), np.array([1.0], np.float32), moves, np.array([0.25]))
    assert axes.act({})[0] == np.float32(0.25)
    assert axes.act({"ArrowLeft": 1.0, "KeyA": 1.0})[0] == 0.0
    assert axes.act({"ArrowRight": 1.0})[0] == 1.0
    assert axes.act({"ArrowRight": 1.0, "ArrowLeft": 1.0})[0] == np.float32(0.25)
    assert axes.act({}).dtype == np.float32


def test_a_switch_flips_once_a_press() -> None:
    """A gripper that a key closes and opens."""
    axes = Axes(np.array([-1.0]), np.array([1.0]), {}, np.zeros(1), toggles={"Space": 0})
    found = [axes.act(held)[0] for held in ({}, {"Space": 1.0}, {"Space": 1.0}, {}, {"Space": 1.0}, {})]
    assert found == [-1, 1, 1, 1, -1, -1]


def test_tables_of_gymnasium() -> None:
    """Texts, characters, codes and names are understood."""
    chords = from_keys_to_action({"": 0, "wd": 5, (" ", "left"): 6, (ord("1"),): 7})
    assert chords.act({"ArrowUp": 1.0, "ArrowRight": 1.0}) == 5
    assert chords.act({"Space": 1.0, "KeyA": 1.0}) == 6
    assert chords.act({"Digit1": 1.0}) == 7
    assert chords.act({}) is None


@pytest.mark.parametrize("codes", [(273, 274, 275, 276), (1073741906, 1073741905, 1073741903, 1073741904)])
def test_arrows_by_the_codes_of_pygame(codes: tuple[int, ...]) -> None:
    """As it numbers them now, and as it did when Gymnasium's classics were written."""
    chords = from_keys_to_action({(code,): number for number, code in enumerate(codes)})
    arrows = ("ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft")
    assert [chords.act({key: 1.0}) for key in arrows] == [0, 1, 2, 3]


@pytest.mark.parametrize("count", [1, 4, 10, 11, 31, 40])
def test_every_numbered_action_has_a_key(count: int) -> None:
    """As far as digits and letters go; none is an arrow, which would promise a direction."""
    actions = numbered(count).actions
    assert set(actions.values()) == set(range(min(count, 31)))
    assert not actions.keys() & {frozenset({f"Arrow{side}"}) for side in ("Left", "Right", "Up", "Down")}
    for keys, action in actions.items():
        assert numbered(count).act(dict.fromkeys(keys, 1.0)) == action


def test_unknown_names_of_actions() -> None:
    with pytest.raises(ValueError, match="'JUMP': expected UP"):
        from_meanings(["NOOP", "JUMP"])
