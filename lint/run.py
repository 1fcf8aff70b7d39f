"""Runs checks over datasets in one pass, decoding only the leaves that some check requests."""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rlds_kit import spec as specs
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.convert import formats
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.dataset.location import open_location
from rlds_kit.lint.catalogue import UNREADABLE, chosen
from rlds_kit.lint.foreign_subject import ForeignSubject
from rlds_kit.lint.own_subject import OwnSubject
from rlds_kit.lint.report import Findings, Report
from rlds_kit.lint.rule import Check, Hit, Rule, Stretch
from rlds_kit.lint.subject import Leaf, Subject, SubjectEpisode
from rlds_kit.riegeli import RiegeliError
from rlds_kit.storage.directory import is_dataset

STRETCH_BYTES: Final = 16 << 20
"""Decoded bytes of the rows that are shown at once, all fields counted."""
MOST_ROWS: Final = 1 << 16
FIRST_ROWS: Final = 16
"""Number of rows that checks get first, until it is known how large rows are."""
GROWTH: Final = 8
_UNREADABLE: Final = (FormatError, DamagedError, RiegeliError, OSError)

Location = str | os.PathLike[str] | Dataset


def lint(
    *datasets: Location,
    against: Sequence[Location] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Finds faults in datasets of any format that can be opened or converted.

    Every dataset is read once, and only the fields that a selected rule still needs. For datasets of rlds_kit, memory
    does not grow with the length of an episode. Up to five episodes of a dataset are replayed, if their environment can
    be made; `--ignore RK1,RK207` prevents this.

    Args:
      *datasets: open ones, paths, or locations for `rlds_kit.open`.
      against: datasets that must share no episode with these, for instance those to test on. They are not checked for
        other faults.
      select: ids of rules, or beginnings of ids; none are all.
      ignore: ids of rules to leave out, likewise.
      progress: gets the bytes done, estimated as equal for all steps.

    Raises:
      ValueError: there is no such rule.
      NotADatasetError: a path holds no dataset of a known format.
      FormatError: a dataset cannot be opened.

    >>> lint("data/pong", ignore=["RK1"]).errors  # doctest: +SKIP
    ()
    """
    rules = chosen(select, ignore)
    subjects = [opened(each) for each in datasets]
    others = [opened(each) for each in against]
    work = _Work(rules, Meter(progress, sum(each.size for each in (*subjects, *others))))
    for subject in others:
        work.check(subject, [each for each in rules if each.across])
    work.is_counted = True
    for subject in subjects:
        work.check(subject, rules)
    return Report(tuple(each.name for each in subjects), work.episodes, work.steps, work.findings.all())


class _Work:
    """One call of `lint`."""

    def __init__(self, rules: Sequence[Rule], meter: Meter) -> None:
        self._meter = meter
        self._across = {rule.id: rule.start() for rule in rules if rule.across}
        self.findings = Findings()
        self.is_counted = False
        self.episodes = self.steps = 0

    def check(self, subject: Subject, rules: Sequence[Rule]) -> None:
        """Passes a dataset to the checks of rules."""
        checks = [(rule, self._across.get(rule.id) or rule.start()) for rule in rules]
        window = _Window(subject.spec)
        for rule, check in checks:
            self._add(subject, rule, check.begin(subject))
        number = -1
        try:
            for number, episode in enumerate(subject):
                self._meter.at(int(subject.size * min(1.0, number / max(1, subject.expected))))
                self._check_episode(subject, episode, checks, window)
        except _UNREADABLE as error:  # of a foreign format; later episodes cannot be read
            self._add(subject, UNREADABLE, [Hit(str(error), number + 1)])
        for rule, check in checks:
            self._add(subject, rule, check.finish(subject))
        self._meter.next_file(subject.size)

    def _check_episode(
        self, subject: Subject, episode: SubjectEpisode, checks: Sequence[tuple[Rule, Check]], window: "_Window"
    ) -> None:
        if self.is_counted:
            self.episodes, self.steps = self.episodes + 1, self.steps + episode.length
        try:
            for stretch in _stretches(episode, [check for _, check in checks], window):
                for rule, check in checks:
                    self._add(subject, rule, check.check_rows(stretch))
            for rule, check in checks:
                self._add(subject, rule, check.episode(episode))
        except _UNREADABLE as error:
            self._add(subject, UNREADABLE, [Hit(str(error), episode.number)])

    def _add(self, subject: Subject, rule: Rule, hits: Iterable[Hit]) -> None:
        for hit in hits:
            if self.is_counted:
                self.findings.add(rule, subject.name, hit)


def _stretches(episode: SubjectEpisode, checks: Sequence[Check], window: "_Window") -> Iterator[Stretch]:
    def wanted(path: str) -> bool:
        return any(check.wants(path) for check in checks)

    begin = 0
    while begin < episode.length:
        end = min(begin + window.rows, episode.length)
        leaves = episode.leaves(wanted, begin, end)
        window.saw(leaves.values(), end - begin)
        begin = end
        yield Stretch(episode, leaves)


class _Window:
    """The number of rows that are read at once: few at first, because specs do not give all sizes."""

    def __init__(self, spec: specs.Spec) -> None:
        self._most = max(1, min(MOST_ROWS, STRETCH_BYTES // max(1, _bytes(spec))))
        self.rows = min(self._most, FIRST_ROWS)

    def saw(self, leaves: Iterable[Leaf], rows: int) -> None:
        """Updates the size of rows with that of these rows."""
        size = sum(_size(leaf) for leaf in leaves) // rows
        self.rows = max(1, min(self._most, GROWTH * self.rows, STRETCH_BYTES // max(1, size)))


def _size(leaf: Leaf) -> int:
    """Bytes of the values of a leaf."""
    if leaf.kind != "O":
        return leaf.values.nbytes
    return sum(len(each) if isinstance(each, str | bytes) else getattr(each, "nbytes", 8) for each in leaf.values)


def _bytes(spec: specs.Spec | None) -> int:
    """About how many bytes a value takes; what is not known counts as 8."""
    match spec:
        case specs.Array():
            return spec.dtype.itemsize * math.prod(length or 1 for length in spec.shape)
        case specs.Dict():
            return sum(map(_bytes, spec.fields.values()))
        case specs.Tuple() | specs.List():
            return sum(map(_bytes, spec.items))
        case specs.Optional():
            return _bytes(spec.spec)
    return 8


def opened(dataset: str | os.PathLike[str] | Dataset) -> Subject:
    """Opens a dataset.

    Args:
      dataset: an open one, a path, or a location for `rlds_kit.open`.

    Raises:
      NotADatasetError: there is none, or none of a known format.
      FormatError: it is invalid.
    """
    if isinstance(dataset, Dataset):
        return OwnSubject(dataset)
    path = Path(dataset)
    if is_dataset(path):
        return OwnSubject(open_dataset(path))
    if path.exists():
        for each in formats.FORMATS.values():
            if each.recognises(path):
                return ForeignSubject(path, each.open(path))
    elif not _is_location(dataset):
        formats.recognised(path)  # the error describes the expected format
    return OwnSubject(open_location(dataset))


def _is_location(text: str | os.PathLike[str]) -> bool:
    return ":" in os.fspath(text)
