"""Uses of a reward model: in a layer of a dataset, an environment, a trial, and for the choice of the next queries."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import OBSERVATION
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.layers.draft import rewards as reward_drafts
from rlds_kit.shaping.preferences.sampling import Scores
from rlds_kit.shaping.preferences.segment import Segment
from rlds_kit.shaping.rewards.inputs import segment_vectors
from rlds_kit.shaping.rewards.model import RewardModel
from rlds_kit.shaping.rewards.model_file import digest, load
from rlds_kit.trials.actors.contract import ActorInfo, Judgement, Reply, Text


def annotate_rewards(dataset: Dataset, model: RewardModel, layer: str) -> int:
    """Annotates every action of a dataset with the reward of a model; returns the number of actions.

    The source of the annotations is "reward_model:" and the SHA-256 of the model's file. `dataset.as_amended(layer)`
    then has these rewards in place of the recorded ones.

    Raises:
      SpecError: the dataset lacks a field, or it has another shape than in training.
      MissingExtraError: safetensors is not installed.
    """
    drafts, total = [], 0
    for episode in dataset.episodes:
        acted = episode.length - int(episode.length > 0 and episode.is_last(episode.length - 1))
        if acted:
            values = model.of_steps({name: episode[name][:acted] for name in model.inputs.fields})
            drafts.append(reward_drafts(episode, values))
            total += acted
    dataset.annotate(layer, drafts, source=f"reward_model:{digest(model)}")
    return total


def scores(dataset: Dataset, model: RewardModel) -> Scores:
    """The scores of segments of a dataset by each member of a model, for strategies such as `Disagreement`.

    Scores are sums over steps without the model's `zero`, as in training, so that segments of different lengths can be
    compared.
    """

    def by_member(segments: Sequence[Segment]) -> np.ndarray[Any, Any]:
        vectors = segment_vectors(dataset.episodes, segments, model.inputs)
        ends = np.cumsum([len(each) for each in vectors])[:-1]
        found = np.split(model.by_member(np.concatenate(vectors)) * model.unit + model.zero, ends, axis=1)
        return np.stack([each.sum(axis=1) for each in found], axis=1)

    return by_member


class ModelReward(gym.Wrapper[Any, Any, Any, Any]):
    """An environment with the reward of a model; the original reward is in `info["environment_reward"]`.

    Args:
      env: with observations and actions that are arrays or numbers.
      model: reads `observation` (the one before the action), `action`, or both.

    Raises:
      SpecError: the model reads another field.
    """

    def __init__(self, env: gym.Env[Any, Any], model: RewardModel) -> None:
        super().__init__(env)
        if not set(model.inputs.fields) <= {OBSERVATION, "action"}:
            raise SpecError(f"expected a model that reads observation or action, got one of {model.inputs.fields}")
        self._model = model
        self._before: np.ndarray[Any, Any] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._before = np.copy(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Does an action."""
        observation, own, terminated, truncated, info = self.env.step(action)
        values = {OBSERVATION: np.asarray(self._before)[None], "action": np.asarray(action)[None]}
        reward = float(self._model.of_steps(values)[0])
        self._before = np.copy(observation)
        return observation, reward, terminated, truncated, {**info, "environment_reward": own}


class RewardJudge:
    """An actor that gives the reward of a model to another seat in each step, and does no actions.

    It needs a seat with the observation of the other seat: the seat `teacher` of an environment with `has_teacher`. Its
    config has `model` (a path), `sha256` (of that file), and `to` (name of the seat, by default "player"). The model
    may only read `observation`. An observer gets no request after the last step of an episode, so that step gets no
    reward here; `annotate_rewards` adds it.
    """

    version = "1"

    def reset(self, info: ActorInfo) -> None:
        """A trial begins."""
        self._model = load(info.config["model"], info.config["sha256"])
        if self._model.inputs.fields != (OBSERVATION,):
            raise SpecError(f"expected a model that reads observation only, got one of {self._model.inputs.fields}")
        self._to, self._step = str(info.config.get("to", "player")), 0
        self._before: np.ndarray[Any, Any] | None = None

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Reply:
        """Gives the reward for the step that led to this observation, computed from the previous observation."""
        del reward, messages
        before, self._before = self._before, np.copy(observation)
        if before is None:
            return Reply(None)
        self._step += 1
        value = float(self._model.of_steps({OBSERVATION: before[None]})[0])
        return Reply(None, rewards=(Judgement(self._to, value, step=self._step),))
