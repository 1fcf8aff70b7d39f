"""Memory that was never used is cleared before rows are copied into it, a huge page at a time, without the GIL."""

import contextlib
import ctypes
import math
import mmap
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.array_form import put_lanes, put_row
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.buffer import ArrayBuffer
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.native import native
from rlds_kit.storage.row_log import BEGIN, RowLog, log_row

HUGE = 2 << 20
ROW = 100_800
POPULATE_WRITE = 23

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or native is None, reason="needs the C extension and the memory of Linux"
)


def _new(size: int) -> np.ndarray:
    """`[size]` uint8 of memory that was never used, in small pages, at a multiple of 2 MiB."""
    memory = mmap.mmap(-1, size + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel may have none
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    begin = -whole.ctypes.data % HUGE
    return whole[begin : begin + size]


def _is_there(memory: np.ndarray) -> np.ndarray:
    """`[pages]` bool: which pages of memory were used."""
    pages = np.empty(-(-memory.nbytes // mmap.PAGESIZE), np.uint8)
    done = ctypes.CDLL(None).mincore(
        ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes), ctypes.c_void_p(pages.ctypes.data)
    )
    assert done == 0
    found: np.ndarray = (pages & 1).astype(np.bool_)
    return found


def _can_populate() -> bool:
    memory = _new(HUGE)
    address, size = ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes)
    return bool(ctypes.CDLL(None).madvise(address, size, POPULATE_WRITE) == 0)


@pytest.fixture(params=["row", "lanes", "log"])
def put(request: pytest.FixtureRequest) -> Callable[[np.ndarray, int], None]:
    """A function that copies a row of ones."""
    if not _can_populate():
        pytest.skip("the kernel is older than 5.14")
    row = np.ones(ROW, np.uint8)  # here, because NumPy releases the GIL to fill it
    if request.param == "row":
        return lambda rows, at: _check(put_row(rows, at, row))
    lanes = row.reshape(8, -1)
    if request.param == "log":
        no, discounts = np.zeros(8, np.bool_), np.zeros((1 << 11, 8))

        def log(rows: np.ndarray, at: int) -> None:
            columns = (rows.reshape(-1, *lanes.shape), None, discounts, None)
            arrays = RowLog(np.full(8, at), no, 1, after_end=BEGIN)._arrays
            _check(log_row(arrays, columns, (lanes,), None, no, no) > 0)

        return log
    return lambda rows, at: _check(put_lanes(rows.reshape(-1, *lanes.shape), np.full(8, at), None, lanes))


def _check(done: bool) -> None:
    assert done


def test_a_huge_page_is_cleared_when_its_first_row_is_written(put: Callable[[np.ndarray, int], None]) -> None:
    """The whole of it, and none of the next."""
    memory = _new(3 * HUGE)
    rows = memory[: len(memory) // ROW * ROW].reshape(-1, ROW)
    pages = HUGE // mmap.PAGESIZE
    put(rows, 0)
    assert _is_there(memory).tolist() == [True] * pages + [False] * 2 * pages
    across = HUGE // ROW  # begins in the first huge page and ends in the second
    for at in range(1, across):
        put(rows, at)
    assert not _is_there(memory)[pages:].any()
    put(rows, across)
    assert _is_there(memory).tolist() == [True] * 2 * pages + [False] * pages
    assert rows[: across + 1].all()
    assert not rows[across + 1 :].any()


def test_the_end_of_an_array_is_the_end_of_what_is_cleared(put: Callable[[np.ndarray, int], None]) -> None:
    """What is behind it in the same huge page belongs to others."""
    memory = _new(2 * HUGE)
    rows = memory[: 25 * ROW].reshape(-1, ROW)
    for at in range(len(rows)):
        put(rows, at)
    assert rows.all()
    assert _is_there(memory).sum() == -(-rows.nbytes // mmap.PAGESIZE)


def test_a_small_array_takes_no_more_memory_than_its_rows(put: Callable[[np.ndarray, int], None]) -> None:
    """Many episodes may be open, each with a few rows."""
    memory = _new(HUGE)
    put(memory[: 10 * ROW].reshape(-1, ROW), 0)
    assert _is_there(memory).sum() == -(-ROW // mmap.PAGESIZE)


def test_the_first_row_of_a_buffer_clears_a_huge_page_too() -> None:
    """Not only rows that follow another one."""
    if not _can_populate():
        pytest.skip("the kernel is older than 5.14")
    memory = _new(2 * HUGE)

    class Pool(ArrayPool):
        """Has this memory only."""

        def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
            return memory[: math.prod(shape)].view(dtype).reshape(shape)

    buffer = ArrayBuffer(ColumnKey("frame", pb.ARRAY, np.dtype(np.uint8), 1), 40, Pool())
    buffer.append(0, np.ones(ROW, np.uint8))
    assert _is_there(memory).tolist() == [True] * (HUGE // mmap.PAGESIZE) + [False] * (HUGE // mmap.PAGESIZE)


def test_other_threads_run_meanwhile(put: Callable[[np.ndarray, int], None]) -> None:
    """A thread that writes blocks must not wait until the system has cleared memory."""
    memory = _new(64 * HUGE)
    rows = memory[: len(memory) // ROW * ROW].reshape(-1, ROW)
    ran, stop, interval = 0, False, sys.getswitchinterval()

    def count() -> None:
        nonlocal ran
        while not stop:
            ran += 1
            wait.wait(1e-5)  # releases the GIL

    wait, thread = threading.Event(), threading.Thread(target=count)
    thread.start()
    sys.setswitchinterval(1000)  # this thread does not release the GIL unless a function does
    time.sleep(0.01)  # the other thread may still be within a wait of the former interval
    try:
        before = ran
        for at in range(len(rows)):
            put(rows, at)
        after = ran
    finally:
        sys.setswitchinterval(interval)
        stop = True
        thread.join()
    assert after > before


def test_a_frame_that_is_resized_meanwhile_is_not_read() -> None:
    """Its memory may belong to others by then."""
    if not _can_populate():
        pytest.skip("the kernel is older than 5.14")
    memory, frame, interval = _new(64 * HUGE), np.ones(ROW, np.uint8), sys.getswitchinterval()
    rows, waiting, done = memory[: len(memory) // ROW * ROW].reshape(-1, ROW), threading.Event(), list[bool]()

    def resize() -> None:
        waiting.set()
        time.sleep(0.005)
        frame.resize(0, refcheck=False)

    thread = threading.Thread(target=resize)
    sys.setswitchinterval(1000)  # the other thread runs only where a function releases the GIL
    try:
        thread.start()
        waiting.wait()
        while len(done) < len(rows) and frame.size:
            done.append(put_row(rows, len(done), frame))
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert done[-1] is False
    assert all(done[:-1])
    assert not rows[len(done) - 1].any()


def test_a_log_that_is_closed_meanwhile_takes_no_row() -> None:
    """The thread that writes blocks may have closed it: the row would be lost."""
    if not _can_populate():
        pytest.skip("the kernel is older than 5.14")
    memory, interval = _new(64 * HUGE), sys.getswitchinterval()
    rows = memory.reshape(64, 1, HUGE)
    value, no, discounts = np.ones((1, HUGE), np.uint8), np.zeros(1, np.bool_), np.zeros((64, 1))
    logs = [RowLog(np.full(1, at), no, 1, after_end=BEGIN) for at in range(64)]
    when_closed, waiting, added = list[int](), threading.Event(), list[bool]()

    def close() -> None:
        waiting.set()
        time.sleep(0.005)
        when_closed.extend(each.rows for each in logs)
        for each in logs:
            each.close()

    thread = threading.Thread(target=close)
    sys.setswitchinterval(1000)  # the other thread runs only where a function releases the GIL
    try:
        thread.start()
        waiting.wait()
        while len(added) < len(rows) and not when_closed:
            arrays = logs[len(added)]._arrays
            added.append(log_row(arrays, (rows, None, discounts, None), (value,), None, no, no) > 0)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert added[-1] is False
    assert all(added[:-1])
    assert [each.rows for each in logs] == when_closed
    assert rows[:, 0, 0].tolist() == when_closed
