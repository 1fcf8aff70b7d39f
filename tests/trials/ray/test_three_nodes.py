"""Trials on three nodes of Ray: network namespaces of one machine, of which one fails."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlds_kit
from tests.trials.hosts.running import run
from tests.trials.ray.playing import content, play

ROOT = Path(__file__).parents[3]
HEAD = "10.213.78.1"
PORT = 6398
HOSTS = {f"rlds-kit-{os.getpid()}-node{number}": f"10.213.78.{number}" for number in (1, 2, 3)}
"""Name and address of each."""
SOON = {  # how the head node finds out that another one does not answer
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "4",
}


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Three namespaces; the first has the switch that the cables of the others end in."""
    names = list(HOSTS)
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("-n", names[0], "link", "add", "cable", "type", "bridge")
        for number, name in enumerate(names[1:], 2):
            port = f"port{number}"
            _ip("link", "add", port, "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", name)
            _ip("-n", names[0], "link", "set", port, "master", "cable", "up")
        for name, address in HOSTS.items():
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", name, "link", "set", device, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", b"") or str(error).encode()
        _remove(names)
        pytest.skip(f"network namespaces cannot be made here: {reason.decode().strip()}")
    yield names
    _remove(names)


def _remove(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            _kill(name)
            _ip("netns", "delete", name)


def _kill(host: str) -> None:
    """Kills all processes of a host; returns when they are gone: until then their recordings are being written."""
    end = time.monotonic() + 120
    while found := subprocess.run(["ip", "netns", "pids", host], check=True, capture_output=True, text=True).stdout:
        assert time.monotonic() < end, f"processes cannot be killed: {found}"
        for each in found.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(each), 9)
        time.sleep(0.05)


def _on(host: str, *command: str) -> list[str]:
    """The command line that runs another one on a host, under the host's name."""
    return ["unshare", "--uts", "sh", "-c", f'hostname {host}; exec ip netns exec {host} "$@"', "sh", *command]


@contextlib.contextmanager
def _cluster(hosts: list[str], env: dict[str, str], logs: Path) -> Iterator[None]:
    """A node of Ray on each host."""
    program = [sys.executable, "-m", "ray.scripts.scripts"]
    temporary = tempfile.mkdtemp(prefix="rk", dir="/tmp")  # sockets need a short path
    head = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={temporary}"]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        for number, host in enumerate(hosts, 1):
            own = head if number == 1 else [f"--address={HEAD}:{PORT}"]
            resources = f'--resources={{"node{number}": 100}}'
            common = ["--num-cpus=1", resources, "--block", "--disable-usage-stats", "--object-store-memory=100000000"]
            command = [*program, "start", *own, *common, f"--node-ip-address={HOSTS[host]}"]
            log = logs / f"{host}.log"
            with log.open("wb") as output:
                process = subprocess.Popen(_on(host, *command), env=env, stdout=output, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(_kill, host)  # a node that is cut off does not end when it is to
            _wait_for(log, b"Ray runtime started")
        yield


def _wait_for(log: Path, text: bytes) -> None:
    end = time.monotonic() + 120
    while text not in log.read_bytes():
        assert time.monotonic() < end, log.read_text("utf-8", errors="replace")
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "raylet", "cut"])
def test_a_node_that_fails_takes_its_own_trials_along(fault: str, hosts: list[str], tmp_path: Path) -> None:
    """The others go on, later ones run elsewhere; what is played before and after is what one process records."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_AUTH_MODE": "disabled", **SOON}
    program = [sys.executable, "-m", "tests.trials.ray.on_three_nodes", fault, hosts[2], f"{HEAD}:{PORT}"]
    with _cluster(hosts, env, tmp_path):
        done = subprocess.run(
            _on(hosts[0], *program, str(tmp_path)), env=env, capture_output=True, text=True, check=False, timeout=500
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    ended = found["ended"]
    assert found["nodes"] == 2
    for name in ("environment", "actor"):
        assert ended[name]["status"] == "abandoned"
        assert f"the process of the {name} is gone" in ended[name]["reason"]
    assert [ended[name]["status"] for name in ("near", "far")] == ["completed"] * 2
    assert [(each["status"], each["steps"]) for each in found["later"]] == [("completed", 3)] * 2
    lengths = {each.id.hex: each.length for each in rlds_kit.open(tmp_path / "trials").episodes}
    assert lengths[ended["environment"]["episode"]] >= 50
    assert lengths[ended["actor"]["episode"]] == ended["actor"]["steps"] + 1
    run(functools.partial(play, tmp_path / "here", is_here=True))
    expected = content(tmp_path / "here")
    assert content(tmp_path / "before") == expected
    assert content(tmp_path / "after") == expected
