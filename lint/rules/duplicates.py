"""Duplicate episodes."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np
import xxhash

from rlds_kit.base.step import ACTION, REWARD
from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject, SubjectEpisode, content

SHORTEST: Final = 8
"""Actions; two shorter episodes may well be equal by chance."""
_ROWS: Final = 1 << 14
_KEY: Final = "fingerprint"


def fingerprint(episode: SubjectEpisode) -> bytes:
    """A digest of all actions and rewards and of the first and last observation.

    Where an environment is deterministic, that is all there is to an episode; where it is not, two that share all of it
    share the rest. Empty where there is no action.
    """
    if _KEY not in episode.memory:
        episode.memory[_KEY] = _made(episode)
    found: bytes = episode.memory[_KEY]
    return found


def _made(episode: SubjectEpisode) -> bytes:
    if episode.actions < 1 or not episode.first:
        return b""
    total = xxhash.xxh3_128(f"{episode.actions}".encode())
    for begin in range(0, episode.length, _ROWS):
        leaves = episode.leaves(_is_acted, begin, min(begin + _ROWS, episode.length))
        for path, leaf in sorted(leaves.items()):
            values = map(content, leaf.values) if leaf.kind == "O" else [np.ascontiguousarray(leaf.values).tobytes()]
            total.update(path.encode())
            for each in values:
                total.update(each)
    for observation in (episode.first, episode.last):
        for path, data in sorted(observation.items()):
            total.update(path.encode())
            total.update(data)
    return total.digest()


def _is_acted(path: str) -> bool:
    return path.partition("/")[0] in (ACTION, REWARD)


@rule("RK501", Severity.WARNING)
class DuplicateEpisode(Check):
    """An episode occurs twice.

    Two episodes have the same content digest: the same steps, metadata, seed, options and end. Those of fewer than
    eight actions count only if their seed is known: short ones are equal by chance. Foreign formats have no digest;
    there, RK502 compares what can be compared.

    Merging a dataset with a part of itself makes duplicates, and so does a recording job that was started twice. They
    weigh double in every batch, and once the dataset is split at random one copy may be trained on and the other
    tested.

    Keep one of each: `rlds-kit delete` takes their ids. `rlds-kit merge` keeps an episode once that several sources
    have under one id.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[bytes, int] = {}

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether an earlier episode has the digest."""
        if not episode.digest or (episode.actions < SHORTEST and episode.seed is None):
            return
        before = self._seen.setdefault(episode.digest, episode.number)
        if before != episode.number:
            yield Hit(f"the same content as episode {before}", episode.number)


@rule("RK502", Severity.WARNING)
class DuplicateCourse(Check):
    """Two episodes have equal actions and rewards, but other metadata.

    All actions, all rewards, and the first and the last observation are equal bit for bit, over eight actions at least;
    the metadata, the seed or the end are not, or the format has no digest that would say so.

    A copy whose metadata was changed, or that came back through another format, is still a copy. A deterministic agent
    in a deterministic environment repeats itself as well (Machado et al., "Revisiting the Arcade Learning Environment",
    2018, has sticky actions for that reason): a hundred evaluations are then one.

    Keep one of each; `rlds_kit.Dataset.take` chooses by number. To evaluate, use seeds or sticky actions.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[bytes, tuple[int, bytes]] = {}

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether an earlier episode has the fingerprint and another digest."""
        mark = fingerprint(episode) if episode.actions >= SHORTEST else b""
        if not mark:
            return
        before, digest = self._seen.setdefault(mark, (episode.number, episode.digest))
        if before != episode.number and (not digest or digest != episode.digest):
            yield Hit(f"the same actions, rewards and observations as episode {before}", episode.number)


@rule("RK503", Severity.ERROR, across=True)
class LeakedEpisode(Check):
    """Two datasets share an episode.

    An episode of one of the datasets given, or of one given with `--against`, has the same content digest as one of
    another, or equal actions and rewards (see RK502), over at least eight actions.

    What was trained on must not be tested on. Datasets that are merged, filtered and published again overlap more often
    than their names suggest, and an agent that has seen the answers seems better than it is.

    Leave the shared episodes out of one of them. `rlds-kit split` and `Dataset.split` part episodes by a hash of their
    ids, so that each is always on the same side, whatever is added later.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[bytes, tuple[int, str, int]] = {}
        self._datasets = 0
        self._name = ""

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Continues with the next dataset."""
        self._name, self._datasets = subject.name, self._datasets + 1
        return ()

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Checks whether an earlier dataset has it."""
        if episode.actions < SHORTEST and episode.seed is None:
            return
        marks = [episode.digest, fingerprint(episode) if episode.actions >= SHORTEST else b""]
        own = (self._datasets, self._name, episode.number)
        found = [self._seen.setdefault(mark, own) for mark in marks if mark]
        for dataset, name, number in found:
            if dataset != self._datasets:
                yield Hit(f"also in {name}, as episode {number}", episode.number)
                return


FEWEST: Final = 3
SHARE: Final = 0.5


@rule("RK504", Severity.WARNING)
class ReusedSeed(Check):
    """Many episodes begin with the same seed.

    At least three episodes were reset with one seed and the same options, in one environment, and open with the same
    observation, though they differ later; and they are more than half of the dataset.

    `reset(seed=0)` at the start of every episode, rather than of the first one alone, makes an environment begin in the
    same state each time and draw the same random numbers. Data that seem to hold a thousand starts hold one. To compare
    agents on the same starts is a good use of it; then ignore the rule.

    Pass a seed to the first reset only, or another one to each.
    """

    def __init__(self) -> None:
        super().__init__()
        self._starts = Counter[tuple[str, int]]()
        self._episodes = 0

    def episode(self, episode: SubjectEpisode) -> Iterable[Hit]:
        """Counts a start."""
        self._episodes += 1
        if episode.seed is not None and episode.actions > 0:
            start = hash(tuple(sorted(episode.first.items())))
            about = f"{episode.seed!r}, {episode.options!r}, {episode.provenance.get('id')}"
            self._starts[about, start] += 1
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports each seed with which many episodes begin alike."""
        del subject
        for (about, _), count in self._starts.items():
            if count >= FEWEST and count > SHARE * self._episodes:
                seed = about.partition(",")[0]
                yield Hit(f"{count:,} of {self._episodes:,} episodes begin alike, with the seed {seed}", count=count)
