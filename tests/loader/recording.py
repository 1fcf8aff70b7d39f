"""Random datasets for the loader's tests; a plan determines their content, so that an example can be repeated."""

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder

Dice = np.random.Generator
Make = Callable[[Dice], Any]
"""Makes a value of a step."""


@dataclass(frozen=True)
class FieldKind:
    """The values of a field; `spec` None: not declared. A value of None is not recorded."""

    spec: specs.Spec | None
    make: Make


def _array(shape: tuple[int, ...], dtype: Any) -> FieldKind:
    dtype = np.dtype(dtype)
    return FieldKind(specs.Array(shape, dtype), lambda dice: dice.integers(0, 100, shape).astype(dtype)[()])


def _float(dtype: Any, scale: float = 1.0) -> FieldKind:
    return FieldKind(specs.Array((), dtype), lambda dice: np.dtype(dtype).type(dice.normal() * scale))


def _dict(**parts: FieldKind) -> FieldKind:
    spec = specs.Dict({name: part.spec or specs.Any() for name, part in parts.items()})
    return FieldKind(spec, lambda dice: {name: part.make(dice) for name, part in parts.items()})


def _sometimes(kind: FieldKind, share: float = 0.5) -> FieldKind:
    return FieldKind(kind.spec, lambda dice: kind.make(dice) if dice.random() < share else None)


def _text(dice: Dice) -> str:
    return "é" * int(dice.integers(0, 4)) + "x"


TEXT: Final = FieldKind(specs.Text(), _text)
RAGGED: Final = FieldKind(
    specs.Array((None, 2), np.int32), lambda dice: np.full((int(dice.integers(0, 3)), 2), dice.integers(9), np.int32)
)
TUPLE: Final = FieldKind(
    specs.Tuple((specs.Array((2,), np.int16), specs.Dict({"a/b": specs.Array((), np.bool_)}))),
    lambda dice: (dice.integers(0, 9, 2).astype(np.int16), {"a/b": np.bool_(dice.random() < 0.5)}),
)


def _noisy(dice: Dice) -> np.ndarray:
    """An image of a camera: a smooth scene with noise on every pixel, so that its lines are predicted."""
    return (np.add.outer(np.arange(40), np.arange(48)) + dice.normal(0, 4, (40, 48))).astype(np.uint8)


def _still(dice: Dice) -> np.ndarray:
    """An image of a game: the same but for a few pixels, so that a block has little more than one of them."""
    image = np.random.default_rng(0).integers(0, 256, (40, 48), np.uint8)
    image[dice.integers(40), :3] = dice.integers(256)
    return image


OBSERVATIONS: Final = {
    "vector": _array((3,), np.float32),
    "scalar": _array((), np.int64),
    "image": _array((8, 8, 3), np.uint8),
    "large image": _array((96, 64, 3), np.uint8),
    "still image": FieldKind(specs.Array((40, 48), np.uint8), _still),
    "constant image": FieldKind(specs.Array((40, 48), np.uint8), lambda _: np.full((40, 48), 7, np.uint8)),
    "noisy image": FieldKind(specs.Array((40, 48), np.uint8), _noisy),
    "big-endian": _array((2,), ">i4"),
    "bfloat16": _array((2,), ml_dtypes.bfloat16),
    "zero-size": _array((0, 3), np.float32),
    "fixed text": FieldKind(specs.Array((2,), "<U3"), lambda dice: np.array([_text(dice)[:3], "b"], "<U3")),
    "text": TEXT,
    "ragged": RAGGED,
    "tuple": TUPLE,
    "dict": _dict(pixels=_array((4, 4), np.uint8), t=_float(np.float64), name=TEXT, inner=_dict(x=_array((), np.int8))),
}
ACTIONS: Final = {
    "discrete": _array((), np.int64),
    "continuous": _array((2,), np.float32),
    "dict": _dict(arm=_array((2,), np.float32), gripper=_array((), np.bool_)),
}
REWARDS: Final = {
    "float64": _float(np.float64),
    "float32": _float(np.float32),
    "float16": _float(np.float16),
    "int64": _array((), np.int64),
    "bool": FieldKind(specs.Array((), np.bool_), lambda dice: np.bool_(dice.random() < 0.5)),
    "vector": FieldKind(specs.Array((2,), np.float64), lambda dice: dice.normal(size=2)),
    "agents": _dict(ada=_float(np.float32), bob=_float(np.float64)),
    "sometimes": _sometimes(_float(np.float64), 0.7),
    "none": _sometimes(_float(np.float64), 0.0),
}
DISCOUNTS: Final = {
    "undeclared": None,
    "float32": FieldKind(specs.Array((), np.float32), lambda dice: np.float32(dice.choice((0.0, 0.5, 0.9, 1.0)))),
    "float64": FieldKind(specs.Array((), np.float64), lambda dice: float(dice.choice((0.5, 0.99)))),
    "sometimes": _sometimes(FieldKind(specs.Array((), np.float64), lambda dice: float(dice.choice((0.5, 0.9))))),
}
INFOS: Final = {
    "none": None,
    "lives": FieldKind(None, lambda dice: {"lives": int(dice.integers(5))}),
    "optional": FieldKind(
        None, lambda dice: {"lives": int(dice.integers(5))} | ({"bonus": "star"} if dice.random() < 0.3 else {})
    ),
    "several types": FieldKind(
        None, lambda dice: ["text", {"a": 1}, {"b": 2.5}, 7, 7.5, None, {}, [1, "x"]][int(dice.integers(8))]
    ),
}


@dataclass(frozen=True)
class EpisodePlan:
    """An episode to record.

    Attributes:
      length: steps, the last one included.
      ending: how it ends; INCOMPLETE: the writer dies before.
      gaps: the steps before which others were left out.
      lacks_observation: of its last step.
    """

    length: int
    ending: EpisodeEnd = EpisodeEnd.TERMINATED
    gaps: frozenset[int] = frozenset()
    lacks_observation: bool = False


@dataclass(frozen=True)
class Plan:
    """A dataset to record.

    Attributes:
      episodes: in the order they begin.
      observation: a name in `OBSERVATIONS`; likewise `action`, `reward`, `discount` and `info`.
      block_rows: steps of a block; None: as many as the recorder likes.
      shard_episodes: the most episodes of a shard.
      at_once: episodes that are recorded beside each other.
      is_scheduled: whether every step has its number, as if a scheduler had left steps out.
      seed: of the values.
    """

    episodes: tuple[EpisodePlan, ...]
    observation: str = "vector"
    action: str = "discrete"
    reward: str = "float64"
    discount: str = "undeclared"
    info: str = "none"
    block_rows: int | None = 4
    shard_episodes: int | None = None
    at_once: int = 1
    is_scheduled: bool = False
    seed: int = 0

    @property
    def kinds(self) -> dict[str, FieldKind]:
        """What is recorded, by the name of the field."""
        found = {
            "observation": OBSERVATIONS[self.observation],
            "action": ACTIONS[self.action],
            "reward": REWARDS[self.reward],
            "discount": DISCOUNTS[self.discount],
            "info": INFOS[self.info],
        }
        return {name: kind for name, kind in found.items() if kind is not None}

    @property
    def declared(self) -> specs.Dict:
        """The spec that the recorder gets."""
        return specs.Dict({name: kind.spec for name, kind in self.kinds.items() if kind.spec is not None})


@contextmanager
def recorded(plan: Plan, *, include_open: bool = False) -> Iterator[Dataset]:
    """Records a plan, in a directory that exists as long as the context.

    Args:
      plan: what to record.
      include_open: episodes planned as INCOMPLETE are still being recorded, and listed.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        policy = FlushPolicy(block_rows=plan.block_rows, interval=None)
        recorder = stack.enter_context(
            Recorder(directory / "live", plan.declared, policy=policy, max_shard_episodes=plan.shard_episodes)
        )
        record(recorder, plan)
        recorder.flush()
        if include_open:
            yield rlds_kit.open(directory / "live", include_open=True)
        else:  # a copy is like the files of a killed writer: no end, no index, and no lock
            shutil.copytree(directory / "live", directory / "copy")
            recorder.close()
            ended = all(episode.ending is not EpisodeEnd.INCOMPLETE for episode in plan.episodes)
            yield rlds_kit.open(directory / ("live" if ended else "copy"))


def record(recorder: Recorder, plan: Plan) -> None:
    """Records the episodes of a plan, some of them at a time; incomplete ones stay open."""
    waiting = iter(enumerate(plan.episodes))
    running = [_Running(recorder, plan, number, episode) for number, episode in itertools.islice(waiting, plan.at_once)]
    while running:
        for one in list(running):
            if not one.step():
                running.remove(one)
                running += [_Running(recorder, plan, number, each) for number, each in itertools.islice(waiting, 1)]


@dataclass
class _Running:
    recorder: Recorder
    plan: Plan
    number: int
    episode: EpisodePlan
    row: int = 0
    step_index: int = 0
    _writer: EpisodeRecorder | None = field(default=None)

    @property
    def writer(self) -> EpisodeRecorder:
        if self._writer is None:
            self._writer = self.recorder.start_episode(metadata={"number": self.number})
        return self._writer

    def step(self) -> bool:
        """Records a step; False after the last one."""
        dice = np.random.default_rng((self.plan.seed, self.number, self.row))
        if self.row == self.episode.length - 1 and self.episode.lacks_observation and self.row:
            self.writer.act(self._acted(dice))
        elif self.row < self.episode.length:
            gap = self.row in self.episode.gaps
            self.step_index += int(dice.integers(2, 5)) if gap else int(self.row > 0)
            self.writer.append(self._observed(dice), self._acted(dice) if self.row and not gap else None)
        self.row += 1
        if self.row < self.episode.length:
            return True
        if self.episode.ending is not EpisodeEnd.INCOMPLETE:
            self.writer.end(self.episode.ending)
        return False

    def _observed(self, dice: Dice) -> dict[str, Any]:
        index = {"step_index": self.step_index} if self.plan.is_scheduled else {}
        return {**self._made(dice, ("observation", "info")), **index}

    def _acted(self, dice: Dice) -> dict[str, Any]:
        return self._made(dice, ("action", "reward", "discount"))

    def _made(self, dice: Dice, names: tuple[str, ...]) -> dict[str, Any]:
        values = {name: self.plan.kinds[name].make(dice) for name in names if name in self.plan.kinds}
        return {name: value for name, value in values.items() if value is not None or name == "info"}


ENDINGS: Final = (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED, EpisodeEnd.INCOMPLETE)


@st.composite
def episode_plans(draw: st.DrawFn, *, is_scheduled: bool, max_length: int) -> EpisodePlan:
    """Any episode; gaps only where a scheduler could have made them."""
    length = draw(st.integers(1, max_length))
    gaps = draw(st.frozensets(st.integers(1, length), max_size=4)) if is_scheduled else frozenset()
    lacks = length > 1 and draw(st.integers(0, 4)) == 0
    return EpisodePlan(
        length, draw(st.sampled_from(ENDINGS)), frozenset(gap for gap in gaps if gap < length - lacks), lacks
    )


@st.composite
def plans(draw: st.DrawFn, /, *, max_episodes: int = 6, max_length: int = 50, **fixed: Any) -> Plan:
    """Any dataset; `fixed` are attributes that are not drawn."""
    is_scheduled = fixed.pop("is_scheduled", None)
    if is_scheduled is None:
        is_scheduled = draw(st.booleans())
    episode = episode_plans(is_scheduled=is_scheduled, max_length=max_length)
    drawn = Plan(
        episodes=tuple(draw(st.lists(episode, max_size=max_episodes))),
        observation=draw(st.sampled_from(sorted(OBSERVATIONS))),
        action=draw(st.sampled_from(sorted(ACTIONS))),
        reward=draw(st.sampled_from(sorted(REWARDS))),
        discount=draw(st.sampled_from(sorted(DISCOUNTS))),
        info=draw(st.sampled_from(sorted(INFOS))),
        block_rows=draw(st.sampled_from((1, 3, 8, None))),
        shard_episodes=draw(st.sampled_from((None, 1, 2))),
        at_once=draw(st.integers(1, 3)),
        is_scheduled=is_scheduled,
        seed=draw(st.integers(0, 999)),
    )
    return replace(drawn, **fixed)


def plain(*lengths: int, **rest: Any) -> Plan:
    """A plan of episodes of these lengths that all terminate."""
    return Plan(tuple(EpisodePlan(length) for length in lengths), **rest)


def select_all(dataset: Dataset, names: Iterable[str]) -> Dataset:
    """A view with these fields: dynamic ones too, which a loader leaves out unless they are selected."""
    return dataset.select(*(name for name in names if name in dataset.spec.fields))


NUMBERED: Final = specs.Dict(
    {
        "observation": specs.Array((), np.int64),
        "image": specs.Array((16, 16), np.uint8),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)


def numbered(
    directory: Path, lengths: Sequence[int], *, first: int = 0, block_rows: int = 4, shard: int = 2, shades: int = 256
) -> Dataset:
    """Records terminated episodes whose observations are the numbers of all steps; actions count along.

    Args:
      directory: of the dataset; one that is there is added to.
      lengths: of the episodes.
      first: number of the first step.
      block_rows: steps of a block.
      shard: the most episodes of a shard.
      shades: of the images' pixels; images of few shades are compressed.
    """
    policy = FlushPolicy(block_rows=block_rows, interval=None)
    with Recorder(directory, NUMBERED, policy=policy, max_shard_episodes=shard) as recorder:
        for length in lengths:
            record_numbered(recorder, length, first, shades)
            first += length
    return rlds_kit.open(directory)


def record_numbered(recorder: Recorder, length: int, first: int, shades: int = 256) -> None:
    """Records one such episode."""
    episode = recorder.start_episode(metadata={"first": first})
    for number in range(first, first + length):
        image = np.random.default_rng(number).integers(0, shades, (16, 16), np.uint8)
        acted = {"action": number - 1, "reward": number / 2} if number > first else None
        episode.append({"observation": number, "image": image}, acted)
    episode.end(EpisodeEnd.TERMINATED)
