"""Adds annotations to a layer."""

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import RecordingError
from rlds_kit.closing import Closing
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.draft import Draft, require_confidence, require_text
from rlds_kit.layers.folder import new_file, require_name
from rlds_kit.layers.layer_file import LayerFileWriter
from rlds_kit.layers.message import record_of
from rlds_kit.layers.subjects import Subjects
from rlds_kit.storage.manifest import ManifestWriter

BATCH: Final = 4096
"""Maximum annotations in a record: the buffer is flushed when it has this many."""


class LayerWriter(Closing):
    """Adds annotations to a layer; made by `Dataset.annotator`. Any number of writers may do so at once.

    Each has its own file, created at the first write. An annotation is durable when the next `flush` has returned: from
    then on it survives crashes of the process and the machine. Thread-safe; after a fork, each process needs its own.

    Args:
      dataset: the directory of the dataset.
      name: of the layer.
      source: of annotations without their own source.
      confidence: of annotations without their own confidence.
      subjects: the episodes.
      find: returns an annotation by the name of its layer and its id.

    Raises:
      ValueError: the name is not valid for a layer, the source is empty, or the confidence is not in [0, 1].
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

    def add(self, draft: Draft) -> uuid.UUID:
        """Adds an annotation; returns its id. It is durable when `flush` has returned.

        Raises:
          KeyError: there is no such episode, or for a retraction no such annotation.
          IndexError: the episode has no such step.
          FormatError: the episode differs from that of the draft.
          UnsupportedTypeError: the value cannot be recorded.
        """
        with self._own():
            made = self._made(draft)
            self._waiting[made.id] = made
            if len(self._waiting) >= BATCH:
                self._flush()
        return made.id

    def add_all(self, drafts: Iterable[Draft]) -> tuple[uuid.UUID, ...]:
        """Adds several annotations, all or none, and returns their ids when they are durable. Errors as in `add`."""
        with self._own():
            made = [self._made(draft) for draft in drafts]
            self._waiting |= {each.id: each for each in made}
            self._flush()
        return tuple(each.id for each in made)

    def flush(self) -> None:
        """Returns when all added annotations are durable.

        Raises:
          OSError: the disk is full, or gone. Annotations stay in the buffer, and the next `flush` retries with a new
            file.
        """
        with self._own():
            self._flush()

    def close(self) -> None:
        """Flushes, and closes the file. Another `add` would create a new one.

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
        """The lock, after a check for a fork: in a forked process it might never be released."""
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
        """The time, strictly increasing, so that annotations stay in order even if the clock is set back."""
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
            # It is unknown whether the record is durable. If it is written twice, the ids are the same.
            if self._file is not None:
                self._file.close()
                self._file = None
            raise
        self._waiting.clear()
