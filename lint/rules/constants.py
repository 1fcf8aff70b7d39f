"""Fields that do not vary."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import ACTION, OBSERVATION, REWARD
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import Leaf, Subject, SubjectEpisode

FEWEST_ROWS: Final = 100


@rule("RK303", Severity.WARNING)
class ConstantField(Check):
    """An observation or action never changes.

    A leaf of the observations or actions has the same value in every row of the dataset: in 100 rows at least, and more
    than one episode.

    A camera that was covered, a sensor that was not connected, a controller that was never switched on: they are seen
    only on inspection. A network cannot learn from a constant, and a normalisation divides by its deviation of zero.

    Leave the leaf out (`Dataset.select`), or find out why it stands still. In some tasks a part of the state is fixed.
    """

    reads: tuple[str, ...] = (OBSERVATION, ACTION)

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, bytes] = {}
        self._rows: dict[str, int] = {}
        self._episodes = 0

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Compares rows with the first one of all."""
        for path, leaf in stretch.leaves.items():
            if self.wants(path) and not self._is_same(path, leaf):
                self.done.add(path)
        return ()

    def _is_same(self, path: str, leaf: Leaf) -> bool:
        if leaf.kind == "O":
            return False
        first = self._first.setdefault(path, leaf.values[0].tobytes())
        self._rows[path] = self._rows.get(path, 0) + len(leaf.rows)
        is_same = leaf.values[0].tobytes() == first and leaf.values.size > 0
        return is_same and bool((_bytes(leaf.values) == _bytes(leaf.values[:1])).all())

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Counts."""
        del episode
        self._episodes += 1
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports the leaves that never changed."""
        del subject
        for path, rows in self._rows.items():
            if path not in self.done and rows >= FEWEST_ROWS and self._episodes > 1:
                yield Hit(f"the same value in all {rows:,} rows", field=path, count=rows)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8)


@rule("RK304", Severity.INFO)
class ConstantReward(ConstantField):
    """The reward is the same for every action.

    Every reward of the dataset is equal, over 100 actions at least and more than one episode.

    Nothing can be learned from such a reward but to live longer or shorter. In some tasks that is the task (CartPole
    pays 1 for every step), and in sparse ones it may be that no episode has succeeded; it is also the reward that was
    not connected, or was lost in a conversion. So this is for information.

    If the task has other rewards, record again; if the dataset holds no success, say so in its description.
    """

    reads = (REWARD,)
