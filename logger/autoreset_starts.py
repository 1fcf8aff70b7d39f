"""The first records of episodes that autoresets begin: those of an environment differ in a few numbers only."""

import time
import uuid

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.reset_chain import RESET_CHAIN
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.logger.vector_result import start_provenance
from rlds_kit.spec import value
from rlds_kit.storage.episode_messages import start_message


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
        self._known: dict[int, tuple[tuple[str, int] | None, pb.EpisodeStart]] = {}

    def start(self, lane: int) -> pb.EpisodeStart:
        """The start of an episode of an environment that begins now.

        Raises:
          UnsupportedTypeError: the seed of the environment cannot be recorded.
        """
        chain = self._resets.chain(lane)
        key = None if chain is None else chain.key
        known = self._known.get(lane)
        if known is None or known[0] != key:
            first = start_message(provenance=start_provenance(self._resets, lane, autoreset=True))
            known = self._known[lane] = key, first
        start = pb.EpisodeStart()
        start.CopyFrom(known[1])
        start.episode_id, start.started_unix_ns = uuid.uuid4().bytes, time.time_ns()
        if chain is not None:
            entries = _item(start.provenance.dict, RESET_CHAIN).dict
            _item(entries, "resets").integer, _item(entries, "steps").integer = chain.resets, chain.steps
        return start


def _item(entries: pb.Entries, name: str) -> pb.Value:
    """The last item of this name, which is usually near the end."""
    key = value.encode_text(name)
    return next(entries.value[at] for at in range(len(entries.key) - 1, -1, -1) if entries.key[at].text == key)
