"""Vector environments that do what random programs contain, and how recordings of them are compared."""

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from hypothesis import strategies as st

import rlds_kit

SPACES: dict[str, spaces.Space[Any]] = {
    "vector": spaces.Box(-np.inf, np.inf, (3,), np.float64),
    "number": spaces.Discrete(9),
    "image": spaces.Box(0, 255, (2, 4), np.uint8),
    "scalar": spaces.Box(-9, 9, (), np.float32),
    "flags": spaces.MultiBinary(3),
    "dict": spaces.Dict({"b": spaces.Box(-9, 9, (2,), np.float32), "a": spaces.Discrete(4)}),
    "tuple": spaces.Tuple((spaces.Discrete(4), spaces.Dict({"x": spaces.MultiDiscrete([3, 3])}))),
    "text": spaces.Text(6),
    "part text": spaces.Dict({"say": spaces.Text(3), "see": spaces.Box(0, 9, (2,), np.float64)}),
    "empty": spaces.Box(0, 1, (0,), np.float32),
}
REWARDS = (np.float64, np.float32, np.int32, np.bool_)
INFOS = (
    "none",
    "constant",
    "numbers",
    "masked",
    "nested",
    "text",
    "ragged",
    "changing",
    "odd keys",
    "not a mask",
    "list mask",
)
BROKEN = (
    "mask",
    "short mask",
    "deep mask",
    "infos",
    "an info",
    "observations",
    "no observations",
    "rewards",
    "a reward",
    "last observations",
    "no last observations",
    "mask of last observations",
    "last infos",
    "no last infos",
    "actions",
    "an action",
    "options",
)
"""What cannot be recorded, in all environments or in some."""


@dataclass(frozen=True)
class Program:
    """What a vector environment does, and what its user does."""

    num_envs: int
    mode: AutoresetMode
    observation: str
    action: str
    reward: Any
    infos: tuple[str, ...]
    seed: int
    steps: int
    odd_at: int
    odd_dtype: Any
    """Observations of step `odd_at` have this dtype; those of odd environments do not fit the space exactly."""
    sloppy: bool = False
    """Steps that reset an environment return the flags of an end too."""
    broken: tuple[str, ...] = ()
    """What a part of the calls return, or get, that cannot be recorded."""


class Scripted(VectorEnv[Any, Any, Any]):
    """Does what a program contains, at random but always the same."""

    def __init__(self, program: Program) -> None:
        self.program, self.num_envs = program, program.num_envs
        self.single_observation_space, self.single_action_space = SPACES[program.observation], SPACES[program.action]
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": program.mode}
        self.rng = np.random.default_rng(program.seed)
        self.over: np.ndarray[Any, Any] = np.zeros(self.num_envs, np.bool_)
        self.time = 0

    def observed(self) -> Any:
        self.observation_space.seed(int(self.rng.integers(1 << 30)))
        observation = self.observation_space.sample()
        if self.time == self.program.odd_at and isinstance(observation, np.ndarray):
            part = (np.arange(self.num_envs) % 2 / 3).reshape(-1, *[1] * (observation.ndim - 1))
            return (observation + part).astype(self.program.odd_dtype)
        return observation

    def info(self) -> dict[str, Any]:
        count, rng, found = self.num_envs, self.rng, dict[Any, Any]()
        mask = rng.random(count) < 0.5
        for kind in self.program.infos:
            match kind:
                case "constant":
                    found |= {"clock": 1.5, "on": True, "count": self.time, "big": 1 << 70}
                case "numbers":
                    found |= {"lives": rng.integers(0, 5, count).astype(np.int32), "place": rng.normal(size=(count, 2))}
                case "masked":
                    found |= {"some": rng.normal(size=count), "_some": mask}
                case "nested":
                    found |= {
                        "deep": {
                            "a": rng.integers(0, 9, count),
                            "_a": mask,
                            "b": {"c": rng.normal(size=count)},
                            "_b": ~mask,
                        },
                        "_deep": mask | (rng.random(count) < 0.5),
                    }
                case "text":
                    found |= {"say": np.array(["x" * int(n) for n in rng.integers(0, 4, count)], object), "_say": mask}
                case "ragged":
                    rows = np.empty(count, object)
                    rows[:] = [rng.normal(size=int(n)) for n in rng.integers(0, 3, count)]
                    found |= {"rows": rows}
                case "changing":
                    kind_now = (np.int64, np.float32, np.bool_)[self.time % 3]
                    found |= {"x": rng.integers(0, 2, (count, 1 + self.time % 2)).astype(kind_now), "_x": mask}
                case "odd keys":
                    found |= {5: np.arange(count), "a/b": np.arange(count), "": np.arange(count)}
                case "not a mask":
                    found |= {
                        "list": [1] * count,
                        "tuple": (1, 2),
                        "_own": np.arange(count),
                    }
                case "list mask":
                    found |= {"y": np.arange(count), "_y": [number % 2 for number in range(count)]}
        return found

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        del seed
        chosen = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        self.over &= ~chosen
        observed, _, infos = self.broken(self.observed(), None, self.info())
        return observed, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        del actions
        self.time += 1
        ends = self.rng.random((2, self.num_envs)) < 0.15
        if self.program.mode is not AutoresetMode.SAME_STEP and not self.program.sloppy:
            ends &= ~self.over  # of a call that resets, or of an environment that waits for a reset
        rewards = (self.rng.normal(size=self.num_envs) * 3).astype(self.program.reward)
        observed, infos = self.observed(), self.info()
        over = ends.any(axis=0)
        if self.program.mode is AutoresetMode.SAME_STEP and over.any():
            final = np.empty(self.num_envs, object)
            self.single_observation_space.seed(self.time)
            final[:] = [self.single_observation_space.sample() for _ in range(self.num_envs)]
            infos |= {"final_obs": final, "_final_obs": over, "episode": {"r": rewards.copy()}, "_episode": over}
            if self.time % 2:
                infos |= {"final_info": {"last": np.arange(self.num_envs), "_last": over}, "_final_info": over}
            if self.time % 4 == 3:  # an environment has statistics of its own, and those beside them are of some
                infos["final_info"] |= {"episode": {"l": np.arange(self.num_envs)}, "_episode": over}
                infos["_episode"] = over & (np.arange(self.num_envs) % 2 == 0)
        self.over = over | (self.over & (self.program.mode is AutoresetMode.DISABLED))
        observed, rewards, infos = self.broken(observed, rewards, infos)
        return observed, rewards, ends[0], ends[1], infos

    def broken(self, observed: Any, rewards: Any, infos: Any) -> tuple[Any, Any, Any]:
        """Return a result with what cannot be recorded, sometimes."""
        count, rng = self.num_envs, self.rng
        for kind in self.program.broken:
            if rng.random() < 0.7 or not isinstance(infos, dict):
                continue
            match kind:
                case "mask":
                    infos = {**infos, "z": np.arange(count), "_z": rng.normal(size=(count, 2))}
                case "short mask":
                    infos = {**infos, "z": np.arange(count), "_z": np.ones(count - 1, np.bool_)}
                case "deep mask":
                    infos = {
                        **infos,
                        "z": {"a": np.arange(count), "_a": np.ones((count, 2))},
                        "_z": rng.random(count) < 0.5,
                    }
                case "infos":
                    infos = np.zeros(count)
                case "an info":
                    infos = {**infos, "z": self.some(1.5)}
                case "observations":
                    observed = [None] * (count - 1)
                case "no observations":
                    observed = None
                case "rewards":
                    rewards = 1.0
                case "a reward":
                    rewards = self.some(1.5)
                case "last observations" if "final_obs" in infos:
                    infos |= {"final_obs": np.array([None] * (count - 1), object)}
                case "no last observations" if "final_obs" in infos:
                    del infos["final_obs"]
                case "mask of last observations" if "final_obs" in infos:
                    infos |= {"_final_obs": np.ones(count - 1, np.bool_)}
                case "last infos" if "final_obs" in infos:
                    infos |= {"final_info": 5}
                case "no last infos" if "final_obs" in infos:
                    infos |= {"final_info": None}
        return observed, rewards, infos

    def some(self, value: Any) -> Any:
        """Return a batch of a value, which some environments have, and of objects that cannot be recorded."""
        return some_of(value, self.rng.random(self.num_envs) < 0.7)


programs = st.builds(
    Program,
    num_envs=st.integers(1, 4),
    mode=st.sampled_from(list(AutoresetMode)),
    observation=st.sampled_from(sorted(SPACES)),
    action=st.sampled_from(sorted(SPACES)),
    reward=st.sampled_from(REWARDS),
    infos=st.lists(st.sampled_from(INFOS), max_size=3, unique=True).map(tuple),
    seed=st.integers(0, 1 << 20),
    steps=st.integers(0, 30),
    odd_at=st.integers(0, 40),
    odd_dtype=st.sampled_from((np.int16, np.float64, np.float16)),
    sloppy=st.booleans(),
)


broken_programs = st.builds(
    lambda program, broken: replace(program, broken=tuple(broken)),
    programs,
    st.lists(st.sampled_from(BROKEN), min_size=1, max_size=2, unique=True),
)


def some_of(value: Any, chosen: np.ndarray[Any, Any]) -> Any:
    """Return a batch of a value where it is chosen, and else of an object that cannot be recorded."""
    return np.array([value if each else Ellipsis for each in chosen], object)


def content_of(directory: Path) -> dict[int, list[Any]]:
    """Everything of the episodes of each environment that both ways must have in common."""
    found: dict[int, list[Any]] = defaultdict(list)
    for episode in rlds_kit.open(directory).episodes:
        provenance = dict(episode.provenance)
        chain = provenance.pop("reset_chain", {})
        known = {key: item for key, item in chain.items() if key != "instance"}
        found[provenance["sub_environment"]].append(
            (episode.content_digest, episode.length, episode.end, episode.seed, provenance, known)
        )
    return dict(found)
