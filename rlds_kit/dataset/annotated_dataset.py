"""The methods of `Dataset` that add and read annotations."""

import abc
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from rlds_kit import spec as specs
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.episode.episodes import Episodes
from rlds_kit.layers.amended import Amended
from rlds_kit.layers.combine import Rule
from rlds_kit.layers.draft import Draft
from rlds_kit.layers.layer import Layer
from rlds_kit.layers.layer_writer import LayerWriter
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.layers.subjects import Subjects
from rlds_kit.remote.errors import NotLocalError
from rlds_kit.remote.path import RemotePath
from rlds_kit.storage.contents import ShardContents


class AnnotatedDataset(abc.ABC):
    """The methods of `Dataset` for annotations."""

    path: Path
    _shards: dict[str, ShardContents]
    _open_layers: OpenLayers
    _amended: Amended | None

    @property
    @abc.abstractmethod
    def episodes(self) -> Episodes:
        """The episodes."""

    @property
    @abc.abstractmethod
    def spec(self) -> specs.Dict:
        """The spec of every field."""

    @abc.abstractmethod
    def take(self, indices: Iterable[int]) -> Self:
        """The episodes of these numbers."""

    @abc.abstractmethod
    def _with_amended(self, amended: Amended | None) -> Self:
        """Returns a dataset of the same episodes whose values are amended by layers, or by none."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers, sorted."""
        return self._open_layers.names()

    def layer(self, name: str) -> Layer:
        """A layer, with all annotations that are durable now.

        Raises:
          KeyError: there is no such layer.
          FormatError: a file of it is not one of a layer, or has a newer major version.

        >>> ds.layer("review").tags(ds.episodes[0])  # doctest: +SKIP
        ('crash',)
        """
        return self._open_layers.get(name)

    def annotate(
        self, name: str, values: Iterable[Draft], *, source: str, confidence: float = 1.0
    ) -> tuple[uuid.UUID, ...]:
        """Adds annotations to a layer, which is created if necessary; they are durable when this returns.

        The recorded data are not changed. Others may annotate at the same time. To add annotations one by one, use
        `annotator`.

        Args:
          name: of the layer: letters, digits and . _ -
          values: from the functions of `rlds_kit.layers`: `tag`, `note`, `reward`, ...; all are validated before any is
            written.
          source: the author: a person, a program, a model.
          confidence: of values without their own, in [0, 1].

        Returns:
          The id of each, for retractions.

        Raises:
          ValueError: the name is not valid for a layer, the source is empty, or the confidence is not in [0, 1].
          KeyError: there is no such episode, or no such annotation to retract.
          IndexError: an episode has no such step.
          FormatError: an episode differs from that of the value.
          NotLocalError: the dataset was opened from a URL.
          OSError: they cannot be written.

        >>> from rlds_kit import layers
        >>> ds.annotate("review", [layers.tag(ds.episodes[0], "crash", 17)], source="anna")  # doctest: +SKIP
        """
        with self.annotator(name, source=source, confidence=confidence) as writer:
            return writer.add_all(values)

    def annotator(self, name: str, *, source: str, confidence: float = 1.0) -> LayerWriter:
        """Adds annotations to a layer one by one. Arguments and errors as in `annotate`.

        >>> with ds.annotator("human", source="anna") as writer:  # doctest: +SKIP
        ...     writer.add(layers.reward(episode_id, 1.0, steps=17))
        ...     writer.flush()  # now it is durable
        """
        if isinstance(self.path, RemotePath):
            raise NotLocalError(
                f"{self.path}: annotations are written beside the data, on the machine that has them; copy the dataset "
                "to a directory and annotate that, then `rlds-kit merge` joins the annotations of several copies"
            )
        if not self.path.is_dir():
            raise NotADatasetError(f"{self.path}: expected the directory of a dataset; it is gone")
        return LayerWriter(
            self.path, name, source, confidence, Subjects(self.path, self._shards), self._open_layers.find
        )

    def as_amended(self, *names: str, rules: Mapping[str, Rule] | None = None) -> Self:
        """Returns the dataset with the values of annotations in place of the recorded ones.

        Rewards, and any other amended field, have the values of the layers where there are annotations; all other
        values are as recorded. Fields that only annotations have can be selected with `select`. The view works like any
        other: episodes, steps, windows, transitions, batches, and data for frameworks. It does not change when
        annotations are added; `refresh` returns a view with them. Content digests are those of the recorded data.

        For each source the latest annotation of a step counts; sources with confidence 0 do not vote. Several rewards
        are aggregated to their mean, weighted by confidence; for other fields the latest annotation counts.

        Args:
          *names: of layers, which are combined as if they were one; default: all.
          rules: how to combine several sources, by field: functions of `rlds_kit.layers`, or your own.

        Raises:
          KeyError: there is no such layer, or no such field for a rule.
          DamagedError: a layer is damaged.

        >>> ds.as_amended("human").transitions().batches(32, shuffle="global", seed=0)  # doctest: +SKIP
        """
        return self._with_amended(self._amendments(names, rules or {}))

    def _amendments(self, names: Sequence[str], rules: Mapping[str, Rule]) -> Amended:
        layers = [self.layer(name) for name in names or self.layers]
        for layer in layers:
            layer.require_whole()
        spec = self.as_recorded().spec
        known = {*spec.fields, *(field for layer in layers for field in layer.fields)}
        if unknown := sorted(rules.keys() - known):
            raise KeyError(f"{self.path}: no layer amends a field {unknown[0]!r}, for which there is a rule")
        return Amended(layers, rules, spec)

    @property
    def amended_by(self) -> tuple[str, ...]:
        """The layers of this view; empty for the data as recorded."""
        return () if self._amended is None else self._amended.names

    def as_recorded(self) -> Self:
        """Returns the dataset with all values as they were recorded."""
        return self._with_amended(None)

    def tagged(self, label: str, *names: str) -> Self:
        """The episodes with a label, on any step or as a whole.

        Args:
          label: of the tag.
          *names: of layers to search; default: all.

        Raises:
          KeyError: there is no such layer.
          DamagedError: a layer is damaged.

        >>> ds.tagged("success", "review").as_amended("human")  # doctest: +SKIP
        """
        layers = [self.layer(name) for name in names or self.layers]
        numbers = [
            number
            for number, episode in enumerate(self.episodes)
            if any(label in layer.tags(episode) for layer in layers)
        ]
        return self.take(numbers)
