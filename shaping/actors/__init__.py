"""Actors of trials: an agent that learns while it plays, and a simulated trainer."""

from rlds_kit.shaping.actors.recorded_trial import learn_from_trial
from rlds_kit.shaping.actors.tamer_actor import TamerActor
from rlds_kit.shaping.actors.trainer_actor import TrainerActor

__all__ = ["TamerActor", "TrainerActor", "learn_from_trial"]
