"""Clones a CartPole demonstrator from its recorded episodes: record, load, train, compare.

pip install ".[torch]"
python examples/behavioural_cloning.py --seeds 0 1 2
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch

import rlds_kit
from rlds_kit import logger

Policy = Callable[[np.ndarray], int]

DEMONSTRATIONS, EPOCHS, TEST_EPISODES = 20, 5, 50


def demonstrator(observation: np.ndarray) -> int:
    """Pushes to where the pole falls, and a little to where the cart should go."""
    position, velocity, angle, turning = observation
    return int(0.05 * position + 0.1 * velocity + angle + 0.5 * turning > 0)


def play(env: gym.Env[np.ndarray, int], policy: Policy, episodes: int, seed: int) -> float:
    """The mean return of a policy."""
    returns = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed * 10_000 + episode)
        total, is_over = 0.0, False
        while not is_over:
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
            total, is_over = total + float(reward), terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def clone(directory: Path, seed: int) -> Policy:
    """A network that was trained to do what the recorded agent did."""
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)

    batches = rlds_kit.open(directory).transitions().batches(256, shuffle="global", seed=seed)
    for _ in range(EPOCHS):
        for batch in batches:
            observation, action = torch.from_numpy(batch["observation"]), torch.from_numpy(batch["action"])
            loss = torch.nn.functional.cross_entropy(network(observation), action)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return lambda observation: int(network(torch.from_numpy(observation)).argmax())


def main() -> None:
    """Prints the returns of demonstrator and clone, for every seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    print("seed\tdemonstrator\tclone\tshare")
    for seed in parser.parse_args().seeds:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder, "cartpole")
            with logger.GymnasiumLogger(gym.make("CartPole-v1"), directory) as env:
                play(env, demonstrator, DEMONSTRATIONS, seed)
            test = gym.make("CartPole-v1")
            theirs, ours = (
                play(test, policy, TEST_EPISODES, seed + 1000) for policy in (demonstrator, clone(directory, seed))
            )
        print(f"{seed}\t{theirs:.1f}\t{ours:.1f}\t{ours / theirs:.2f}")


if __name__ == "__main__":
    main()
