"""Trainers do not notice that they are recorded, and the data is exactly what they saw."""

import hashlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit import logger
from rlds_kit.tools.replay import replay

torch = pytest.importorskip("torch", reason="needs the extra `trainers`")

# PyTorch and Stable-Baselines3 warn of each other's and of Gymnasium's newer versions, which is not our concern.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


class Noting(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper between logger and trainer that stores the values that the trainer gets."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episodes: list[list[tuple[Any, ...]]] = []

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(**kwargs)
        self.episodes.append([(observation.copy(),)])
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        self.episodes[-1].append((observation.copy(), np.copy(action), reward, terminated, truncated))
        return observation, reward, terminated, truncated, info


def _compare(episodes: list[rlds_kit.Episode], seen: list[list[tuple[Any, ...]]]) -> None:
    assert len(episodes) == len(seen)
    for episode, (first, *rest) in zip(episodes, seen, strict=True):
        np.testing.assert_array_equal(episode["observation"], np.stack([first[0], *(step[0] for step in rest)]))
        np.testing.assert_array_equal(episode["action"][:-1], [step[1] for step in rest])
        np.testing.assert_array_equal(episode["reward"][:-1], [step[2] for step in rest])
        flags = rest[-1][3:] if rest else (False, False)
        assert (episode.terminated, episode.truncated) == flags


def _train(env: Any, *, steps: int, policy: str = "MlpPolicy", **options: Any) -> list[np.ndarray]:
    """Return the weights that PPO has learned after so many steps."""
    sb3 = pytest.importorskip("stable_baselines3")
    torch.set_num_threads(1)
    model = sb3.PPO(policy, env, n_steps=64, batch_size=32, n_epochs=2, seed=3, device="cpu", **options)
    model.learn(steps)
    return [parameter.detach().numpy().copy() for parameter in model.policy.parameters()]


def test_stable_baselines_learns_the_same_and_sees_what_is_recorded(tmp_path: Path) -> None:
    """Not a bit of the policy differs."""
    with logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        noting = Noting(env)
        recorded = _train(noting, steps=128)
    plain = _train(gymnasium.make("CartPole-v1"), steps=128)
    for one, other in zip(recorded, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    _compare(list(rlds_kit.open(tmp_path).episodes), noting.episodes)


_SMALL = {"learning_starts": 64, "buffer_size": 1000, "batch_size": 32, "policy_kwargs": {"net_arch": [16]}}


def _weights(algorithm: str, env: Any, *, steps: int) -> tuple[str, int]:
    """The SHA-256 of all weights after so many steps, and how many there are."""
    sb3 = pytest.importorskip("stable_baselines3")
    torch.set_num_threads(1)
    options = {"n_steps": 64, "batch_size": 32, "n_epochs": 2} if algorithm == "PPO" else _SMALL
    model = getattr(sb3, algorithm)("MlpPolicy", env, seed=3, device="cpu", **options)
    model.learn(steps)
    digest, state = hashlib.sha256(), model.policy.state_dict()
    for name, tensor in sorted(state.items()):
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return digest.hexdigest(), sum(tensor.numel() for tensor in state.values())


@pytest.mark.parametrize(
    ("algorithm", "game", "steps"),
    [("PPO", "CartPole-v1", 192), ("DQN", "CartPole-v1", 192), ("SAC", "Pendulum-v1", 120)],
)
def test_stable_baselines_ends_with_the_weights_of_the_unwrapped_run(
    tmp_path: Path, algorithm: str, game: str, steps: int
) -> None:
    """With the logger as it is by default; and every episode of the recording can be played again."""
    with logger.GymnasiumLogger(gymnasium.make(game, max_episode_steps=20), tmp_path) as env:
        recorded = _weights(algorithm, env, steps=steps)
    assert recorded == _weights(algorithm, gymnasium.make(game, max_episode_steps=20), steps=steps)
    dataset = rlds_kit.open(tmp_path)
    report = replay(dataset)
    assert (report.ok, report.diverged, report.not_replayed) == (True, (), ())
    assert len(report.outcomes) == len(dataset.episodes) > 5
    assert sum(each.replayed for each in report.outcomes) >= steps
    assert [episode.seed for episode in dataset.episodes][1:] == [None] * (len(dataset.episodes) - 1)


@pytest.mark.slow
def test_stable_baselines_vec_env_of_loggers(tmp_path: Path) -> None:
    """Each environment has its own logger; all of them record into one directory at once."""
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    made: list[Noting] = []

    def make() -> gymnasium.Env[Any, Any]:
        made.append(
            Noting(logger.GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path, metadata={"number": len(made)}))
        )
        return made[-1]

    envs = vec_env.DummyVecEnv([make] * 3)
    _train(envs, steps=384)
    envs.close()
    dataset = rlds_kit.open(tmp_path)
    for number, noting in enumerate(made):
        _compare([episode for episode in dataset.episodes if episode.run_metadata["number"] == number], noting.episodes)


def _ppo(envs: gymnasium.vector.VectorEnv[Any, Any, Any], *, updates: int, horizon: int) -> list[list[Any]]:
    """CleanRL's ppo.py without its logging and annealing; returns what every call of the environment returned."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    num_envs, size = envs.num_envs, int(np.prod(envs.single_observation_space.shape or ()))
    network = [
        torch.nn.Sequential(torch.nn.Linear(size, 32), torch.nn.Tanh(), torch.nn.Linear(32, out)) for out in (2, 1)
    ]
    actor, critic = network
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
    observation, _ = envs.reset(seed=1)
    seen: list[list[Any]] = [[np.copy(observation)]]
    next_obs, next_done = torch.tensor(observation, dtype=torch.float32), torch.zeros(num_envs)
    for _ in range(updates):
        obs = torch.zeros(horizon, num_envs, size)
        actions, logprobs, rewards, dones, values = (torch.zeros(horizon, num_envs) for _ in range(5))
        for step in range(horizon):
            obs[step], dones[step] = next_obs.reshape(num_envs, size), next_done
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(obs[step]))
                action = policy.sample()
                values[step], logprobs[step] = critic(obs[step]).flatten(), policy.log_prob(action)
            actions[step] = action
            result = envs.step(action.numpy())
            observation, reward, terminations, truncations, _ = result
            seen.append([np.copy(observation), action.numpy(), *(np.copy(part) for part in result[1:4])])
            rewards[step] = torch.tensor(reward, dtype=torch.float32)
            next_obs = torch.tensor(observation, dtype=torch.float32)
            next_done = torch.tensor(np.logical_or(terminations, truncations), dtype=torch.float32)
        with torch.no_grad():
            following, advantages, last = (
                critic(next_obs.reshape(num_envs, size)).flatten(),
                torch.zeros_like(rewards),
                0.0,
            )
            for step in reversed(range(horizon)):
                alive = 1.0 - (next_done if step == horizon - 1 else dones[step + 1])
                delta = rewards[step] + 0.99 * following * alive - values[step]
                advantages[step] = last = delta + 0.99 * 0.95 * alive * last
                following = values[step]
            returns = advantages + values
        flat = obs.reshape(-1, size)
        policy = torch.distributions.Categorical(logits=actor(flat))
        ratio = (policy.log_prob(actions.flatten()) - logprobs.flatten()).exp()
        gain = torch.min(ratio * advantages.flatten(), ratio.clamp(0.8, 1.2) * advantages.flatten())
        loss = -gain.mean() + 0.5 * (critic(flat).flatten() - returns.flatten()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return seen


def _told(seen: list[list[Any]], index: int) -> list[list[tuple[Any, ...]]]:
    """What a NEXT_STEP vector environment returned, as the episodes of one sub-environment."""
    episodes, is_due = [[(seen[0][0][index],)]], False
    for observations, actions, rewards, terminations, truncations in seen[1:]:
        if is_due:
            episodes.append([(observations[index],)])
        else:
            now = (observations, actions, rewards, terminations, truncations)
            episodes[-1].append(tuple(part[index] for part in now))
        is_due = bool(terminations[index] or truncations[index])
    return episodes


@pytest.mark.parametrize(
    ("updates", "horizon"), [(3, 32), pytest.param(16, 128, marks=pytest.mark.slow)], ids=["quick", "long"]
)
def test_cleanrl_ppo_learns_the_same_and_sees_what_is_recorded(tmp_path: Path, updates: int, horizon: int) -> None:
    """A plain loop over a vector environment, bit for bit the same with and without the logger."""

    def make() -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        return gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")

    with logger.VectorLogger(make(), tmp_path) as envs:
        seen = _ppo(gymnasium.wrappers.vector.RecordEpisodeStatistics(envs), updates=updates, horizon=horizon)
    plain = _ppo(make(), updates=updates, horizon=horizon)
    for one, other in zip(seen, plain, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    episodes = list(rlds_kit.open(tmp_path).episodes)
    for index in range(4):
        own = [episode for episode in episodes if episode.provenance["sub_environment"] == index]
        _compare(own, _told(seen, index))


@pytest.mark.slow
def test_stable_baselines_learns_the_same_on_atari(tmp_path: Path) -> None:
    """Whole frames into a convolutional policy."""
    ale_py = pytest.importorskip("ale_py", reason="needs the extra `atari`")
    gymnasium.register_envs(ale_py)
    with logger.GymnasiumLogger(gymnasium.make("ALE/Pong-v5"), tmp_path) as env:
        noting = Noting(env)
        recorded = _train(noting, steps=128, policy="CnnPolicy")
    plain = _train(gymnasium.make("ALE/Pong-v5"), steps=128, policy="CnnPolicy")
    for one, other in zip(recorded, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    _compare(list(rlds_kit.open(tmp_path).episodes), noting.episodes)
