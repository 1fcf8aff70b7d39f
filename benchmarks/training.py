"""Measures what recording costs a training: PPO as in CleanRL, with 64 environments, with and without a logger.

    python benchmarks/training.py
    python benchmarks/training.py --env-id HalfCheetah-v5     # with gymnasium[mujoco]

A training with `VectorLogger` and one without are a pair: each in a new process, with one thread of Torch. They run in
turns of a few seconds, while the other process is stopped: so a machine whose speed drifts slows both alike. The timer
of the recorder runs on while its process is stopped, so it writes a little more often than usual. Both must end with
the same weights, bit for bit. The report has the ratio of the times of each pair, for plain environments, and for such
with `RecordEpisodeStatistics` around each, as CleanRL has them.
"""

import argparse
import hashlib
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, cast

import gymnasium
import numpy as np
import torch
from side_by_side import machine, page
from torch import nn
from torch.distributions import Categorical, Normal

ENVIRONMENTS = 64
HORIZON = 128
EPOCHS, MINIBATCHES = 4, 4
TURN = 5.0  # seconds
BEGIN = "<!-- begin: benchmarks/training.py -->"
END = "<!-- end: benchmarks/training.py -->"
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2


class Agent(nn.Module):
    """Two networks of two layers with 64 units, as in CleanRL's `ppo.py` and `ppo_continuous_action.py`."""

    def __init__(self, envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        super().__init__()
        size = int(np.prod(envs.single_observation_space.shape or ()))
        space = envs.single_action_space
        self.is_discrete = isinstance(space, gymnasium.spaces.Discrete)
        outputs = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else int(np.prod(space.shape or ()))
        self.critic, self.actor = _layers(size, 1), _layers(size, outputs)
        self.log_std = nn.Parameter(torch.zeros(outputs))

    def policy(self, observation: torch.Tensor) -> Any:  # distributions have no common type with `entropy`
        """The distribution of actions."""
        found = self.actor(observation)
        return Categorical(logits=found) if self.is_discrete else Normal(found, self.log_std.exp().expand_as(found))

    def log_prob(self, policy: Any, action: torch.Tensor) -> torch.Tensor:
        """Of an action, over all of its dimensions."""
        found: torch.Tensor = policy.log_prob(action)
        return found if self.is_discrete else found.sum(1)


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def train(envs: gymnasium.vector.VectorEnv[Any, Any, Any], updates: int) -> str:
    """Trains; returns the SHA-256 of the weights."""
    torch.manual_seed(1)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    observation, _ = envs.reset(seed=1)
    now, over = _tensor(observation), torch.zeros(ENVIRONMENTS)
    for _ in range(updates):
        rows = []
        for _ in range(HORIZON):
            with torch.no_grad():
                policy = agent.policy(now)
                action = policy.sample()
                row = [now, action, agent.log_prob(policy, action), agent.critic(now).flatten(), over]
            observation, reward, terminated, truncated, _ = envs.step(action.numpy())
            now, over = _tensor(observation), _tensor(np.logical_or(terminated, truncated))
            rows.append([*row, _tensor(reward)])
        _update(agent, optimizer, [torch.stack(each) for each in zip(*rows, strict=True)], now, over)
    digest = hashlib.sha256()
    for weights in agent.state_dict().values():
        digest.update(weights.numpy().tobytes())
    return digest.hexdigest()


def _tensor(values: Any) -> torch.Tensor:
    return torch.as_tensor(np.asarray(values, np.float32))


def _update(
    agent: Agent, optimizer: torch.optim.Optimizer, rows: list[torch.Tensor], now: torch.Tensor, over: torch.Tensor
) -> None:
    observations, actions, log_probs, values, dones, rewards = rows
    advantages = torch.zeros_like(rewards)
    with torch.no_grad():
        value, last, done = agent.critic(now).flatten(), torch.zeros(ENVIRONMENTS), over
        for step in reversed(range(HORIZON)):
            delta = rewards[step] + GAMMA * value * (1 - done) - values[step]
            advantages[step] = last = delta + GAMMA * LAMBDA * (1 - done) * last
            value, done = values[step], dones[step]
    flat = [each.flatten(0, 1) for each in (observations, actions, log_probs, advantages, advantages + values)]
    for _ in range(EPOCHS):
        for index in torch.randperm(ENVIRONMENTS * HORIZON).chunk(MINIBATCHES):
            observation, action, before, advantage, goal = (each[index] for each in flat)
            policy = agent.policy(observation)
            ratio = (agent.log_prob(policy, action) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            surrogate = torch.min(advantage * ratio, advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            loss = (agent.critic(observation).flatten() - goal).square().mean() / 2 - surrogate
            loss = loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def play(env_id: str, updates: int, folder: str, *, has_statistics: bool) -> None:
    """One training, recorded into a folder unless it is empty; begins when it gets a line, and prints its weights."""
    from rlds_kit import logger

    torch.set_num_threads(1)
    results, sys.stdout = sys.stdout, sys.stderr  # environments may print something
    wrappers = [gymnasium.wrappers.RecordEpisodeStatistics] if has_statistics else []
    envs: Any = gymnasium.make_vec(env_id, num_envs=ENVIRONMENTS, vectorization_mode="sync", wrappers=wrappers)
    print("ready", file=results, flush=True)
    sys.stdin.readline()
    if folder:
        envs = logger.VectorLogger(envs, folder)
    weights = train(envs, updates)
    envs.close()
    print(weights, file=results, flush=True)


def main() -> None:
    """Measures, and prints a report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env-id", default="CartPole-v1")
    parser.add_argument("--updates", type=int, default=61, help=f"of {HORIZON} steps of {ENVIRONMENTS} environments")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--page", type=Path, help="also put the report into this page")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    parser.add_argument("--statistics", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.play is not None:
        play(arguments.env_id, arguments.updates, arguments.play, has_statistics=arguments.statistics)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no stopped process is left
    command = [sys.executable, __file__, "--env-id", arguments.env_id, "--updates", str(arguments.updates)]
    plain = _pairs(command, arguments.pairs)
    with_statistics = _pairs([*command, "--statistics"], arguments.pairs)
    report = "\n".join(_report(arguments.env_id, arguments.updates, plain, with_statistics))
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(report)


class _Training:
    """A training in a process of its own, which is stopped between its turns.

    Args:
      command: of the process.

    Attributes:
      seconds: that it has run.
      weights: SHA-256 of the weights when it has ended; before, nothing.
    """

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._output = cast("IO[str]", self._process.stdout)  # which is a pipe
        self.seconds, self.weights = 0.0, ""
        self._line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # this signal ends a stopped process too
        self._process.wait()

    def turn(self) -> None:
        """Runs for one turn, or to its end."""
        begin = time.perf_counter()
        if self.seconds:
            self._process.send_signal(signal.SIGCONT)
        else:
            print(file=self._process.stdin, flush=True)
        is_over = bool(select.select([self._output], [], [], TURN)[0])
        if not is_over:
            self._process.send_signal(signal.SIGSTOP)
        self.seconds += time.perf_counter() - begin
        if is_over:
            self.weights = self._line()

    def _line(self) -> str:
        """The next line of the process."""
        line = self._output.readline()
        if not line:
            raise RuntimeError(f"a training ended early, with exit code {self._process.wait()}: see its error above")
        return line.strip()


class _Pairs(NamedTuple):
    """The ratios of the times of each pair, ascending, and the weights of all runs."""

    ratios: list[float]
    weights: set[str]


def _pairs(command: list[str], count: int) -> _Pairs:
    """Runs a command with and without a recording, in turns."""
    ratios, weights = list[float](), set[str]()
    for number in range(count):
        with (
            tempfile.TemporaryDirectory() as folder,
            _Training([*command, "--play", ""]) as plain,
            _Training([*command, "--play", str(Path(folder) / "data")]) as recorded,
        ):
            turns = (recorded, plain) if number % 2 else (plain, recorded)
            while not all(each.weights for each in turns):
                for each in turns:
                    if not each.weights:
                        each.turn()
        weights |= {plain.weights, recorded.weights}
        ratios.append(recorded.seconds / plain.seconds)
        figures = f"{plain.seconds:.2f} s, recorded {recorded.seconds:.2f} s: {ratios[-1]:.3f}"
        print(f"pair {number + 1}: {figures}", file=sys.stderr, flush=True)
    return _Pairs(sorted(ratios), weights)


def _report(env_id: str, updates: int, plain: _Pairs, with_statistics: _Pairs) -> Iterator[str]:
    yield f"- machine: {machine.describe()}"
    yield f"- load average at the end: {os.getloadavg()[0]:.1f}"
    yield f"- {env_id}, {updates} updates of {HORIZON} x {ENVIRONMENTS} steps"
    yield f"- time with a logger, of that without, in {len(plain.ratios)} pairs of each kind:"
    for kind, pairs in (("plain", plain), ("with `RecordEpisodeStatistics`", with_statistics)):
        text = f"- {kind}: median {statistics.median(pairs.ratios):.3f}"
        if len(pairs.ratios) >= 9:  # the second to the second last: holds the median with 97.9 % of 10 pairs
            text += f", interval (sign test) {pairs.ratios[1]:.3f} to {pairs.ratios[-2]:.3f}"
        yield f"{text}; weights {'the same in all runs' if len(pairs.weights) == 1 else 'DIFFERENT'}"


if __name__ == "__main__":
    main()
