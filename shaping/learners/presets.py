"""The agents and simulated trainers for Mountain Car and `PlacementTetris` in the measurements of the documentation."""

from rlds_kit.shaping.credit.assigner import Assigner
from rlds_kit.shaping.credit.delays import UniformWindow
from rlds_kit.shaping.credit.labels import Labelling, per_step_labels
from rlds_kit.shaping.credit.next_step import NextStep
from rlds_kit.shaping.environments.good_play import mountain_car_judge, tetris_judge
from rlds_kit.shaping.environments.tetris_features import TetrisFeatures
from rlds_kit.shaping.learners.features import PerAction, RadialBasis
from rlds_kit.shaping.learners.linear_model import NormalisedLinearModel
from rlds_kit.shaping.learners.replay import Replay
from rlds_kit.shaping.learners.simulated_trainer import SimulatedTrainer
from rlds_kit.shaping.learners.tamer import Tamer


def mountain_car_tamer(assigner: Assigner | None = None, *, labelling: Labelling = per_step_labels) -> Tamer:
    """An agent for Mountain Car, whose steps take 0.15 s: a grid of 12 times 12 radial bases for each action.

    Args:
      assigner: of credit; None: a window from 0.2 to 0.6 s.
      labelling: of credit.

    >>> mountain_car_tamer().act([-0.5, 0.0])
    0
    """
    basis = RadialBasis([-1.2, -0.07], [0.6, 0.07], per_dimension=12)
    features = PerAction(basis, basis.size, n_actions=3)
    model = NormalisedLinearModel(features.size, step_size=0.2)
    return Tamer(features, model, UniformWindow(0.2, 0.6) if assigner is None else assigner, labelling=labelling)


def mountain_car_trainer() -> SimulatedTrainer:
    """Judges 30 % of steps, 5 % of these wrongly, 0.2 to 0.6 s late.

    >>> mountain_car_trainer().share
    0.3
    """
    return SimulatedTrainer(judge=mountain_car_judge, share=0.3, flipped=0.05, delay=(0.2, 0.6), step_seconds=0.15)


def tetris_tamer(*, seed: int = 0, intercept: float = 3.0) -> Tamer:
    """An agent for `PlacementTetris`. Feedback is about the previous piece; each repeats 15 earlier labels.

    Args:
      seed: of the choice of earlier labels.
      intercept: a constant feature; without it the agent learns nothing.

    >>> tetris_tamer().features.size
    47
    """
    features = TetrisFeatures(intercept=intercept)
    model = NormalisedLinearModel(features.size, step_size=0.2)
    return Tamer(features, model, NextStep(lag=1), replay=Replay(repeats=15, seed=seed))


def tetris_trainer() -> SimulatedTrainer:
    """Judges every placement, from 2 to -2, while the next piece falls.

    >>> tetris_trainer().delay
    (1.0, 1.0)
    """
    return SimulatedTrainer(judge=tetris_judge, delay=(1.0, 1.0), step_seconds=1.0)
