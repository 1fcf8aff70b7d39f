"""Runs the tasks as a pipeline of Apache Beam."""

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.executor import Run, Task
from rlds_kit.tfds_builders.shards.finished_shard import read_info
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec

REFUSED: Final = {
    "DaskRunner": "it computes only the last output of a pipeline and drops the others without an error",
    "DirectRunner": "it first tries to download and start another runner, Prism, and runs in one process if it cannot",
}
"""Runners by name, and why not."""


@contextlib.contextmanager
def on_beam(workers: int | None = None, *, runner: Any = None, options: Any = None) -> Iterator[Run]:
    """An executor that runs one pipeline for every task: `Create | Reshuffle | Map`. Episodes never travel through it.

    Without a runner this is Beam's own `FnApiRunner` with processes of this machine. Workers of any runner must have
    rlds_kit installed and see the directories of source and destination under the same paths.

    Args:
      workers: of the runner that is chosen here; by default as many as the machine has cores.
      runner: an instance of a Beam runner.
      options: `PipelineOptions` for it.

    Raises:
      MissingExtraError: Apache Beam is not installed.
      ValueError: the runner is known to lose outputs or to be another one than it says, or `workers` was given with it.
    """
    with needs("beam"):
        import apache_beam  # noqa: F401  is it there?
    if runner is None:
        runner, options = _local(workers or os.cpu_count() or 1)
    elif workers is not None:
        raise ValueError("workers: expected none beside a runner; its own options say how many it has")
    name = runner if isinstance(runner, str) else type(runner).__name__
    if name in REFUSED:
        raise ValueError(f"runner: {name} is refused: {REFUSED[name]}; name another, or none for FnApiRunner")
    yield functools.partial(_run, runner, options)


def _local(workers: int) -> tuple[Any, Any]:
    """Beam's runner in Python, by its own name, with processes for workers."""
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

    mode = "multi_processing" if workers > 1 else "in_memory"
    return FnApiRunner(), PipelineOptions(direct_running_mode=mode, direct_num_workers=workers)


def _run(runner: Any, options: Any, task: Task, specs: Sequence[ShardSpec]) -> Iterator[ShardInfo]:
    import apache_beam

    library: Any = apache_beam  # its functions are not annotated
    pipeline = library.Pipeline(runner=runner, options=options)
    # Reshuffle keeps the runner from fusing the steps, or one worker would do all of it.
    pipeline | library.Create(list(specs)) | library.Reshuffle() | library.Map(task)
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:  # of whatever class: a runner gives the text of what a worker raised
        raise BuildError(f"the pipeline failed: {error}") from error
    for spec in specs:
        info = read_info(spec)  # a pipeline has no return values, and what a task returns is what it left there
        if info is None:
            raise BuildError(f"{spec.path}: the pipeline ended without this shard; does the worker see the directory?")
        yield info
