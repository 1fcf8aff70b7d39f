"""Runs the tasks in processes of this machine."""

import contextlib
import functools
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.executor import Run, Task
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec


@contextlib.contextmanager
def on_processes(workers: int | None = None) -> Iterator[Run]:
    """An executor of so many processes; by default as many as the machine has cores.

    They are spawned: TensorFlow does not survive a fork. So a script that calls this needs the usual
    `if __name__ == "__main__":`.
    """
    # Neither of these is started before there is work for it.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield functools.partial(_run, pool)
    finally:
        pool.shutdown(cancel_futures=True)


def _run(pool: ProcessPoolExecutor, task: Task, specs: Sequence[ShardSpec]) -> Iterator[ShardInfo]:
    futures = [pool.submit(task, spec) for spec in specs]
    try:
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise BuildError(
            "a worker process died: it was killed, or the machine has no memory left for so many workers; run the same "
            "build again, and shards that are whole are kept"
        ) from error
    finally:
        for future in futures:
            future.cancel()
