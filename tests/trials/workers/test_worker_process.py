"""Processes of environments: what they inherit, and what they do not."""

import json
import multiprocessing
import os
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Any

import pytest

from rlds_kit.trials.workers import process

SCRIPT = "from tests.trials.workers.test_worker_process import report; report()"


def tell(pipe: "Connection[Any, Any]") -> None:
    """Says how memory is allocated here."""
    pipe.send(os.environ.get(process.TUNABLES))


def report() -> None:
    """Prints what a process and the one that started it have."""
    ours, theirs = multiprocessing.Pipe()
    started = process.start(tell, theirs)
    said = ours.recv()
    started.join()
    print(json.dumps([said, os.environ.get(process.TUNABLES)]))


@pytest.mark.parametrize(
    ("before", "there"),
    [
        (None, "glibc.malloc.hugetlb=1"),
        ("glibc.malloc.arena_max=4", "glibc.malloc.arena_max=4:glibc.malloc.hugetlb=1"),
        ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0"),
    ],
)
def test_memory_comes_in_large_pages_unless_another_size_was_chosen(before: str | None, there: str) -> None:
    """Only in processes of environments: what the server starts otherwise has what it had."""
    chosen = {} if before is None else {process.TUNABLES: before}
    env = {name: value for name, value in os.environ.items() if name != process.TUNABLES} | chosen
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [there, before]
