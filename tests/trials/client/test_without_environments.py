"""A client needs neither environments nor a server, nor what records."""

import subprocess
import sys

NOT_LOADED = ("gymnasium", "pettingzoo", "starlette", "uvicorn", "rlds_kit.logger")


def test_g8_a_client_loads_no_environment() -> None:
    code = (
        "import sys\nfrom rlds_kit.trials.client import ActorRequest, Client, Reward, StartTrial, Text\n"
        f"print(*sorted(set(sys.modules) & {set(NOT_LOADED)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr, done.returncode) == ([], "", 0)
