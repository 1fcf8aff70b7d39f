"""The first records of episodes that autoresets begin: those of an environment differ in a few numbers only."""

import time
from typing import NamedTuple

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.reset_chain import RESET_CHAIN
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.vector_result import start_provenance
from rlds_kit.spec import value
from rlds_kit.storage.episode_messages import new_id, start_message


class AutoresetStarts:
    """Makes the starts of episodes that autoresets begin; encodes their common part once for each chain of resets.

    Args:
      resets: of the environments.

    >>> resets = ResetCounters(2)
    >>> resets.reset(1, 7)
    >>> value.decode(AutoresetStarts(resets).start(1).provenance)["reset_chain"]["seed"]
    7
    """

    def __init__(self, resets: ResetCounters) -> None:
        self._resets = resets
        self._known: dict[int, _Known] = {}

    def start(self, lane: int) -> pb.EpisodeStart:
        """The start of an episode of an environment that begins now.

        Raises:
          UnsupportedTypeError: the seed of the environment cannot be recorded.
        """
        seeded, resets, steps = self._resets.position(lane) or (None, 0, 0)
        known = self._known.get(lane)
        if known is None or known.seeded != seeded:
            first = start_message(provenance=start_provenance(self._resets, lane, autoreset=True))
            known = self._known[lane] = _Known(seeded, first, *_numbers(first))
        made = known.start
        made.episode_id, made.started_unix_ns = new_id(), time.time_ns()
        if seeded is not None:
            known.resets.integer, known.steps.integer = resets, steps
        start = pb.EpisodeStart()
        start.CopyFrom(made)
        return start


class _Known(NamedTuple):
    """An encoded start of a chain.

    Attributes:
      seeded: which reset of the environment had its seed; None: there was none yet.
      start: of its latest episode; others get copies.
      resets: the number of resets in it; undefined without a chain.
      steps: likewise.
    """

    seeded: int | None
    start: pb.EpisodeStart
    resets: pb.Value
    steps: pb.Value


def _numbers(start: pb.EpisodeStart) -> tuple[pb.Value, pb.Value]:
    """The numbers of resets and steps in the chain of a start, to be changed there."""
    chain = _item(start.provenance.dict, RESET_CHAIN)
    return _item(chain.dict, "resets"), _item(chain.dict, "steps")


def _item(entries: pb.Entries, name: str) -> pb.Value:
    """The value of a name; another one if there is none."""
    key = value.encode_text(name)
    return next((item for each, item in zip(entries.key, entries.value, strict=True) if each.text == key), pb.Value())
