"""Forked processes read, whatever threads of their parent were doing."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from rlds_kit import Dataset
from tests.loader.recording import numbered

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),  # that it may hang is the point
]

PATIENCE = 60.0
"""Seconds after which a child is taken to hang."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes in three shards, in blocks of four steps."""
    return numbered(tmp_path_factory.mktemp("forked"), (17, 1, 40, 8, 23, 2))


def _succeeds_in_child(task: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            status = 0 if task() else 1
        os._exit(status)
    deadline = time.monotonic() + PATIENCE
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(done[1]) == 0


@contextlib.contextmanager
def _reading(task: Callable[[], object]) -> Iterator[None]:
    """Other threads read as long as the context lasts."""
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            task()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_a_lock_that_was_held_does_not_stop_the_child(dataset: Dataset) -> None:
    """Neither that of the open files nor that of the cache."""
    samples = dataset.transitions()
    expected = samples.gather([3, 80])["image"]  # what was read is cached
    files = samples.source.reader.files  # type: ignore[attr-defined]
    for lock in (files._lock, files._store._lock):
        with lock:
            assert _succeeds_in_child(lambda: np.array_equal(samples.gather([3, 80])["image"], expected))
    assert np.array_equal(samples.gather([3, 80])["image"], expected)


@pytest.mark.thorough
def test_children_of_a_reading_process_read(dataset: Dataset) -> None:
    """Whatever moment the fork comes at."""
    samples, steps = dataset.transitions(), dataset.steps
    numbers = np.random.default_rng(0).integers(0, len(samples), 40)
    expected = samples.gather(numbers)["observation"]

    def is_right() -> bool:
        return np.array_equal(samples.gather(numbers)["observation"], expected) and steps[90]["observation"] == 90

    with _reading(is_right):
        assert all(_succeeds_in_child(is_right) for _ in range(40))


def test_a_child_goes_through_batches_of_its_own(dataset: Dataset) -> None:
    """While its parent is in the middle of a loop."""
    batches = dataset.transitions().batches(8, shuffle="global", threads=2)
    loop = iter(batches)
    first = next(loop)["observation"]

    def is_whole() -> bool:
        return sum(len(batch["observation"]) for batch in dataset.transitions().batches(8, threads=2)) == 85

    assert _succeeds_in_child(is_whole)
    rest = np.concatenate([batch["observation"] for batch in loop])
    assert sorted([*first, *rest]) == sorted(set(range(91)) - {16, 17, 57, 65, 88, 90})
