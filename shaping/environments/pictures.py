"""Pictures of the games for people who train agents; the action of a step is visible while the step is shown."""

from typing import Any, Final

import numpy as np

from rlds_kit.shaping.environments.placement_tetris import HEIGHT, SHAPES, WIDTH

_CELL: Final = 20
_TETRIS: Final = np.array([[24, 26, 31], [96, 165, 250], [250, 204, 21]], np.uint8)
"""Colours of empty cells, cells at rest, and the falling piece."""

CAR_HEIGHT: Final = 240
CAR_WIDTH: Final = 400
SKY: Final = (250, 250, 250)
HILL: Final = (60, 64, 72)
CAR: Final = (214, 40, 40)
BAR: Final = (137, 207, 240)
GOAL: Final = (34, 160, 60)
_LOW, _HIGH, _GOAL_AT = -1.2, 0.6, 0.5


def tetris_picture(observation: Any, action: Any, fallen: float = 0.0) -> np.ndarray:
    """A piece that falls to the position that the agent has chosen.

    Args:
      observation: of `PlacementTetris`.
      action: of the step; None: the game is over, and the next piece is above the board.
      fallen: how far the piece has fallen: 0 is above the board, 1 at rest.

    Returns:
      `[480, 200, 3]` uint8.
    """
    board = np.zeros((HEIGHT + 4, WIDTH), np.uint8)
    board[4:] = np.asarray(observation["board"]) != 0
    turns = SHAPES[int(observation["piece"])]
    turn, column = (0, 3) if action is None else divmod(int(action), WIDTH)
    shape = turns[turn % len(turns)]
    column = min(column, WIDTH - shape.shape[1])
    row = 0 if action is None else round(min(max(fallen, 0.0), 1.0) * _lowest(board, shape, column))
    board[row : row + shape.shape[0], column : column + shape.shape[1]][shape] = 2
    return _TETRIS[board].repeat(_CELL, axis=0).repeat(_CELL, axis=1)


def _lowest(board: np.ndarray, shape: np.ndarray, column: int) -> int:
    """The last row, counted from above the board, to which a shape falls freely."""
    row = 0
    height, width = shape.shape
    while row + height < len(board) and not (board[row + 1 : row + 1 + height, column : column + width] & shape).any():
        row += 1
    return row


def mountain_car_picture(observation: Any, action: Any) -> np.ndarray:
    """A red car in the hills, a light blue bar on it for its acceleration, and a green goal.

    Args:
      observation: of Mountain Car: position and velocity.
      action: 0: it accelerates to the left, and the bar is at its left end; 2: to the right; 1 or None: not at all.

    Returns:
      `[240, 400, 3]` uint8.

    >>> picture = mountain_car_picture([-0.5, 0.0], 2)
    >>> bool((picture == BAR).all(axis=2).any()), bool((picture == GOAL).all(axis=2).any())
    (True, True)
    """
    picture = np.full((CAR_HEIGHT, CAR_WIDTH, 3), SKY, np.uint8)
    columns = np.arange(CAR_WIDTH)
    ground = _row(_LOW + (_HIGH - _LOW) * columns / (CAR_WIDTH - 1)).astype(int)
    picture[np.arange(CAR_HEIGHT)[:, None] >= ground[None, :]] = HILL
    _fill(picture, int(_row(_GOAL_AT)) - 34, _column(_GOAL_AT), 34, 6, GOAL)
    position = float(np.asarray(observation)[0])
    top, left = int(_row(position)) - 14, _column(position) - 14
    _fill(picture, top, left, 14, 28, CAR)
    if action is not None:
        _fill(picture, top, left + (0, 11, 22)[int(action)], 14, 6, BAR)
    return picture


def _row(position: Any) -> Any:
    """The row of the ground: Mountain Car's hills are sin(3 x)."""
    return CAR_HEIGHT - 30 - (np.sin(3 * position) + 1) / 2 * (CAR_HEIGHT - 90)


def _column(position: float) -> int:
    return round((position - _LOW) / (_HIGH - _LOW) * (CAR_WIDTH - 1))


def _fill(picture: np.ndarray, top: int, left: int, height: int, width: int, colour: tuple[int, int, int]) -> None:
    picture[max(top, 0) : top + height, max(left, 0) : left + width] = colour
