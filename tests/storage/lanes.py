"""Records episodes as columns, with the interface of a recorder of single episodes: the same tests break both."""

import uuid
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from rlds_kit import EpisodeEnd
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.leaf import Leaves
from rlds_kit.storage.recorder import Recorder
from tests.storage.truth import Step

Row = tuple[Step, Step | None]


class Open(Protocol):
    """An open episode."""

    @property
    def id(self) -> uuid.UUID:
        """Of the episode."""

    @property
    def rows(self) -> int:
        """Recorded so far."""

    def append(self, observed: Step, acted: Step | None = None) -> None:
        """Records a row."""

    def end(self, ending: EpisodeEnd) -> None:
        """Ends the episode."""


class Source(Protocol):
    """Starts episodes."""

    def start_episode(self, *, metadata: Mapping[str, Any]) -> Open:
        """Starts an episode."""


class Lane:
    """An open episode of a batch. Created by `Lanes.start_episode`."""

    def __init__(self, lanes: "Lanes", index: int, metadata: Mapping[str, Any]) -> None:
        start = start_message(metadata=metadata)
        lanes.batch.start({index: start})
        self.id, self.index, self.rows = uuid.UUID(bytes=start.episode_id), index, 0
        self._lanes = lanes

    def append(self, observed: Step, acted: Step | None = None) -> None:
        """Records a row of this lane only."""
        self._lanes.append({self: (observed, acted)})

    def end(self, ending: EpisodeEnd) -> None:
        """Ends the episode; the lane is free for another one."""
        self._lanes.batch.end([self.index], ending)
        self._lanes.free.append(self.index)


class Lanes:
    """So many episodes at once, recorded as columns; rows with text are recorded singly."""

    def __init__(self, recorder: Recorder, count: int) -> None:
        self.batch, self.free, self._count = recorder.start_batch(count), [*range(count)], count

    def start_episode(self, *, metadata: Mapping[str, Any]) -> Lane:
        """Starts an episode in a free lane."""
        return Lane(self, self.free.pop(), metadata)

    def append(self, rows: Mapping[Lane, Row]) -> None:
        """Records a row of some lanes: those of the same columns at once, which are as many calls as kinds of rows."""
        kinds: dict[object, dict[Lane, tuple[Leaves, Leaves]]] = {}
        for lane, (observed, acted) in rows.items():
            leaves = self.batch.fields.leaves(observed, acted or {})
            kinds.setdefault(tuple(leaves[0].keys), {})[lane] = leaves
        for kind in kinds.values():
            if any(not isinstance(item, int | float | np.ndarray) for pair in kind.values() for item in pair[0].items):
                for lane, pair in kind.items():
                    self.batch.append_row(lane.index, *pair)
                    lane.rows += 1
                continue
            lanes = np.array(sorted(lane.index for lane in kind), np.int64)
            sides = BatchLeaves(
                self._columns({lane: pair[0] for lane, pair in kind.items()}),
                self._columns({lane: pair[1] for lane, pair in kind.items() if len(pair[1])}),
            )
            self.batch.append(sides, None if len(kind) == self._count else lanes)
            for lane in kind:
                lane.rows += 1

    def _columns(self, leaves: Mapping[Lane, Leaves]) -> list[BatchLeaf]:
        """The columns of all lanes; those without leaves have zeros, which nothing must use."""
        found: dict[Any, np.ndarray] = {}
        for lane, each in leaves.items():
            for key, item in each:
                value = np.asarray(item, key.dtype)
                found.setdefault(key, np.zeros((self._count, *value.shape), value.dtype))[lane.index] = value
        return [BatchLeaf(key, values) for key, values in found.items()]
