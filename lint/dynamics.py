"""Replays an episode under hypotheses about shifted fields, and finds the one that explains it.

A recording is correct if, after a reset with its seed, its actions give its observations and rewards. If they do not,
the replay is repeated with the actions of other rows, or with observations that begin at another row. A hypothesis is
accepted only if it explains every observation that can be compared, at least `ENOUGH` of them, and the unshifted
recording does not.
"""

import contextlib
import itertools
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from rlds_kit.base.environment import NotRebuiltError
from rlds_kit.base.step import ACTION, OBSERVATION, REWARD, STEP_INDEX
from rlds_kit.lint.nests import flat
from rlds_kit.lint.subject import SubjectEpisode
from rlds_kit.tools.compare.values import differences, short
from rlds_kit.tools.replay.rebuilt import rebuilt

PROBED: Final = 5
"""Episodes of a dataset that are played again."""
MOST_ACTIONS: Final = 1000
"""Maximum number of actions of an episode that are taken again."""
MOST_BYTES: Final = 1 << 28
"""Maximum bytes of the rows that are compared, so fewer rows if images are large."""
ENOUGH: Final = 8
"""Observations that a shift has to explain."""
VARIED: Final = 3
"""How many of them must differ from each other."""
OBSERVATION_SHIFTS: Final = (*range(1, 17), -1)
LOUD: Final = ("RecordVideo", "HumanRendering")
"""Wrappers that write files or open windows."""
LOADERS: Final = ("GymV21Environment-v0", "GymV26Environment-v0")
"""Environments that import what their arguments name."""
FAILED: Final = object()
"""Stands for the observation that an environment did not make."""
MOST_GUESSES: Final = 18
"""First actions that are tried if the recorded ones come too late for a decision; ALE has as many."""


@dataclass(frozen=True, slots=True)
class Played:
    """The result of taking the recorded actions in an environment.

    Attributes:
      compared: how many observations were recorded ones.
      changes: how many of these differ from the previous one.
      rewards: one for each action.
      terminated: of the last step.
      truncated: of the last step.
    """

    compared: int
    changes: int
    rewards: list[Any]
    terminated: bool
    truncated: bool

    @property
    def is_over(self) -> bool:
        """Whether the environment ended the episode."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of a replay of an episode.

    Attributes:
      actions: that were taken.
      action_shift: 1 if the action of row k is in row k + 1; 0 if it is in its own row.
      observation_shift: 2 if the observation of row k is in row k + 2.
      reward_shift: 1 if the reward for the action of row k is in row k + 1; None if no shift explains them.
      first_reward: the place and values of the first difference of rewards; empty if there is none.
      is_whole: whether every recorded action was taken.
      played: the results of the environment.
    """

    actions: int
    action_shift: int
    observation_shift: int
    reward_shift: int | None
    first_reward: str
    is_whole: bool
    played: Played

    @property
    def is_aligned(self) -> bool:
        """Whether actions and observations are in their own rows."""
        return not (self.action_shift or self.observation_shift)


def numbers_to_probe(expected: int) -> frozenset[int]:
    """The numbers of the episodes that are replayed, spread over the dataset.

    >>> sorted(numbers_to_probe(100))
    [0, 25, 50, 74, 99]
    """
    return frozenset(round(each) for each in np.linspace(0, max(0, expected - 1), PROBED))


def probe(episode: SubjectEpisode) -> Probe | None:
    """Replays an episode.

    Returns:
      The explanation; None if there is none, or if it cannot be replayed: no seed, no environment that can be made,
      steps left out, too few of them.

    Raises:
      DamagedError: a row is damaged.
    """
    if episode.seed is None or not episode.provenance.get("id") or episode.actions < 1 or _has_gaps(episode):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its warnings were shown during the recording
        try:
            provenance = quiet(episode.provenance)
            rebuilt(provenance).close()  # before anything is decoded
            return _explained(_Recording(episode, provenance, episode.rows(0, _most_rows(episode))))
        except NotRebuiltError:
            return None


def quiet(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
    """The provenance for an environment that opens no window, writes no file and imports no other module.

    Raises:
      NotRebuiltError: it would do so even without rendering.

    >>> quiet({"id": "CartPole-v1", "kwargs": {"render_mode": "human", "x": 1}})["kwargs"]
    {'x': 1}
    """
    spec = provenance.get("spec") or {}
    layers = [*(provenance.get("wrapper_classes") or ()), *map(str, spec.get("additional_wrappers") or ())]
    if provenance.get("id") in LOADERS or any(name in layer for name in LOUD for layer in layers):
        raise NotRebuiltError("expected an environment that does nothing but what its actions are about")
    made = {**provenance, "kwargs": _without_window(provenance.get("kwargs") or {})}
    return {**made, "spec": {**spec, "kwargs": _without_window(spec.get("kwargs") or {})}} if spec else made


def _without_window(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in kwargs.items() if (name, each) != ("render_mode", "human")}


def _most_rows(episode: SubjectEpisode) -> int:
    size = sum(np.asarray(each).nbytes for row in episode.rows(0, 1) for _, each in flat(row, ""))
    return min(episode.length, MOST_ACTIONS + 1, max(2 * ENOUGH, MOST_BYTES // max(1, size)))


@dataclass(frozen=True, slots=True)
class _Recording:
    episode: SubjectEpisode
    provenance: Mapping[str, Any]
    rows: list[dict[str, Any]]

    def actions(self, shift: int) -> list[Any]:
        """The actions from row `shift` on, up to the first row without one."""
        rows = itertools.takewhile(lambda row: ACTION in row, self.rows[shift:])
        return [row[ACTION] for row in rows]

    def differs(self, observation: Any, row: int) -> bool:
        """Whether another observation is recorded in a row."""
        is_there = 0 <= row < len(self.rows) and OBSERVATION in self.rows[row]
        return is_there and not equal(self.rows[row][OBSERVATION], observation)


def _explained(recording: _Recording) -> Probe | None:
    played = _play(recording, recording.actions(0), 0)
    if played is not None:
        return _probe_of(recording, played, 0, 0)
    for action_shift, observation_shift, actions in _hypotheses(recording):
        played = _play(recording, actions, observation_shift)
        if played is not None and _is_proof(played):
            return _probe_of(recording, played, action_shift, observation_shift)
    return None


def _hypotheses(recording: _Recording) -> Iterator[tuple[int, int, list[Any]]]:
    """Shift of actions, shift of observations, and the actions to take."""
    yield 1, 0, recording.actions(1)
    for shift in OBSERVATION_SHIFTS:
        yield 0, shift, recording.actions(0)
    for first in _first_actions(recording):
        yield -1, 0, [first, *recording.actions(0)]


def _first_actions(recording: _Recording) -> list[Any]:
    """Candidates for the first action, if there are few actions."""
    env = rebuilt(recording.provenance)
    space = env.action_space
    env.close()
    if isinstance(space, spaces.Discrete) and space.n <= MOST_GUESSES:
        return list(range(int(space.start), int(space.start + space.n)))
    return []


def _play(recording: _Recording, actions: Sequence[Any], shift: int) -> Played | None:
    """Takes all actions; None if an observation differs from the one recorded `shift` rows later, or after an error."""
    rewards: list[Any] = []
    compared = changes = 0
    before: Any = None
    flags = (False, False)
    with contextlib.closing(_steps(recording, actions)) as steps:
        for number, (observation, reward, terminated, truncated) in enumerate(steps):
            flags = (terminated, truncated)
            if observation is FAILED or recording.differs(observation, number + shift):
                return None
            if number:
                rewards.append(reward)
            if 0 <= number + shift < len(recording.rows):
                changes += compared > 0 and not equal(before, observation)
                compared, before = compared + 1, observation
    return Played(compared, changes, rewards, *flags)


def _steps(recording: _Recording, actions: Sequence[Any]) -> Generator[tuple[Any, Any, bool, bool], None, None]:
    """The results of the reset and of each action; the last is FAILED if the environment raises an error."""
    env = rebuilt(recording.provenance)
    try:
        observation, _ = env.reset(seed=recording.episode.seed, options=recording.episode.options)
        yield observation, None, False, False
        for action in actions:
            observation, reward, terminated, truncated, _ = env.step(action)
            yield observation, reward, bool(terminated), bool(truncated)
            if terminated or truncated:
                return
    except Exception:  # noqa: BLE001  any error is a divergence: none was raised during the recording
        yield FAILED, None, False, False
    finally:
        env.close()


def _is_proof(played: Played) -> bool:
    return played.compared > ENOUGH and played.changes >= VARIED


def _probe_of(recording: _Recording, played: Played, action_shift: int, observation_shift: int) -> Probe:
    recorded = {number: row[REWARD] for number, row in enumerate(recording.rows) if REWARD in row}
    wrong = [number for number, reward in enumerate(played.rewards) if not _same(recorded, number, reward)]
    taken = len(played.rewards)
    return Probe(
        actions=taken,
        action_shift=action_shift,
        observation_shift=observation_shift,
        reward_shift=_reward_shift(recorded, played.rewards) if wrong else 0,
        first_reward=_text(recorded, played.rewards, wrong[0]) if wrong else "",
        is_whole=taken >= recording.episode.actions,
        played=played,
    )


def _reward_shift(recorded: dict[int, Any], rewards: Sequence[Any]) -> int | None:
    for shift in (1, -1):
        numbers = [number for number in range(len(rewards)) if number + shift in recorded]
        explained = all(_same(recorded, number + shift, rewards[number]) for number in numbers)
        if len(numbers) >= min(ENOUGH, len(rewards) - 1) and len(numbers) > 1 and explained:
            return shift
    return None


def _same(recorded: dict[int, Any], row: int, reward: Any) -> bool:
    return row not in recorded or equal(recorded[row], reward)


def _text(recorded: dict[int, Any], rewards: Sequence[Any], row: int) -> str:
    return f"row {row} has {short(recorded[row])}, the environment gave {short(rewards[row])}"


def equal(recorded: Any, replayed: Any) -> bool:
    """Whether two values are equal, also as numbers of different types, or after rounding to a narrower float.

    >>> equal(np.float32(0.1), 0.1), equal(1.0, 1.5)
    (True, False)
    """
    if isinstance(recorded, np.ndarray | np.generic) and recorded.dtype.kind == "f":
        replayed = _narrowed(replayed, recorded.dtype)
    return all(found.kind == "type" and found.max_difference == 0 for found in differences(recorded, replayed, ""))


def _narrowed(value: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(value)
    return array.astype(dtype) if array.dtype.kind == "f" and array.dtype.itemsize > dtype.itemsize else value


def _has_gaps(episode: SubjectEpisode) -> bool:
    found = episode.leaves(lambda path: path == STEP_INDEX, 0, min(episode.length, MOST_ACTIONS + 1))
    leaf = found.get(STEP_INDEX)
    return leaf is not None and not np.array_equal(leaf.values, leaf.rows)
