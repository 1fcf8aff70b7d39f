"""The view "as amended": layers replace recorded values, and several sources are combined to one value."""

from collections.abc import Collection, Mapping, Sequence
from heapq import merge
from itertools import chain
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.layers.amended_reader import AmendedReader, Overlay
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.combine import RULES, Rule, Values, combined, latest
from rlds_kit.layers.layer import AnnotatedEntry, Layer
from rlds_kit.spec.message import from_message, to_message
from rlds_kit.storage import leaf as leaves
from rlds_kit.storage import restore
from rlds_kit.storage.amendment import SeenFields, union
from rlds_kit.storage.column import Column
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.row_columns import row_columns
from rlds_kit.storage.stacking import spec_at


class Amended:
    """The layers and rules of a view; the amendments of an episode are computed when it is read.

    Args:
      layers: snapshots; their annotations are combined as if they were in one layer.
      rules: by field; the default is `RULES`, or `latest`.
      recorded: the spec of the dataset as recorded.
    """

    def __init__(self, layers: Sequence[Layer], rules: Mapping[str, Rule], recorded: specs.Dict) -> None:
        self.layers, self.rules, self._recorded = tuple(layers), dict(rules), recorded
        self._overlays: dict[bytes, Overlay | None] = {}
        self._spec: specs.Dict | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Amended, (self.layers, self.rules, self._recorded)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the layers."""
        return tuple(layer.name for layer in self.layers)

    def reader(self, recorded: EpisodeReader, entry: EpisodeEntry) -> EpisodeReader:
        """A reader of an episode as amended; reading a field with invalid amendments raises a SpecError.

        Raises:
          DamagedError: a layer is damaged.
          FormatError: the episode has changed since it was annotated.
        """
        overlay = self.overlay(entry)
        return recorded if overlay is None else AmendedReader(recorded, overlay)

    def among(self, ids: np.ndarray) -> np.ndarray:
        """`[episodes]` bool, which of the episodes of these ids may have amendments."""
        amended = frozenset[bytes]().union(*(layer.amended for layer in self.layers))
        return np.array([each in amended for each in ids.tolist()], np.bool_)

    def overlay(self, entry: EpisodeEntry) -> Overlay | None:
        """The amendments of an episode; None if there are none. Errors as in `reader`."""
        # No lock, which a fork may copy while it is locked: if two threads do the same, the result is the same.
        if entry.episode_id not in self._overlays:
            self._overlays[entry.episode_id] = self._made(entry)
        return self._overlays[entry.episode_id]

    def spec(self, recorded: specs.Dict, entries: Sequence[EpisodeEntry]) -> specs.Dict:
        """The spec of the dataset with the fields that only amendments have. Errors as in `reader`.

        Args:
          recorded: the spec without them.
          entries: the episodes of the dataset.
        """
        if self._spec is None:
            paths = {self._path(field) for layer in self.layers for field in layer.fields}
            # A dict that is amended as a whole may have new keys.
            may_be_new = sorted(path for path in paths if isinstance(spec_at(recorded, path), specs.Dict | None))
            seen = SeenFields(to_message(specs.Dict({})))
            columns = (self._columns(entry, may_be_new) for entry in entries if may_be_new)
            found = [
                seen.amendment([each for each in new if spec_at(recorded, each.key.path) is None]) for new in columns
            ]
            self._spec = union([recorded, *(from_message(each) for each in found if each is not None)])
        return self._spec

    def _columns(self, entry: EpisodeEntry, paths: Collection[str]) -> list[Column]:
        overlay = self.overlay(entry)
        return [] if overlay is None else [each for path in paths for each in overlay.columns.get(path, ())]

    def _made(self, entry: EpisodeEntry) -> Overlay | None:
        by_field: dict[str, list[Annotation]] = {}
        by_layer = [layer.annotations(AnnotatedEntry(entry)) for layer in self.layers]
        for each in merge(*by_layer, key=lambda each: each.order) if len(by_layer) > 1 else chain(*by_layer):
            if each.kind is Kind.FIELD:
                by_field.setdefault(self._path(each.field), []).append(each)
        columns, rows, faults = {}, {}, {}
        for path, annotations in by_field.items():
            try:
                steps, made = self._combined(path, annotations, entry)
            except SpecError as error:
                sources = ", ".join(sorted({each.source for each in annotations}))
                faults[path] = f"episode {annotations[0].episode}: {error} (reported by {sources})"
                continue
            if len(steps):
                columns[path], rows[path] = made, steps
        return Overlay(columns, rows, faults) if columns or faults else None

    def _combined(
        self, path: str, annotations: Sequence[Annotation], entry: EpisodeEntry
    ) -> tuple[np.ndarray, list[Column]]:
        """The steps in which a field is amended, and its columns."""
        name = leaves.field_of(path)
        length = max(entry.rows - 1, 0) if name in ACTED_FIELDS else entry.rows
        rule = self.rules.get(annotations[0].field) or RULES.get(name, latest)
        steps, values = combined(rule, annotations, length)
        made = _columns_of(path, steps, values, spec_at(self._recorded, path)) if len(steps) else []
        return steps, [_fitted(each, spec_at(self._recorded, each.key.path)) for each in made]

    def _path(self, field: str) -> str:
        """The path of a field: a name with a slash is a path into a nest, unless a field has this name."""
        return leaves.escape(field) if "/" not in field or field in self._recorded.fields else field


def _columns_of(path: str, steps: np.ndarray, values: Values, spec: specs.Spec | None) -> list[Column]:
    """Converts values of steps to columns like those of the recorder."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        kind = pb.SCALAR if values.ndim == 1 else pb.ARRAY
        return [Column(ColumnKey(path, kind, values.dtype, values.ndim - 1), steps, values)]
    return row_columns(path, dict(zip(steps.tolist(), values, strict=True)), spec)


def _fitted(column: Column, spec: specs.Spec | None) -> Column:
    """Numbers in the dtype and shape of their field: floats are rounded to it, other numbers must be in it.

    Raises:
      SpecError: they are not.
    """
    if not isinstance(spec, specs.Array):
        return column
    dtype, values = spec.dtype, column.values
    is_dense = column.key.kind in restore.NUMERIC and column.shapes is None
    if not is_dense or not _has_shape(values.shape[1:], spec.shape):
        raise SpecError(_misfit(column.key.path, spec, "values of another kind or shape"))
    with np.errstate(all="ignore"):
        cast = values.astype(dtype)
        if dtype.kind in "fc":
            fits = values.dtype.kind != "c" or dtype.kind == "c"
            fits = fits and np.array_equal(np.isfinite(values), np.isfinite(cast))
        else:
            fits = np.array_equal(cast.astype(values.dtype), values) and np.array_equal(cast < 0, values < 0)
    if not fits:
        raise SpecError(_misfit(column.key.path, spec, f"a value of {values.dtype} that is none of its own"))
    kind = pb.ARRAY if column.key.kind == pb.ARRAY or values.ndim > 1 else pb.SCALAR
    return Column(ColumnKey(column.key.path, kind, dtype, values.ndim - 1), column.rows, cast)


def _has_shape(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return len(shape) == len(expected) and all(want in (None, size) for size, want in zip(shape, expected, strict=True))


def _misfit(path: str, spec: specs.Array, what: str) -> str:
    return (
        f"{path}: expected {specs.describe_spec(spec)}, but amendments give {what}. Give `as_amended` a rule whose "
        "values fit, or amend a field of another name"
    )
