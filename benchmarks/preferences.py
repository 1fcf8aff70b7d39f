"""CartPole from preferences alone: how well a reward model ranks segments, and what an agent learns from it.

200 pairs of segments are compared by a simulated annotator, who prefers the segment with the larger sum of
`-|angle| - 0.1 |position|`, and calls pairs that differ little a tie. A reward model is trained from these comparisons,
and ranks segments of other episodes. Then PPO of stable-baselines3 trains agents with the rewards of the model only.
The control has random answers.

    python benchmarks/preferences.py --models            # the reward models: seconds
    python benchmarks/preferences.py --out FILE.json     # with agents: about two minutes for each of ten
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping import rewards as rw

LENGTH, PAIRS, TIE = 25, 200, 0.02
EPISODES, UNSEEN = 120, 400
SEEDS = (0, 1, 2, 3, 4)


def record(path: Path, episodes: int, seed: int) -> rlds_kit.Dataset:
    """Records policies that push the pole back, with different amounts of random actions."""
    random = np.random.default_rng(seed)
    with GymnasiumLogger(gym.make("CartPole-v1", max_episode_steps=200), path) as env:
        for episode in range(episodes):
            observation, _ = env.reset(seed=seed + episode)
            noise, drift, done = random.uniform(0.1, 0.6), random.uniform(-0.5, 0.5), False
            while not done:
                push = observation[2] + 0.3 * observation[3] + drift * 0.1 > 0
                action = int(random.integers(2)) if random.random() < noise else int(push)
                observation, _, terminated, truncated, _ = env.step(action)
                done = terminated or truncated
    return rlds_kit.open(path)


def truth(dataset: rlds_kit.Dataset, segments: Sequence[pf.Segment]) -> np.ndarray:
    """What the annotator judges by: the sum of -|angle| - 0.1 |position| over a segment."""
    found = rw.segment_vectors(dataset.episodes, segments, rw.Inputs())
    return np.array([(-np.abs(each[:, 2]) - 0.1 * np.abs(each[:, 0])).sum() for each in found])


def answer(dataset: rlds_kit.Dataset, queries: Sequence[pf.Query]) -> list[pf.Response]:
    """The comparisons of the simulated annotator."""
    first, second = (truth(dataset, [each.segments[side] for each in queries]) for side in (0, 1))
    choices = np.where(np.abs(first - second) < TIE * LENGTH / 10, 2, np.where(first > second, 0, 1))
    return [_response(query, choice, "simulated") for query, choice in zip(queries, choices, strict=True)]


def answer_randomly(queries: Sequence[pf.Query], seed: int) -> list[pf.Response]:
    """The comparisons of the control."""
    choices = np.random.default_rng(seed).integers(2, size=len(queries))
    return [_response(query, choice, "random") for query, choice in zip(queries, choices, strict=True)]


def _response(query: pf.Query, choice: int, annotator: str) -> pf.Response:
    given = (pf.Choice.FIRST, pf.Choice.SECOND, pf.Choice.TIE)[choice]
    return pf.Response(query=query, answer=pf.Comparison(given), annotator=annotator)


def train(
    dataset: rlds_kit.Dataset, seed: int, *, is_random: bool = False, training: rw.Training | None = None
) -> rw.RewardModel:
    """A reward model from stored comparisons."""
    queries = pf.queries(pf.cut(dataset.episodes, LENGTH), pf.Uniform(seed), PAIRS, question="Which is steadier?")
    responses = answer_randomly(queries, seed) if is_random else answer(dataset, queries)
    layer = f"{'random' if is_random else 'simulated'}-{seed}"
    dataset.annotate(layer, pf.drafts(responses), source="import")
    stored = pf.responses(dataset.layer(layer)).whole
    return rw.fit_preferences(dataset.episodes, rw.pairs(stored), rw.Inputs(), training or rw.Training(seed=seed))


def spearman(model: rw.RewardModel, dataset: rlds_kit.Dataset, segments: Sequence[pf.Segment]) -> float:
    """The rank correlation of the model's sums of rewards with the truth."""
    found = rw.segment_vectors(dataset.episodes, segments, model.inputs)
    given = np.array([model.rewards(each).sum() for each in found])
    ranks = [np.argsort(np.argsort(each)) for each in (given, truth(dataset, segments))]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def play(model: rw.RewardModel, seed: int, steps: int) -> float:
    """The mean return of 100 episodes in the environment itself, of an agent that never got its rewards."""
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    agent = PPO("MlpPolicy", rw.ModelReward(gym.make("CartPole-v1"), model), seed=seed, device="cpu")
    agent.learn(steps)
    env, returns = gym.make("CartPole-v1"), []
    for episode in range(100):
        observation, _ = env.reset(seed=10_000 + episode)
        total, done = 0.0, False
        while not done:
            action, _ = agent.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(int(action))
            total, done = total + float(reward), terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main() -> None:
    """Prints a line for each seed, and stores the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", action="store_true", help="train no agents")
    parser.add_argument("--steps", type=int, default=100_000, help="of each agent")
    parser.add_argument("--answers", nargs="+", default=["simulated", "random"], choices=["simulated", "random"])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--out", type=Path, help="file for the table")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        train_set, test_set = record(Path(folder, "a"), EPISODES, 0), record(Path(folder, "b"), EPISODES, 1000)
        random = np.random.default_rng(0)
        every = pf.cut(test_set.episodes, LENGTH, stride=5)
        segments = [every[each] for each in random.choice(len(every), UNSEEN, replace=False)]
        for answers in given.answers:
            for seed in given.seeds:
                model = train(train_set, seed, is_random=answers == "random")
                row: dict[str, Any] = {"answers": answers, "seed": seed}
                row |= {"spearman": round(spearman(model, test_set, segments), 3), "sha256": rw.digest(model)}
                if not given.models:
                    row["return"] = play(model, seed, given.steps)
                rows.append(row)
                print(row, flush=True)
                if given.out:
                    given.out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
