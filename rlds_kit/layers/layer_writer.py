"""Adds annotations to a layer."""

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rlds_kit.base.errors import RecordingError
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.draft import Draft, require_confidence, require_text
from rlds_kit.layers.folder import new_file, require_name
from rlds_kit.layers.layer_file import LayerFileWriter
from rlds_kit.layers.message import record_of
from rlds_kit.layers.subjects import Subjects
from rlds_kit.storage.manifest import ManifestWriter

BATCH: Final = 4096
"""Annotations in a record at most: what waits is made durable when there are so many."""


class LayerWriter:
    """Adds annotations to a layer; made by `Dataset.annotator`. Any number of writers may do so at once.

    Each has a file of its own, made when something is written. An annotation is durable when the next `flush` has
    returned: from then on it is there whatever happens to the process or the machine. Safe to use from several threads;
    after a fork, each process needs its own.

    Args:
      dataset: the directory of the dataset.
      name: of the layer.
      source: who says what has no source of its own.
      confidence: of what has none of its own.
      subjects: the episodes.
      find: an annotation by the name of its layer and its id.

    Raises:
      ValueError: the name is none of a layer, the source is empty, or the confidence is not in [0, 1].
    """

    def __init__(
        self,
        dataset: Path,
        name: str,
        source: str,
        confidence: float,
        subjects: Subjects,
        find: Callable[[str, uuid.UUID], Annotation | None],
    ) -> None:
        require_confidence(confidence)
        self._dataset, self._name = dataset, require_name(name)
        self._source, self._confidence = require_text("source", source), float(confidence)
        self._subjects, self._find = subjects, find
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._file: LayerFileWriter | None = None
        self._manifest = ManifestWriter(dataset)
        self._waiting: dict[uuid.UUID, Annotation] = {}
        self._latest = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()

    def add(self, draft: Draft) -> uuid.UUID:
        """Takes an annotation; returns its id. It is durable when `flush` has returned.

        Raises:
          KeyError: there is no such episode; of a retraction, no such annotation.
          IndexError: the episode has no such step.
          FormatError: the episode is not the one that the draft is about: the data differ.
          UnsupportedTypeError: the value cannot be recorded.
        """
        with self._own():
            made = self._made(draft)
            self._waiting[made.id] = made
            if len(self._waiting) >= BATCH:
                self._flush()
        return made.id

    def add_all(self, drafts: Iterable[Draft]) -> tuple[uuid.UUID, ...]:
        """Takes several annotations, all or none, and returns their ids when they are durable. Errors are `add`'s."""
        with self._own():
            made = [self._made(draft) for draft in drafts]
            self._waiting |= {each.id: each for each in made}
            self._flush()
        return tuple(each.id for each in made)

    def flush(self) -> None:
        """Returns when everything that was added is durable.

        Raises:
          OSError: the disk is full, or gone. What was added waits, and the next `flush` tries again in a new file.
        """
        with self._own():
            self._flush()

    def close(self) -> None:
        """Flushes, and closes the file. Another `add` would begin a new one.

        Raises:
          OSError: as for `flush`.
        """
        with self._own():
            self._flush()
            file, self._file = self._file, None
            if file is not None:
                file.close()
                self._manifest.add(file.closed(self._dataset))

    def _own(self) -> threading.Lock:
        """The lock; looked for before it is taken, since in a forked process it may stay taken for ever."""
        if os.getpid() != self._process:
            raise RecordingError(
                f"layer {self._name}: this writer is the parent process's; call `annotator` again in this one"
            )
        return self._lock

    def _made(self, draft: Draft) -> Annotation:
        return self._taken_back(draft) if draft.kind is Kind.RETRACTION else self._annotation(draft)

    def _annotation(self, draft: Draft) -> Annotation:
        episode, steps, digest = self._subjects.checked(draft)
        return Annotation(
            id=uuid.uuid4(),
            kind=draft.kind,
            episode=episode,
            steps=steps,
            value=draft.value,
            source=self._source if draft.source is None else require_text("source", draft.source),
            confidence=self._confidence if draft.confidence is None else draft.confidence,
            time_ns=self._now(),
            field=draft.field,
            is_stacked=draft.is_stacked,
            user_data=draft.user_data,
            digest=digest,
        )

    def _taken_back(self, draft: Draft) -> Annotation:
        assert draft.retracts is not None  # noqa: S101  that is what it is
        found = self._waiting.get(draft.retracts) or self._find(self._name, draft.retracts)
        if found is None or found.kind is Kind.RETRACTION:
            raise KeyError(
                f"layer {self._name} of {self._dataset}: there is no annotation {draft.retracts} to retract; "
                "`rlds-kit annotate` lists them"
            )
        return Annotation(
            id=uuid.uuid4(),
            kind=Kind.RETRACTION,
            episode=found.episode,
            steps=None,
            value=None,
            source=self._source,
            confidence=self._confidence,
            time_ns=self._now(),
            digest=found.digest,
            retracts=found.id,
        )

    def _now(self) -> int:
        """The time, later with every annotation, so that their order is kept also where a clock is set back."""
        self._latest = max(time.time_ns(), self._latest + 1)
        return self._latest

    def _flush(self) -> None:
        if not self._waiting:
            return
        record = record_of(self._waiting.values())
        try:
            if self._file is None:
                self._file = LayerFileWriter(new_file(self._dataset, self._name))
            self._file.append(record)
            self._file.sync()
        except OSError:
            # Whether it is durable is not known. Should it be there twice, it has the same ids.
            if self._file is not None:
                self._file.close()
                self._file = None
            raise
        self._waiting.clear()
