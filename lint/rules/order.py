"""Steps and episodes in a wrong order."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import FLAGS, IS_FIRST, RECORDED, STEP_INDEX, TIME_NS
from rlds_kit.lint.dynamics import Probe
from rlds_kit.lint.probing import ProbeCheck
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode
from rlds_kit.lint.time_limit import time_limit

ENDS: Final = tuple(f"{RECORDED}{name}" for name in (*FLAGS[1:], "terminations", "truncations", "terminals"))
"""Fields that hold flags of a source where they are true in the middle."""
STARTS: Final = f"{RECORDED}{IS_FIRST}"


@rule("RK601", Severity.ERROR)
class MergedEpisodes(ProbeCheck):
    """Two episodes are joined to one.

    A step in the middle states that it is a first or a last one; or the environment, made again, ends an episode before
    the recording does, though every observation up to there came out; or an episode has more actions than the
    environment's time limit allows (a warning where its wrappers are not known); or an index knows fewer episodes than
    there are first steps, so that readers which trust it join the rest.

    EnvLogger writes the index entry of an episode when the next one begins: if it is killed, the steps of the last
    episode come to belong to the one before, and its own reader gives them as one. A transition from the last
    observation of one episode to the first of the next never happened, and returns are summed across it.

    rlds_kit's reader of EnvLogger's directories rebuilds the episodes from their steps: `rlds-kit convert` gives sound
    data. Elsewhere cut the episode at the place in the finding (`rlds-kit trim`).
    """

    reads = (*ENDS, STARTS)

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Resets the counts."""
        self._episodes = 0
        return super().begin(subject)

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds flags in the middle."""
        last = stretch.episode.length - 1
        for path, leaf in stretch.leaves.items():
            if path not in self.reads or leaf.kind not in "biuf":
                continue
            # If flags are in the rows of actions, that of the last action marks the end.
            inside = (leaf.rows > 0) & (leaf.rows <= last) if path == STARTS else leaf.rows < last - 1
            rows = leaf.rows[inside & (leaf.values != 0).reshape(len(leaf.rows), -1).any(axis=1)]
            if len(rows):
                what = path.removeprefix(RECORDED)
                message = f"{what} is set in the middle of the episode"
                yield Hit(message, stretch.episode.number, int(rows[0]), path, len(rows))

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks the length."""
        self._episodes += 1
        limit = time_limit(episode.provenance)
        if limit is not None and episode.actions > limit:
            message = f"{episode.actions:,} actions; the time limit is {limit:,}"
            severity = None if "wrapper_classes" in episode.provenance else Severity.WARNING
            yield Hit(message, episode.number, limit, severity=severity)
        yield from super().episode(episode)

    def check_probe(self, episode: SubjectEpisode, found: Probe) -> Iterable[Hit]:
        """Checks whether the environment ended sooner."""
        if found.is_aligned and found.played.is_over and not found.is_whole:
            yield Hit("the environment ends the episode here, the recording continues", episode.number, found.actions)

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Compares the number of episodes with that of the index."""
        if subject.expected < self._episodes:
            yield Hit(
                f"the index knows {subject.expected:,} episodes, the steps make {self._episodes:,}: a reader that "
                "trusts the index joins or drops the others",
                count=self._episodes - subject.expected,
            )


CLOCKS: Final = (TIME_NS, STEP_INDEX, "timestamp", "info/timestamp")


@rule("RK602", Severity.ERROR)
class BackwardTime(Check):
    """Time goes backwards.

    `time_ns`, `step_index`, or a field called timestamp, is smaller in a row than in the row before it.

    Rows that are out of order are not consecutive, so every transition between them is false: two writers had the same
    episode, a clock was set in the middle (record with one that never goes back, as rlds_kit does), or two episodes
    were joined.

    Sort the rows if all of them are there; else cut the episode at the place in the finding (`rlds-kit trim`).
    """

    reads = CLOCKS

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, tuple[int, float]] = {}

    def wants(self, path: str) -> bool:
        """Fields of times."""
        return path in CLOCKS

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds rows that are earlier than the one before."""
        for path in CLOCKS:
            leaf = stretch.leaves.get(path)
            if leaf is None or leaf.kind not in "iuf" or leaf.values.ndim != 1:
                continue
            values = leaf.values if leaf.kind != "u" else leaf.values.astype(np.int64)
            rows = leaf.rows[1:][np.diff(values) < 0].tolist()
            number = stretch.episode.number
            before, last = self._last.get(path, (number, values[0]))
            if before == number and values[0] < last:
                rows.insert(0, int(leaf.rows[0]))
            self._last[path] = (number, values[-1])
            if rows:
                yield Hit("smaller than in the row before", number, rows[0], path, len(rows))
