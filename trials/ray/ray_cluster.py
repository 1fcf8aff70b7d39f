"""Workers on the machines of a cluster."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from rlds_kit.base.extras import needs
from rlds_kit.trials.ray.ray_worker import RayWorker
from rlds_kit.trials.workers.backend import EndIdle, Worker
from rlds_kit.trials.workers.job import Job
from rlds_kit.trials.workers.placement import Placement

START_SECONDS: Final = 50.0
"""For a node to have space for a worker, and for the worker to begin there."""


class RayCluster:
    """Environments and actors of trials as actors of Ray, on one machine or many.

    Every node must have rlds_kit and what environments and actors need, and see the directory of the dataset under the
    same path. A node that is gone takes its trials along; the others go on, and later ones run elsewhere. If this
    process is connected to a cluster already, that one is used and stays connected.

    Args:
      address: "local" starts a cluster on this machine for as long as this is open; else that of one that runs, as
        "auto" or "10.0.0.1:6379".
      cpus: of a cluster that is started here; None: as many as there are cores.
      environment: what an environment takes, if the setup of its trial does not say.
      actor: what an actor takes, if its configuration does not say: nothing by default, for an environment waits while
        its actors act.
      start_seconds: for a node to have space for a worker, and for the worker to begin there.

    Raises:
      MissingExtraError: Ray is not installed.
      ConnectionError: there is no cluster at the address.
    """

    def __init__(
        self,
        address: str = "local",
        *,
        cpus: int | None = None,
        environment: Placement | None = None,
        actor: Placement | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        with needs("trials-ray"):
            import ray
        library: Any = ray
        self._library, self._start_seconds = library, start_seconds
        self._placements = {"environment": environment or Placement(), "actor": actor or Placement(cpus=0)}
        self._is_own = not library.is_initialized()
        if self._is_own:
            local: dict[str, Any] = {"num_cpus": cpus, "include_dashboard": False} if address == "local" else {}
            library.init(address=address, log_to_driver=False, **local)

    @property
    def environments_per_worker(self) -> int:
        """Each has an actor of Ray of its own."""
        return 1

    @property
    def has_places(self) -> bool:
        """Nodes may differ."""
        return True

    def start(
        self,
        job: Job,
        on_lost: Callable[[str], None],
        *,
        answer_seconds: float | None = None,
        placement: Placement | None = None,
        end_idle: EndIdle | None = None,
    ) -> Worker:
        """Starts an actor of Ray; its first request waits until a node has space for it."""
        where = placement or self._placements[job.what]
        return RayWorker(
            self._library,
            job,
            _options(where),
            str(where),
            on_lost,
            answer_seconds=answer_seconds,
            start_seconds=self._start_seconds,
            end_idle=end_idle,
        )

    def resources(self) -> Mapping[str, float]:
        """What all nodes have together."""
        return {"CPU": 0.0, **self._library.cluster_resources()}

    def close(self) -> None:
        """Ends the cluster that was started here, or leaves the other one."""
        if self._is_own and self._library.is_initialized():
            self._library.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _options(placement: Placement) -> dict[str, Any]:
    """Of an actor of Ray, which is never started again: a trial whose environment forgot it cannot go on."""
    return {
        "num_cpus": placement.cpus,
        "num_gpus": placement.gpus,
        "resources": dict(placement.resources),
        "scheduling_strategy": "SPREAD" if placement.is_spread else "DEFAULT",
        "max_restarts": 0,
        "max_task_retries": 0,
    }
