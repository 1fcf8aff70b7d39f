"""The example that trains with rewards from manuals."""

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rlds_kit.shaping.manuals import InteractionTable, read_manual, shipped_manual

EXAMPLE = Path(__file__).parents[2] / "examples" / "read_and_reward.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="a wheel holds no examples")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """Its module."""
    for library in ("torch", "ale_py"):
        pytest.importorskip(library)
    spec = importlib.util.spec_from_file_location("read_and_reward", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def breakout() -> InteractionTable:
    return read_manual(shipped_manual("Breakout"))


def undecided() -> InteractionTable:
    """Abstains on all objects."""
    table = breakout()
    return replace(table, interactions=tuple(replace(each, verdict="abstain") for each in table.interactions))


def weights(example: ModuleType, table: InteractionTable, weight: float) -> bytes:
    """Of an agent after 480 actions in one environment."""
    agent = example.A2C([example.make_env(table, weight)], 3, example.A2CSettings(hidden=8))
    for _ in agent.train(480):
        pass
    return b"".join(each.detach().numpy().tobytes() for each in agent.actor.parameters())


def test_rewards_of_zero_change_nothing(example: ModuleType) -> None:
    """A weight of 0 and a table without verdicts give the same agent, bit for bit; the manual gives another one."""
    without = weights(example, breakout(), 0.0)
    assert weights(example, undecided(), 0.2) == without
    assert weights(example, breakout(), 0.2) != without


def steps(env: Any, n_steps: int) -> Iterator[tuple[float, bool, dict[str, Any]]]:
    """Rewards, ends and infos of an episode of play at random."""
    env.reset(seed=0)
    random = np.random.default_rng(0)
    for _ in range(n_steps):
        _, reward, terminated, truncated, info = env.step(random.integers(4))
        yield float(reward), terminated or truncated, info
        if terminated or truncated:
            return


def test_the_score_is_paid_at_the_end_and_contacts_at_once(example: ModuleType) -> None:
    *early, (last, is_over, info) = steps(example.make_env(breakout(), 0.0), 2000)
    assert is_over
    score = info["episode"]["r"]
    assert score > 0
    assert last == 0.1 * score
    assert {reward for reward, _, _ in early} == {0.0}

    *early, (last, _, info) = steps(example.make_env(breakout(), 0.2), 2000)
    assert {reward for reward, _, _ in early} == {0.0, 1.0}
    assert sum(reward for reward, _, _ in early) == 0.2 * info["manual_sum"]
    assert last == 0.1 * info["episode"]["r"]
