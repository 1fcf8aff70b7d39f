"""Credit assignment: the steps that an event of feedback is about, labels for training, and losses."""

from rlds_kit.shaping.credit.assigner import Assigner, Credit, identity
from rlds_kit.shaping.credit.delays import DelayAssigner, EmpiricalHistogram, GammaDelay, UniformWindow
from rlds_kit.shaping.credit.derived import StepCredit, drop_credit, read_credit, step_credit, write_credit
from rlds_kit.shaping.credit.labels import (
    Label,
    Labelling,
    aggregate_labels,
    aggregate_loss,
    per_step_labels,
    per_step_loss,
)
from rlds_kit.shaping.credit.next_step import NextStep

__all__ = [
    "Assigner",
    "Credit",
    "DelayAssigner",
    "EmpiricalHistogram",
    "GammaDelay",
    "Label",
    "Labelling",
    "NextStep",
    "StepCredit",
    "UniformWindow",
    "aggregate_labels",
    "aggregate_loss",
    "drop_credit",
    "identity",
    "per_step_labels",
    "per_step_loss",
    "read_credit",
    "step_credit",
    "write_credit",
]
