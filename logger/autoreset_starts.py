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
    """Makes the starts of episodes that autoresets begin; encodes what stays the same once for each chain of resets.

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
        chain = self._resets.chain(lane)
        key = None if chain is None else chain.key
        known = self._known.get(lane)
        if known is None or known.key != key:
            first = start_message(provenance=start_provenance(self._resets, lane, autoreset=True))
            known = self._known[lane] = _Known(key, first, *_places(first))
        start = pb.EpisodeStart()
        start.CopyFrom(known.start)
        start.episode_id, start.started_unix_ns = new_id(), time.time_ns()
        if chain is not None:
            entries = start.provenance.dict.value[known.chain].dict.value
            entries[known.resets].integer, entries[known.steps].integer = chain.resets, chain.steps
        return start


class _Known(NamedTuple):
    """An encoded start of a chain.

    Attributes:
      key: of the chain; None: there was no seed yet.
      start: of one of its episodes.
      chain: the place of the chain among the items of the provenance.
      resets: the place of the number of resets in the chain.
      steps: likewise.
    """

    key: tuple[str, int] | None
    start: pb.EpisodeStart
    chain: int
    resets: int
    steps: int


def _places(start: pb.EpisodeStart) -> tuple[int, int, int]:
    """Where the chain is, and its numbers of resets and steps; if there is none, of no meaning."""
    provenance = start.provenance.dict
    chain = _place(provenance, RESET_CHAIN)
    if chain < 0:
        return -1, -1, -1
    entries = provenance.value[chain].dict
    return chain, _place(entries, "resets"), _place(entries, "steps")


def _place(entries: pb.Entries, name: str) -> int:
    key = value.encode_text(name)
    return next((at for at, each in enumerate(entries.key) if each.text == key), -1)
