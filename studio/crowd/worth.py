"""What a participant's play is worth, counted from the recordings: what a browser says is never read."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import rlds_kit
from rlds_kit.base.step import OBSERVATION
from rlds_kit.crowd.collectors import FRAME_LAG, Lags, LiveCounts, can_travel, collector
from rlds_kit.crowd.collectors.collector import READS
from rlds_kit.crowd.collectors.live_counts import CONSOLE
from rlds_kit.crowd.collectors.people import PLAY, by_people
from rlds_kit.crowd.incentives import Work, episodes_of, ledger, session_values
from rlds_kit.crowd.incentives.ledger import Entry
from rlds_kit.crowd.incentives.treatment import Reward
from rlds_kit.dataset import Dataset
from rlds_kit.storage.directory import is_dataset


def entries(directory: Path, works: Iterable[Work], fps: float) -> tuple[Entry, ...]:
    """What works are worth whose play is recorded in a directory.

    Args:
      directory: of the recording; it need not be there yet.
      works: what to count.
      fps: steps in a second.
    """
    listed = tuple(works)
    names = {name for each in listed for name in each.treatment.collectors}
    dataset = _read(directory, names)
    if dataset is None:
        return tuple(Entry(each, {}, Reward(0.0, 0, 0, 0), 0) for each in listed)
    return ledger(dataset, listed, fps=fps)


def values(directory: Path, assignment: str, names: Iterable[str], fps: float) -> dict[str, float]:
    """What collectors count in an assignment, of what is on the disk; 0 where nothing is."""
    wanted = tuple(dict.fromkeys(names))
    dataset = _read(directory, wanted)
    if dataset is None:
        return dict.fromkeys(wanted, 0.0)
    played = episodes_of(dataset, {assignment})[assignment]
    return session_values(played, [collector(name) for name in wanted], fps=fps)


def resumed(
    directory: Path, assignments: Mapping[str, str], names: Mapping[str, Iterable[str]], fps: float
) -> LiveCounts:
    """Counts that go on where the recordings of assignments end, of collectors that can count live.

    Args:
      directory: of the recording; it need not be there yet.
      assignments: by seat.
      names: of collectors, by seat.
      fps: steps in a second.
    """
    live = {seat: [each for name in listed if can_travel(each := collector(name))] for seat, listed in names.items()}
    counts = LiveCounts(live, fps)
    dataset = _read(directory, {each.name for listed in live.values() for each in listed})
    played = {} if dataset is None else episodes_of(dataset, set(assignments.values()))
    for seat, assignment in assignments.items():
        for episode, sat in played.get(assignment, ()):
            counts.add(seat, by_people(episode, sat, fps))
    return counts


def by_episode(
    directory: Path, assignments: Collection[str], names: Collection[str], fps: float
) -> dict[str, list[dict[str, float]]]:
    """What collectors count in each episode of assignments, of those who played any."""
    dataset = _read(directory, names)
    if dataset is None:
        return {}
    counted = [collector(name) for name in names]
    return {
        assignment: [session_values([each], counted, fps=fps) for each in played]
        for assignment, played in episodes_of(dataset, assignments).items()
    }


def lags(directory: Path, assignment: str) -> list[int]:
    """The lag of each key press in an assignment, in steps, in order."""
    dataset = _read(directory, (FRAME_LAG.name,))
    found = []
    for episode, seat in [] if dataset is None else episodes_of(dataset, {assignment})[assignment]:
        count = Lags()
        found += [lag for each in by_people(episode, seat, None) if (lag := count(each)) is not None]
    return found


def _read(directory: Path, names: Iterable[str]) -> Dataset | None:
    """A recording with the fields that collectors need: no pictures."""
    if not is_dataset(directory):
        return None
    dataset = rlds_kit.open(directory, include_open=True)
    wanted = {PLAY, *READS}
    for name in names:
        reads = collector(name).reads
        if reads is None:
            return dataset
        wanted |= {*reads}
    known = dataset.spec.fields
    if getattr(known.get(OBSERVATION), "shape", None) == CONSOLE:
        wanted.add(OBSERVATION)
    return dataset.select(*sorted(wanted & known.keys()))
