"""The report of `lint`."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from rlds_kit.lint.rule import Hit, Rule, Severity

PLACES: Final = 10
"""First places that a finding lists."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a finding: episode, step and field.

    Attributes:
      episode: its number in the dataset.
      step: its row; None if it is about the whole episode.

    >>> print(Place(3, 17), Place(4))
    3:17 4
    """

    episode: int
    step: int | None = None

    def __str__(self) -> str:
        return f"{self.episode}" if self.step is None else f"{self.episode}:{self.step}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: all that a rule found in one field of one dataset.

    Attributes:
      rule: its id.
      name: its name.
      severity: how bad it is.
      dataset: path of the dataset.
      field: path of the leaf; empty when none in particular.
      message: the problem at the first place.
      episodes: number of affected episodes; 0 if it is about the dataset.
      count: number of values, steps or episodes.
      places: the first ones.
    """

    rule: str
    name: str
    severity: Severity
    dataset: str
    field: str
    message: str
    episodes: int
    count: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `lint`.

    Attributes:
      datasets: that were checked.
      episodes: of all of them.
      steps: of these.
      findings: by rule, then dataset and field.
    """

    datasets: tuple[str, ...]
    episodes: int
    steps: int
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity ERROR."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity WARNING, which are usually faults, but may be intended."""
        return tuple(each for each in self.findings if each.severity is Severity.WARNING)

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that found something, sorted."""
        return tuple(sorted({each.rule for each in self.findings}))

    @property
    def statistics(self) -> dict[str, int]:
        """Counts how many values, steps or episodes each rule found, by its id."""
        counts = Counter[str]()
        for each in self.findings:
            counts[each.rule] += each.count
        return dict(sorted(counts.items()))


class Findings:
    """Gathers hits into findings, in memory that does not grow with their number."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, Severity], _Gathered] = {}

    def add(self, rule: Rule, dataset: str, hit: Hit) -> None:
        """Adds a hit."""
        severity = hit.severity or rule.severity
        key = (rule.id, dataset, hit.field, severity)
        if key not in self._found:
            self._found[key] = _Gathered(rule, hit.message)
        self._found[key].add(hit)

    def all(self) -> tuple[Finding, ...]:
        """The findings: by rule, then in the order in which they came."""
        return tuple(
            Finding(
                rule=rule_id,
                name=each.rule.name,
                severity=severity,
                dataset=dataset,
                field=field,
                message=each.message,
                episodes=each.episodes,
                count=each.count,
                places=tuple(each.places),
            )
            for (rule_id, dataset, field, severity), each in sorted(self._found.items(), key=lambda item: item[0][0])
        )


class _Gathered:
    """The hits of one finding."""

    def __init__(self, rule: Rule, message: str) -> None:
        self.rule, self.message = rule, message
        self.places: list[Place] = []
        self.episodes = self.count = 0
        self._last: int | None = None

    def add(self, hit: Hit) -> None:
        self.count += hit.count
        if hit.episode is None:
            return
        if hit.episode != self._last:
            self.episodes, self._last = self.episodes + 1, hit.episode
        if len(self.places) < PLACES:
            self.places.append(Place(hit.episode, hit.step))
