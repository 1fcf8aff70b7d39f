"""What a service measures, as Prometheus reads it."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.hosts.finished_trial import FinishedTrial

with needs("trials"):
    from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
    from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from prometheus_client.registry import Collector
else:
    Collector = object

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """An observer of a host.

    Args:
      phases: gives the phases of all trials of now.
      waiting: gives how many seats wait for a program.
    """

    def __init__(self, phases: Callable[[], Iterable[Phase]], waiting: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Now(phases, waiting))
        self._ticks = self._histogram("tick", "Time from one step of a trial to the next one.")
        self._answers = self._histogram("actor", "Time from the request of an action to the action.")
        self._finished = Counter(
            "rlds_kit_trials_finished", "Trials that are over.", ["status"], registry=self._registry
        )
        self._dropped = self._counter("dropped_states", "States that watchers were too slow for.")
        self._refused = self._counter("refused_messages", "Requests and messages that were not valid.")

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"rlds_kit_{name}", text, registry=self._registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(f"rlds_kit_{name}_seconds", text, buckets=_SECONDS, registry=self._registry)

    def ticked(self, seconds: float) -> None:
        """A step was done."""
        self._ticks.observe(seconds)

    def answered(self, seconds: float) -> None:
        """An actor gave an action."""
        self._answers.observe(seconds)

    def dropped(self) -> None:
        """A watcher was too slow."""
        self._dropped.inc()

    def refused(self) -> None:
        """A message was not valid."""
        self._refused.inc()

    def finished(self, trial: FinishedTrial) -> None:
        """A trial is over."""
        self._finished.labels("refused" if trial.status is None else trial.status.value).inc()

    def text(self) -> bytes:
        """All of them, in Prometheus's text format."""
        return generate_latest(self._registry)


class _Now(Collector):
    """What is counted when it is read."""

    def __init__(self, phases: Callable[[], Iterable[Phase]], waiting: Callable[[], int]) -> None:
        self._phases, self._waiting = phases, waiting

    def describe(self) -> list[Any]:
        """Nothing: it would be counted now."""
        return []

    def collect(self) -> Iterator[Any]:
        """Trials by phase, and seats."""
        trials = GaugeMetricFamily("rlds_kit_trials", "Trials by phase.", labels=["phase"])
        phases = list(self._phases())
        for phase in Phase:
            trials.add_metric([phase.value], phases.count(phase))
        yield trials
        yield GaugeMetricFamily("rlds_kit_waiting_seats", "Seats that wait for a program.", value=self._waiting())
