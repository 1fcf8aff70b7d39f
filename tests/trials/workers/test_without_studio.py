"""Environments are played and recorded on the pool where nothing of the studio's extra is installed."""

import os
import subprocess
import sys
from pathlib import Path

import rlds_kit

HIDDEN = """
import sys

HIDDEN = {"PIL", "alembic", "itsdangerous", "pydantic", "sqlalchemy", "starlette", "uvicorn"}


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
"""As `sitecustomize`, in every process: the libraries of the studio are not there."""
SCRIPT = """
import asyncio
import sys
from importlib.util import find_spec

from rlds_kit.trials import EnvironmentSpec, TrialSetup, run_trials
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import WorkerPool

BLIND = requests.View(quality=None)


async def play():
    async with WorkerPool(1) as pool:
        environment = await pool.open(requests.Open(EnvironmentSpec("CartPole-v1"), sys.argv[1]))
        await environment.request(requests.Reset(BLIND, seed=1))
        for _ in range(3):
            await environment.request(requests.Step(BLIND, {"player": 0}))
        await environment.request(requests.Finish({}))
        await environment.close()


if __name__ == "__main__":
    try:
        find_spec("PIL")
    except ModuleNotFoundError:
        asyncio.run(play())
        (trial,) = run_trials(TrialSetup(environment=EnvironmentSpec("CartPole-v1"), actors={"player": "random"}), 1)
        assert trial.steps > 0
"""


def test_the_pool_needs_no_extra(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDDEN, "utf-8")
    (tmp_path / "play.py").write_text(SCRIPT, "utf-8")
    checkout = Path(rlds_kit.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(checkout)])}
    subprocess.run([sys.executable, str(tmp_path / "play.py"), str(tmp_path / "data")], env=env, check=True)
    assert [episode.length for episode in rlds_kit.open(tmp_path / "data").episodes] == [4]
