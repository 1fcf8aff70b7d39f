"""What became of a trial, and where one stands that runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.hosts.trial_setup import TrialSetup


class TrialRefusedError(RuntimeError):
    """A trial does not begin: a hook raised an error, or its id is another trial's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTrial:
    """A trial that is over; its recording is on the disk.

    Attributes:
      id: of the trial.
      number: in its host, from 0.
      setup: that it had.
      status: what became of it; None: it was refused, and `error` says why.
      reason: why it ended, if its environment did not end it.
      steps: how many were done.
      totals: sums of the environment's rewards by seat.
      seed: of the environment.
      episode_id: in the recording, 32 hexadecimal digits; "" if nothing is recorded.
      failures: of actors at the end, by seat.
      error: why it was refused.
    """

    id: str
    number: int
    setup: TrialSetup
    status: Status | None
    reason: str = ""
    steps: int = 0
    totals: Mapping[str, float]
    seed: int | None = None
    episode_id: str = ""
    failures: Mapping[str, str]
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialState:
    """Where a trial stands.

    Attributes:
      id: of the trial.
      number: in its host, from 0.
      phase: of it.
      step: how many were done.
      seconds: since it began.
      totals: sums of the environment's rewards by seat.
      observations: the latest ones, by seat.
      properties: of its setup.
    """

    id: str
    number: int
    phase: Phase
    step: int
    seconds: float
    totals: Mapping[str, float]
    observations: Mapping[str, Any]
    properties: Mapping[str, Any]
