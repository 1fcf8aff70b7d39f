"""The first records of episodes that autoresets begin: those of an environment differ in a few numbers only."""

import time
from typing import NamedTuple

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.reset_chain import RESET_CHAIN
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.vector_result import start_provenance
from rlds_kit.spec import value
from rlds_kit.storage.episode_messages import new_id, start_message


class AutoresetStart(NamedTuple):
    """The start of an episode that an autoreset begins; its record is made when it is written.

    Attributes:
      episode_id: of the episode.
      started_unix_ns: when it began.
      chain: of the resets.
      resets: the number of resets in it; not used without a seed.
      steps: likewise.
    """

    episode_id: bytes
    started_unix_ns: int
    chain: "_Chain"
    resets: int
    steps: int

    def message(self) -> pb.EpisodeStart:
        """The first record. Not thread-safe among starts of the same environment."""
        chain = self.chain
        chain.start.episode_id, chain.start.started_unix_ns = self.episode_id, self.started_unix_ns
        if chain.seeded is not None:
            chain.resets.integer, chain.steps.integer = self.resets, self.steps
        start = pb.EpisodeStart()
        start.CopyFrom(chain.start)
        return start


class AutoresetStarts:
    """Makes the starts of episodes that autoresets begin; encodes their common part once for each chain of resets.

    Args:
      resets: of the environments.

    >>> resets = ResetCounters(2)
    >>> resets.reset(1, 7)
    >>> value.decode(AutoresetStarts(resets).start(1).message().provenance)["reset_chain"]["seed"]
    7
    """

    def __init__(self, resets: ResetCounters) -> None:
        self._resets = resets
        self._chains: dict[int, _Chain] = {}

    def start(self, lane: int) -> AutoresetStart:
        """The start of an episode of an environment that begins now.

        Raises:
          UnsupportedTypeError: the seed of the environment cannot be recorded.
        """
        seeded, resets, steps = self._resets.position(lane) or (None, 0, 0)
        chain = self._chains.get(lane)
        if chain is None or chain.seeded != seeded:
            first = start_message(provenance=start_provenance(self._resets, lane, autoreset=True))
            chain = self._chains[lane] = _Chain(seeded, first, *_numbers(first))
        return AutoresetStart(new_id(), time.time_ns(), chain, resets, steps)


class _Chain(NamedTuple):
    """The resets of an environment since its last seed.

    Attributes:
      seeded: which reset of the environment had the seed; None: there was none yet.
      start: of the latest episode whose record was made; others get copies.
      resets: the number of resets in it; undefined without a seed.
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
