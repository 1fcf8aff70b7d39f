"""What people see."""

import numpy as np

from rlds_kit.shaping.environments import mountain_car_picture, tetris_picture
from rlds_kit.shaping.environments.pictures import BAR, CAR, GOAL


def _places(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """`[n, 2]`: rows and columns of a colour."""
    return np.argwhere((picture == colour).all(axis=2))


def test_t8_the_bar_is_where_the_car_accelerates_to() -> None:
    """At the left end, in the middle, at the right end; none without an action."""
    middles = [_places(mountain_car_picture([-0.5, 0.0], action), BAR)[:, 1].mean() for action in (0, 1, 2)]
    assert middles[0] < middles[1] < middles[2]
    assert len(_places(mountain_car_picture([-0.5, 0.0], None), BAR)) == 0


def test_t8_a_red_car_drives_to_a_green_goal() -> None:
    """The further the car, the further right it is; the goal stays, and a car anywhere is in the picture."""
    cars = [_places(mountain_car_picture([position, 0.0], None), CAR) for position in (-1.2, -0.5, 0.3, 0.6)]
    assert all(len(each) > 50 for each in cars)
    columns = [each[:, 1].mean() for each in cars]
    assert columns == sorted(set(columns))
    assert cars[1][:, 0].mean() > cars[2][:, 0].mean()  # in the valley it is lower
    assert len(_places(mountain_car_picture([-0.5, 0.0], 0), GOAL)) > 50


def test_t2_a_piece_falls_to_where_the_agent_puts_it() -> None:
    """It is visible while it falls; at the end it rests on the cells below."""
    board = np.zeros((20, 10), np.int8)
    board[19, :4] = 1
    observation = {"board": board, "piece": 0}
    begin, end = (tetris_picture(observation, 0, fallen) for fallen in (0.0, 1.0))
    yellow = (250, 204, 21)
    assert _places(begin, yellow)[:, 0].max() < 80
    assert set(_places(end, yellow)[:, 0] // 20) == {22}
    assert set(_places(end, yellow)[:, 1] // 20) == {0, 1, 2, 3}
    assert tetris_picture(observation, None).shape == (480, 200, 3)
