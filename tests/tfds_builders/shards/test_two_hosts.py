"""Ray on two hosts: network namespaces with names of their own, which see each other over a virtual cable only."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.tfds_builders.shards import convert_shards, serially
from tests.tfds_builders.shards.recorded import files, record

ROOT = Path(__file__).parents[3]
HEAD = "10.213.77.1"
PORT = 6399
HOSTS = {f"rlds-kit-{os.getpid()}-{number}": f"10.213.77.{number}" for number in (1, 2)}
"""Name and address of each."""

BUILD = """
    import json, sys
    from rlds_kit.tfds_builders.shards import convert_shards, on_ray
    source, destination, address = sys.argv[1:]
    report = convert_shards(source, destination, "riegeli", executor=on_ray(address=address), shards=8)
    print(json.dumps(sorted({info.worker.partition("/")[0] for info in report.shards})))
"""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Two namespaces with a cable between them."""
    names = list(HOSTS)
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        for name, address in HOSTS.items():
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", name, "link", "set", device, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        told = getattr(error, "stderr", b"") or str(error).encode()
        _remove(names)
        pytest.skip(f"network namespaces cannot be made here: {told.decode().strip()}")
    yield names
    _remove(names)


def _remove(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            _ip("netns", "delete", name)


def _on(host: str, *command: str) -> list[str]:
    """The command line that runs another one on a host, under the host's name."""
    return ["unshare", "--uts", "sh", "-c", f'hostname {host}; exec ip netns exec {host} "$@"', "sh", *command]


@contextlib.contextmanager
def _cluster(hosts: list[str], env: dict[str, str]) -> Iterator[None]:
    """A node of Ray on each host, of one CPU."""
    program = str(Path(sys.executable).with_name("ray"))
    temporary = tempfile.mkdtemp(prefix="rk", dir="/tmp")  # sockets need a short path
    common = ["--num-cpus=1", "--block", "--disable-usage-stats"]
    head = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={temporary}"]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        for host, own in zip(hosts, (head, [f"--address={HEAD}:{PORT}"]), strict=True):
            command = [program, "start", *own, *common, f"--node-ip-address={HOSTS[host]}"]
            process = subprocess.Popen(_on(host, *command), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            stack.enter_context(process)
            stack.callback(process.terminate)  # with --block its node ends with it
            assert process.stdout is not None
            lines = iter(process.stdout.readline, b"")
            assert any(b"Ray runtime started" in line for line in lines), f"{host} has not started"
        yield


@pytest.mark.slow
def test_two_hosts_share_the_work_and_write_the_same_bytes(hosts: list[str], tmp_path: Path) -> None:
    """The code is that of one machine; only the address is another."""
    source = record(tmp_path / "source")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_AUTH_MODE": "disabled"}
    build = [sys.executable, "-c", textwrap.dedent(BUILD), str(source), str(tmp_path / "ray"), f"{HEAD}:{PORT}"]
    with _cluster(hosts, env):
        done = subprocess.run(_on(hosts[0], *build), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == hosts
    convert_shards(source, tmp_path / "serial", "riegeli", executor=serially(), shards=8)
    assert files(tmp_path / "ray") == files(tmp_path / "serial")
    assert rlds_kit.open(tmp_path / "ray").content_digest == rlds_kit.open(source).content_digest
