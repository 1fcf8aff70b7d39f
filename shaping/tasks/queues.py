"""Queues of queries about a recorded dataset, and the answers of people."""

import json
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import rlds_kit
from rlds_kit.base.strict_json import require_text
from rlds_kit.base.whole_file import whole_file
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.layers.draft import Draft
from rlds_kit.shaping.preferences.answers import Rating
from rlds_kit.shaping.preferences.query import Query, Response, latest
from rlds_kit.shaping.preferences.segment import Segment
from rlds_kit.shaping.preferences.stored import responses

LAYER: Final = "preferences"
"""Layer of the answers."""
QUEUES: Final = "queues"
SOURCE: Final = "rlds_kit.shaping.tasks.judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Queries in the order in which people receive them.

    Attributes:
      id: of the queue.
      name: for people.
      dataset: absolute path of the recorded data.
      queries: at least one, all of one kind and with one question.
      low: of ratings, the worst value.
      high: the best one.
    """

    name: str
    dataset: Path
    queries: tuple[Query, ...]
    id: str
    low: float = 1.0
    high: float = 5.0

    @property
    def kind(self) -> str:
        """The kind of the answers."""
        return self.queries[0].kind


def write_queue(studio: Path | str, dataset: Path | str, queries: Sequence[Query], name: str, **scale: float) -> Queue:
    """Writes a queue for a studio; a running studio shows it immediately.

    Args:
      studio: its directory.
      dataset: of the queries; the studio must be started with it: `--task judge=DATASET`.
      queries: from `preferences.queries`, with any strategy.
      name: for people.
      **scale: `low` and `high` of ratings.

    Raises:
      ValueError: there is no query, they differ in kind or question, `low` is not below `high`, or the name or the
        question cannot be displayed.
    """
    if len({(each.kind, each.question) for each in queries}) != 1:
        raise ValueError(f"queue {name!r}: expected queries of one kind with one question, got {len(queries)} queries")
    queue = Queue(name=name, dataset=Path(dataset).resolve(), queries=tuple(queries), id=uuid.uuid4().hex, **scale)
    Rating(None, queue.low, queue.high)  # checks the scale
    for text in (queue.name, queue.queries[0].question):
        require_text(text)
    folder = Path(studio) / "tasks" / "judge" / QUEUES
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / f"{queue.id}.json") as temporary:
        temporary.write_text(json.dumps(_plain(queue)), "utf-8")
    return queue


def read_queues(directory: Path) -> list[Queue]:
    """The queues of a task's directory, by name."""
    files = (directory / QUEUES).glob("*.json")
    return sorted((_queue(each) for each in files), key=lambda queue: (queue.name, queue.id))


def _plain(queue: Queue) -> dict[str, Any]:
    first = queue.queries[0]
    segments = [
        [
            [each.episode.hex, *((None, None) if each.steps is None else (each.steps.start, each.steps.stop))]
            for each in query.segments
        ]
        for query in queue.queries
    ]
    about = {"name": queue.name, "dataset": str(queue.dataset), "low": queue.low, "high": queue.high}
    request = {"kind": first.kind, "question": first.question, "strategy": first.strategy}
    return {**about, **request, "parameters": dict(first.parameters), "segments": segments}


def _queue(path: Path) -> Queue:
    plain = json.loads(path.read_text("utf-8"))
    shared = {name: plain[name] for name in ("kind", "question", "strategy", "parameters")}
    queries = tuple(Query(segments=tuple(map(_segment, each)), **shared) for each in plain["segments"])
    scale = {"low": plain["low"], "high": plain["high"]}
    return Queue(id=path.stem, name=plain["name"], dataset=Path(plain["dataset"]), queries=queries, **scale)


def _segment(plain: list[Any]) -> Segment:
    episode, start, stop = plain
    return Segment(uuid.UUID(episode), None if start is None else range(start, stop))


class Answers:
    """The answers about a dataset: those in its layer, and new ones. Thread-safe.

    Args:
      dataset: to judge.
    """

    def __init__(self, dataset: Path) -> None:
        self.dataset: Dataset = rlds_kit.open(dataset)
        self._lengths = {each.id: each.length for each in self.dataset.episodes}
        self._lock, self._writing = threading.Lock(), threading.Lock()
        there = LAYER in self.dataset.layers
        self._given = list(responses(self.dataset.layer(LAYER)).whole) if there else []
        self._writer = self.dataset.annotator(LAYER, source=SOURCE)

    def give(self, response: Response, annotations: Sequence[Draft]) -> None:
        """Stores an answer; it is durable when this returns.

        Args:
          response: the answer.
          annotations: from `preferences.drafts`, which store it.
        """
        with self._writing:
            self._writer.add_all(annotations)
            with self._lock:
                self._given.append(response)

    def about(self, queue: Queue) -> list[Response]:
        """The latest answer of each annotator to each query of a queue."""
        wanted = {each.id for each in queue.queries}
        with self._lock:  # this lock is free while an answer is written
            given = list(self._given)
        return [each for each in latest(given) if each.query.id in wanted]

    def steps(self, segment: Segment) -> range:
        """The numbers of the steps of a segment in its episode."""
        return range(self._lengths[segment.episode]) if segment.steps is None else segment.steps

    def close(self) -> None:
        """Closes the file of the answers."""
        self._writer.close()
