"""A Tetris whose actions are placements: each step rotates and drops one piece."""

from typing import Any, Final, NamedTuple, TypeAlias

import gymnasium
import numpy as np

HEIGHT: Final = 20
WIDTH: Final = 10
PIECES: Final = "IOTSZJL"
TURNS: Final = 4
_SHAPES: Final = ("1111", "11/11", "010/111", "011/110", "110/011", "100/111", "001/111")
Observation: TypeAlias = dict[str, Any]


def _turned(rows: str) -> list[np.ndarray]:
    """The different rotations of a piece, bool arrays with the top row first."""
    shape = np.array([[cell == "1" for cell in row] for row in rows.split("/")])
    found: list[np.ndarray] = []
    for times in range(TURNS):
        turned = np.rot90(shape, -times)
        if not any(np.array_equal(turned, each) for each in found):
            found.append(turned)
    return found


SHAPES: Final = tuple(_turned(each) for each in _SHAPES)
_BELOW: Final = tuple([each.shape[0] - 1 - each[::-1].argmax(axis=0) for each in turns] for turns in SHAPES)
"""By piece, turn and column: the row of its lowest cell, counted from its top row."""


class Placements(NamedTuple):
    """The possible placements of a piece.

    Attributes:
      actions: numbers of the placements: rotation times 10 plus the column of the piece's left cells.
      boards: `[n, 20, 10]` bool, the board after each placement, without completed lines.
      lines: `[n]` int64, number of lines that each completes.
    """

    actions: list[int]
    boards: np.ndarray
    lines: np.ndarray


def placements(board: np.ndarray, piece: int) -> Placements:
    """All possible placements of a piece; empty if it fits nowhere, and then the game is over.

    Args:
      board: `[20, 10]`, the top row first; not 0: a cell is filled.
      piece: its number in "IOTSZJL".

    >>> placements(np.zeros((20, 10)), 0).actions == [*range(7), *range(10, 20)]
    True
    """
    filled = np.asarray(board) != 0
    tops = _tops(filled)
    actions, boards = [], []
    for turn, (shape, below) in enumerate(zip(SHAPES[piece], _BELOW[piece], strict=True)):
        height, width = shape.shape
        for column in range(WIDTH - width + 1):
            row = int((tops[column : column + width] - below).min()) - 1
            if row >= 0:
                after = filled.copy()
                after[row : row + height, column : column + width] |= shape
                actions.append(turn * WIDTH + column)
                boards.append(after)
    stacked = np.array(boards, np.bool_).reshape(-1, HEIGHT, WIDTH)
    complete = np.asarray(stacked.all(axis=2))
    for at in np.flatnonzero(complete.any(axis=1)):
        stacked[at] = _cleared(stacked[at], complete[at])
    return Placements(actions, stacked, complete.sum(axis=1))


def _tops(filled: np.ndarray) -> np.ndarray:
    """`[..., 10]` int64: the row of the highest filled cell of each column; 20: there is none."""
    found: np.ndarray = np.where(filled.any(axis=-2), filled.argmax(axis=-2), HEIGHT)
    return found


def _cleared(board: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Removes complete lines from the board; the rows above move down."""
    rest = board[~complete]
    return np.concatenate([np.zeros((HEIGHT - len(rest), WIDTH), np.bool_), rest])


class PlacementTetris(gymnasium.Env[Observation, int]):
    """Tetris in which a step places a piece: rotation times 10 plus column, or the nearest possible placement.

    An observation has the `board`, `[20, 10]` int8 with the top row first, and the number of the `piece` in "IOTSZJL".
    The reward is the number of completed lines. The game ends when a piece fits nowhere, and is truncated after
    `max_pieces`.

    Args:
      max_pieces: of a game; None: no limit.
      render_mode: "rgb_array" or None.

    >>> env = PlacementTetris()
    >>> _ = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> int(observation["board"].sum()), reward, info["pieces"]
    (4, 0.0, 1)
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012  as Gymnasium declares it

    def __init__(self, *, max_pieces: int | None = None, render_mode: str | None = None) -> None:
        self.observation_space = gymnasium.spaces.Dict(
            {
                "board": gymnasium.spaces.Box(0, 1, (HEIGHT, WIDTH), np.int8),
                "piece": gymnasium.spaces.Discrete(len(PIECES)),
            }
        )
        self.action_space = gymnasium.spaces.Discrete(TURNS * WIDTH)  # type: ignore[assignment]  # of np.int64
        self.render_mode, self._max_pieces = render_mode, max_pieces
        self._begin()

    def _begin(self) -> None:
        self._board, self._piece = np.zeros((HEIGHT, WIDTH), np.int8), 0
        self._n_pieces = self._n_lines = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Any]:
        """An empty board."""
        super().reset(seed=seed, options=options)
        self._begin()
        self._piece = int(self.np_random.integers(len(PIECES)))
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Places the piece.

        Raises:
          ValueError: the game is over, or the action is invalid.
        """
        possible = placements(self._board, self._piece)
        if not possible.actions or not 0 <= int(action) < TURNS * WIDTH:
            raise ValueError(f"expected an action in [0, {TURNS * WIDTH}) of a game that is not over, got {action!r}")
        at = _nearest(possible.actions, int(action), len(SHAPES[self._piece]))
        self._board, lines = possible.boards[at].astype(np.int8), int(possible.lines[at])
        self._piece = int(self.np_random.integers(len(PIECES)))
        self._n_pieces, self._n_lines = self._n_pieces + 1, self._n_lines + lines
        is_over = not placements(self._board, self._piece).actions
        truncated = self._max_pieces is not None and self._n_pieces >= self._max_pieces
        return self._observation(), float(lines), is_over, truncated, self._info()

    def render(self) -> np.ndarray:
        """The board and, above it, the piece that is placed next: `[480, 200, 3]` uint8."""
        shape = SHAPES[self._piece][0]
        picture = np.zeros((HEIGHT + 4, WIDTH), np.uint8)
        picture[4:] = self._board
        picture[1 : 1 + shape.shape[0], 3 : 3 + shape.shape[1]] = 2 * shape
        colours = np.array([[24, 26, 31], [96, 165, 250], [250, 204, 21]], np.uint8)
        return colours[picture].repeat(20, axis=0).repeat(20, axis=1)

    def _observation(self) -> Observation:
        return {"board": self._board.copy(), "piece": np.int64(self._piece)}

    def _info(self) -> dict[str, Any]:
        return {"pieces": self._n_pieces, "lines": self._n_lines}


def _nearest(actions: list[int], action: int, n_turns: int) -> int:
    """The index of an action in a list; else that of the nearest column, with the same rotation if possible."""
    turn, column = action // WIDTH % n_turns, action % WIDTH
    distances = [(each // WIDTH != turn, abs(each % WIDTH - column)) for each in actions]
    return distances.index(min(distances))
