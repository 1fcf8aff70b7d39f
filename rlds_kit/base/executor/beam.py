"""Runs the tasks as a pipeline of Apache Beam."""

import contextlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.executor.run import AGAIN, Notify, Outcome, P, R, Run, WorkerDiedError, attempt
from rlds_kit.base.extras import needs
from rlds_kit.base.whole_file import TEMPORARY, whole_file

REFUSED: Final = {
    "DaskRunner": "it computes only the last output of a pipeline and drops the others without an error",
    "DirectRunner": "it first tries to download and start another runner, Prism, and runs in one process if it cannot",
}
"""Runners that lose outputs or replace themselves, by name, with the reason."""


@contextlib.contextmanager
def on_beam(workers: int | None = None, *, runner: Any = None, options: Any = None) -> Iterator[Run]:
    """An executor that runs `Create | Reshuffle | Map` over the parts. Only parts and reports leave the workers.

    Without a runner this is Beam's own `FnApiRunner` with processes of this machine. Workers of any runner must have
    rlds_kit installed and see the directories of source and destination under the same paths.

    Args:
      workers: of the runner that is chosen here; by default as many as the machine has cores.
      runner: an instance of a Beam runner.
      options: `PipelineOptions` for it.

    Raises:
      MissingExtraError: Apache Beam is not installed.
      ValueError: the runner is in `REFUSED`, or `workers` was given with a runner.
    """
    with needs("beam"):
        import apache_beam  # noqa: F401  a missing package is an error now, not in `_run`
    if runner is None:
        runner, options = _local(workers or os.cpu_count() or 1)
    elif workers is not None:
        raise ValueError("workers: expected none beside a runner; its own options say how many it has")
    name = runner if isinstance(runner, str) else type(runner).__name__
    if name in REFUSED:
        raise ValueError(f"runner: {name} is refused: {REFUSED[name]}; name another, or none for FnApiRunner")
    yield partial(_run, runner, options)


def _local(workers: int) -> tuple[Any, Any]:
    """Beam's runner in Python, by its own name, with processes for workers."""
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

    mode = "multi_processing" if workers > 1 else "in_memory"
    return FnApiRunner(), PipelineOptions(direct_running_mode=mode, direct_num_workers=workers)


def _run(
    runner: Any,
    options: Any,
    task: Callable[[P], R],
    parts: Sequence[P],
    *,
    shared: Path | None = None,
    notify: Notify | None = None,  # noqa: ARG001  nothing comes back from a pipeline while it runs
) -> Iterator[R]:
    import apache_beam

    library: Any = apache_beam  # its functions are not annotated
    with tempfile.TemporaryDirectory(prefix=".reports-", suffix=TEMPORARY, dir=shared) as directory:
        pipeline = library.Pipeline(runner=runner, options=options)
        # Reshuffle prevents the fusion of both steps, after which one worker would do everything.
        numbered = pipeline | library.Create(list(enumerate(parts))) | library.Reshuffle()
        numbered | library.Map(partial(_leave_outcome, task, Path(directory)))
        try:
            pipeline.run().wait_until_finish()
        except Exception as error:  # of any class: runners raise the text of a worker's error
            raise WorkerDiedError(f"the pipeline failed: {error}; {AGAIN}") from error
        for number, part in enumerate(parts):
            yield _outcome(Path(directory, str(number)), part).get()


def _leave_outcome(task: Callable[[P], R], directory: Path, numbered: tuple[int, P]) -> None:
    """Runs a task and writes its outcome to a file, because a pipeline returns no values."""
    number, part = numbered
    with whole_file(directory / str(number)) as temporary:
        temporary.write_bytes(pickle.dumps(attempt(task, part)))


def _outcome(path: Path, part: object) -> Outcome[Any]:
    try:
        found: Outcome[Any] = pickle.loads(path.read_bytes())  # noqa: S301  a worker wrote it during this call
    except FileNotFoundError as error:
        raise WorkerDiedError(
            f"the pipeline ended without {part}; do its workers see {path.parent}? {AGAIN}"
        ) from error
    return found
