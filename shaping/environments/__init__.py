"""Games for trainings: a Tetris whose steps are placements; and judges of good play for it and for Mountain Car."""

import gymnasium

from rlds_kit.shaping.environments.good_play import mountain_car_judge, tetris_judge
from rlds_kit.shaping.environments.pictures import mountain_car_picture, tetris_picture
from rlds_kit.shaping.environments.placement_tetris import Placements, PlacementTetris, placements
from rlds_kit.shaping.environments.tetris_features import TetrisFeatures, board_features

__all__ = [
    "PlacementTetris",
    "Placements",
    "TetrisFeatures",
    "board_features",
    "mountain_car_judge",
    "mountain_car_picture",
    "placements",
    "tetris_judge",
    "tetris_picture",
]

ID = "rlds_kit/PlacementTetris-v0"
if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="rlds_kit.shaping.environments.placement_tetris:PlacementTetris")
