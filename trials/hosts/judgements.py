"""Rewards that people give while an episode is played: a layer beside its recording, written as they come."""

import asyncio
import dataclasses
import threading
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.step import REWARD
from rlds_kit.layers import Draft, LayerWriter
from rlds_kit.trials.engine.events import RewardGiven
from rlds_kit.trials.engine.messages import Amended

LAYER: Final = "judgements"
MOST_WAITING: Final = 64
"""Rewards that may wait for the disk; then further ones are refused."""
_SOURCE: Final = "studio"
"""Of the writer; each reward has a source of its own."""


class Judgement(NamedTuple):
    """A reward that was given.

    Attributes:
      amended: what the engine makes of it.
      done: steps that were done when it was given: the clock of steps.
    """

    amended: Amended
    done: int


class LayerFile:
    """The layer of rewards of a dataset: one file, which is made when the first reward is written. For several threads.

    Args:
      directory: of the dataset.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._writer: LayerWriter | None = None
        self._lock = threading.Lock()

    def write(self, drafts: Sequence[Draft]) -> None:
        """Writes rewards, all or none; returns when they are on the disk.

        Raises:
          OSError: they could not be written; the next ones go to another file.
        """
        with self._lock:
            if self._writer is None:
                self._writer = rlds_kit.open(self._directory, include_open=True).annotator(LAYER, source=_SOURCE)
            try:
                self._writer.add_all(drafts)
            except OSError:
                self._writer = None  # it closed its file; the person is notified that the reward is lost
                raise

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None


class Judgements:
    """Writes rewards to a layer of the dataset, in order; each is on the disk before it is confirmed.

    Args:
      layer: of the dataset; None: nothing is recorded, and rewards are confirmed at once.
      confirmed: called with a reward that is on the disk.
      failed: called with a reward that could not be written, and why.
    """

    def __init__(
        self,
        layer: LayerFile | None,
        confirmed: Callable[[Amended], None],
        failed: Callable[[Amended, str], None],
    ) -> None:
        self._layer, self._confirmed, self._failed = layer, confirmed, failed
        self._waiting: list[Judgement] = []
        self._task: asyncio.Task[None] | None = None
        self._episode, self._fields = uuid.UUID(int=0), dict[str, str]()
        self._sync: Callable[[], Awaitable[object]] = _nothing
        self._is_synced = False

    @property
    def is_full(self) -> bool:
        """Whether so many wait that no more is taken."""
        return len(self._waiting) >= MOST_WAITING

    def begin(self, episode: uuid.UUID, sync: Callable[[], Awaitable[object]], fields: dict[str, str]) -> None:
        """Begins an episode; `settle` has returned for the one before.

        Args:
          episode: its id in the recording.
          sync: puts what is recorded of it on the disk.
          fields: by seat, the path of its reward in a step.
        """
        self._episode, self._sync, self._fields, self._is_synced = episode, sync, fields, False

    def is_over(self) -> None:
        """The episode is over and on the disk; rewards may still come."""
        self._sync, self._is_synced = _nothing, True

    def add(self, judgement: Judgement) -> None:
        """Takes a reward."""
        if self._layer is None:
            self._confirmed(judgement.amended)
            return
        self._waiting.append(judgement)
        if self._task is None:
            self._task = asyncio.create_task(self._write_all(self._layer))

    async def settle(self) -> None:
        """Returns when all rewards are written."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def close(self) -> None:
        """Closes the file."""
        await self.settle()
        if self._layer is not None:
            await asyncio.to_thread(self._layer.close)

    async def _write_all(self, layer: LayerFile) -> None:
        while self._waiting:
            batch = tuple(self._waiting)
            reason = await self._try(layer, batch)
            del self._waiting[: len(batch)]
            for each in batch:
                if reason is None:
                    self._confirmed(each.amended)
                else:
                    self._failed(each.amended, reason)
        self._task = None

    async def _try(self, layer: LayerFile, batch: Sequence[Judgement]) -> str | None:
        """Writes rewards, all or none; returns why that failed."""
        try:
            if not self._is_synced:  # a layer is about an episode that is on the disk
                await self._sync()
                self._is_synced = True
            await asyncio.to_thread(layer.write, [draft for each in batch for draft in self._drafts(each)])
        except Exception as error:  # noqa: BLE001  whatever it is, the judge has to know, and the game goes on
            return f"this reward was not recorded: {type(error).__name__}: {error}"
        return None

    def _drafts(self, judgement: Judgement) -> list[Draft]:
        """The reward of a step, and its note. Step n of a game is the action of row n - 1."""
        amended, done = judgement
        given, row = amended.judgement, amended.step - 1
        assert isinstance(given, RewardGiven)  # noqa: S101  nothing else amends
        about: dict[str, Any] = {**given.details, "seat": given.seat, "done": done}
        field = self._fields.get(given.seat, REWARD)
        found = [layers.amendment(self._episode, field, given.value, row, confidence=given.confidence, user_data=about)]
        if given.note:
            found.append(layers.note(self._episode, given.note, row, confidence=given.confidence))
        return [dataclasses.replace(each, source=given.source) for each in found]


async def _nothing() -> None:
    """Nothing is to be put on the disk before the first episode."""
