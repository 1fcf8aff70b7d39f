"""What was given to a recorder, and what a reader must therefore return: bit for bit, and of the same Python types."""

import copy
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from rlds_kit import DamagedError, Dataset, Episode, EpisodeEnd, FormatError
from rlds_kit import spec as specs
from rlds_kit.base.step import FLAGS
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.recorder import Recorder

REFUSALS: Final = (DamagedError, FormatError)
"""What a reader may raise instead of returning something damaged."""

Step = dict[str, Any]


def same(a: object, b: object) -> bool:
    """Whether two values are of the same type and have the same bits, all the way down; the order of keys is free."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, np.ravel(a), np.ravel(b)))
        return (a.dtype.str, a.dtype.name, a.shape, a.tobytes()) == (b.dtype.str, b.dtype.name, b.shape, b.tobytes())
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(item, b[key]) for key, item in a.items()) and _same_keys(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bits(a) == bits(b)


def _same_keys(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    """Whether the keys have the same types: 1 == 1.0 == True."""
    return {key: type(key) for key in a} == {key: type(key) for key in b}


def bits(value: object) -> object:
    """Something that is equal for equal bits only."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value


@dataclass
class Given:
    """An episode as it was given."""

    id: uuid.UUID
    declared: specs.Dict
    metadata: dict[str, Any] = field(default_factory=dict)
    observed: list[Step] = field(default_factory=list)
    acted: list[Step] = field(default_factory=list)
    """Of row k: what was done in row k - 1."""
    ending: EpisodeEnd = EpisodeEnd.INCOMPLETE

    def __len__(self) -> int:
        return len(self.observed)

    def add(self, observed: Step, acted: Step | None) -> None:
        """Adds a row."""
        self.observed.append(copy.deepcopy(observed))
        self.acted.append(copy.deepcopy(acted or {}))

    def step(self, row: int, length: int | None = None) -> Step:
        """The fields that a reader of the first `length` rows must show, flags left out."""
        length = len(self) if length is None else length
        acted = self.acted[row + 1] if row + 1 < length else {}
        zeros = {name: specs.zeros(spec) for name, spec in self.declared.fields.items()}
        return {**zeros, **self.observed[row], **acted}

    def steps(self, length: int | None = None, ending: EpisodeEnd | None = None) -> list[Step]:
        """All steps of the first `length` rows as a reader must show them, flags included."""
        length = len(self) if length is None else length
        ending = ending or self.ending
        return [
            {
                **self.step(row, length),
                "is_first": row == 0,
                "is_last": row == length - 1,
                "is_terminal": row == length - 1 and ending is EpisodeEnd.TERMINATED,
            }
            for row in range(length)
        ]


class GivingRecorder:
    """Gives rows to an episode and remembers them."""

    def __init__(self, recorder: Recorder, **start: Any) -> None:
        self.episode: EpisodeRecorder = recorder.start_episode(**start)
        self.given = Given(self.episode.id, recorder.declared, dict(start.get("metadata") or {}))

    def append(self, observed: Step, acted: Step | None = None) -> None:
        """Gives a row; one that is refused is not remembered."""
        self.episode.append(observed, acted)
        self.given.add(observed, acted)

    def end(self, ending: EpisodeEnd, **rest: Any) -> None:
        """Ends the episode."""
        self.episode.end(ending, **rest)
        if rest.get("acted"):
            self.given.add({}, rest["acted"])
        self.given.ending = ending
        self.given.metadata |= rest.get("metadata") or {}


def by_id(given: Sequence[Given]) -> dict[uuid.UUID, Given]:
    """Finds what was given by the episode's id."""
    return {one.id: one for one in given}


def assert_same_steps(actual: Sequence[Step], expected: Sequence[Step]) -> None:
    """Fails with the first field that differs."""
    assert len(actual) == len(expected)
    for row, (one, other) in enumerate(zip(actual, expected, strict=True)):
        assert one.keys() == other.keys(), f"row {row}: {sorted(one)} instead of {sorted(other)}"
        for name, item in other.items():
            assert same(one[name], item), f"row {row}: {name}: {one[name]!r} instead of {item!r}"


def assert_whole(dataset: Dataset, given: Sequence[Given]) -> None:
    """The dataset has exactly these episodes, each with every row, its metadata and its end."""
    truth = by_id(given)
    assert {episode.id for episode in dataset.episodes} == set(truth)
    for episode in dataset.episodes:
        assert_episode(episode, truth[episode.id])


def assert_episode(episode: Episode, given: Given) -> None:
    """The episode has every row that was given, its metadata and its end."""
    assert episode.end is given.ending
    assert episode.length == len(given)
    assert same(episode.metadata, given.metadata)
    assert_same_steps(list(episode.steps), given.steps())


def assert_prefix(episode: Episode, given: Given, at_least: int = 0) -> None:
    """The episode is INCOMPLETE and has the first rows of what was given, `at_least` so many of them."""
    assert episode.end is EpisodeEnd.INCOMPLETE
    assert at_least <= episode.length <= len(given)
    assert same(episode.metadata, given.metadata)
    assert_same_steps(list(episode.steps), given.steps(episode.length, EpisodeEnd.INCOMPLETE))


def without_flags(step: Step) -> Step:
    """The recorded fields of a step."""
    return {name: item for name, item in step.items() if name not in FLAGS}
