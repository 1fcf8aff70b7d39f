"""The current layers of a dataset; records that were read are not read again."""

import uuid
from pathlib import Path

from rlds_kit.layers import message
from rlds_kit.layers.annotation import Annotation
from rlds_kit.layers.folder import layer_files, layer_names
from rlds_kit.layers.layer import Layer, Stored
from rlds_kit.layers.layer_file import FileContents, read_file


class OpenLayers:
    """The layers of a dataset. Thread-safe; each process has its own."""

    def __init__(self, dataset: Path) -> None:
        self._dataset = dataset
        self._indexes: dict[str, _Index] = {}
        self._layers: dict[str, tuple[dict[str, FileContents], dict[str, int], Layer]] = {}

    def __reduce__(self) -> tuple[type["OpenLayers"], tuple[Path]]:
        return OpenLayers, (self._dataset,)

    def names(self) -> tuple[str, ...]:
        """The names of all layers, sorted."""
        return tuple(layer_names(self._dataset))

    def get(self, name: str) -> Layer:
        """Returns a layer in its current state: with all annotations that are durable now.

        Raises:
          KeyError: there is no such layer.
          ValueError: it is not a valid name of a layer.
          FormatError: a file is not one of a layer, or has a newer major version.
        """
        # No lock, which a fork may copy while it is locked: if two threads do the same, the result is the same.
        before, sizes, layer = self._layers.get(name, ({}, {}, None))
        paths = layer_files(self._dataset, name)
        if not paths:
            there = ", ".join(self.names()) or "none"
            raise KeyError(f"{self._dataset}: there is no layer {name!r}; there are: {there}")
        now = {path.name: path.stat().st_size for path in paths}
        if layer is None or now != sizes:
            files = {
                path.name: before[path.name]
                if sizes.get(path.name) == now[path.name]
                else read_file(path, before.get(path.name), now[path.name])
                for path in paths
            }
            layer = Layer(self._dataset, name, files)
            self._layers[name] = (files, now, layer)
        return layer

    def find(self, name: str, annotation: uuid.UUID) -> Annotation | None:
        """An annotation of a layer by its id, also one that was retracted; None if there is none.

        The layer need not exist yet. Only new records are searched.
        """
        index = self._indexes.setdefault(name, _Index())
        if annotation.bytes not in index.by_id and layer_files(self._dataset, name):
            index.add(self.get(name))
        found = index.by_id.get(annotation.bytes)
        return None if found is None else message.annotation_of(*found)


class _Index:
    """The annotations of a layer by id."""

    def __init__(self) -> None:
        self.by_id: dict[bytes, Stored] = {}
        self._seen: dict[str, int] = {}

    def add(self, layer: Layer) -> None:
        """Adds new annotations to the index."""
        for name, batches in layer.batches().items():
            for batch in batches[self._seen.get(name, 0) :]:
                self.by_id.update((each.annotation_id, (each, batch)) for each in layer.known(name, batch))
            self._seen[name] = len(batches)
