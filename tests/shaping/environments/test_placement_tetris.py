"""The placement Tetris."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rlds_kit.shaping.environments import PlacementTetris, placements
from rlds_kit.shaping.environments.placement_tetris import PIECES, SHAPES


def test_pieces_have_their_turns() -> None:
    """The square has one, I, S and Z have two, the others four; all have four cells."""
    assert {name: len(turns) for name, turns in zip(PIECES, SHAPES, strict=True)} == {
        "I": 2, "O": 1, "T": 4, "S": 2, "Z": 2, "J": 4, "L": 4,
    }  # fmt: skip
    assert all(shape.sum() == 4 for turns in SHAPES for shape in turns)


def test_an_empty_board_has_34_placements_of_a_t() -> None:
    """8 columns for two of its turns, 9 for the others."""
    assert len(placements(np.zeros((20, 10)), PIECES.index("T")).actions) == 34


def test_a_piece_comes_to_rest_on_what_is_below() -> None:
    """A flat I on a tower stands over the gap beside it."""
    board = np.zeros((20, 10))
    board[15:, 0] = 1
    after = placements(board, PIECES.index("I")).boards[0]
    assert np.flatnonzero(after[14]).tolist() == [0, 1, 2, 3]
    assert after.sum() == 9


def test_complete_lines_vanish_and_what_is_above_comes_down() -> None:
    board = np.zeros((20, 10))
    board[18:, :9] = 1
    board[17, 0] = 1
    found = placements(board, PIECES.index("I"))
    at = found.actions.index(19)
    assert found.lines[at] == 2
    assert np.argwhere(found.boards[at]).tolist() == [[18, 9], [19, 0], [19, 9]]


def test_a_piece_that_fits_nowhere_ends_the_game() -> None:
    """Pieces that are all put to the left reach the top; then a step is an error."""
    env = PlacementTetris()
    env.reset(seed=1)
    is_over = False
    for _ in range(60):
        _, _, is_over, _, info = env.step(0)
        if is_over:
            break
    assert is_over
    assert info["lines"] == 0
    with pytest.raises(ValueError, match="of a game that is not over"):
        env.step(0)


def test_an_action_that_does_not_fit_becomes_the_nearest() -> None:
    """The last column of a flat I is the seventh; a square has one turn."""
    flat = PlacementTetris()
    for seed in range(50):
        observation, _ = flat.reset(seed=seed)
        if observation["piece"] == PIECES.index("I"):
            break
    after, *_ = flat.step(9)
    assert np.flatnonzero(after["board"][19]).tolist() == [6, 7, 8, 9]


def test_the_reward_is_the_number_of_lines_and_a_limit_truncates() -> None:
    env = PlacementTetris(max_pieces=3)
    env.reset(seed=0)
    ends = [env.step(column)[2:4] for column in (0, 4, 7)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_gymnasium_makes_it_and_finds_no_fault() -> None:
    """By its id, with pictures."""
    env = gymnasium.make("rlds_kit/PlacementTetris-v0", render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its checker: about its own wrappers
        check_env(env.unwrapped)
    env.reset(seed=0)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (480, 200, 3)
