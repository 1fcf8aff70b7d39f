"""Writes episodes of any origin in TFDS's own formats, one after the other: the `EpisodeWriter` of `rlds.tfds`.

The shard that is being written is a file of TFRecords with the ending `.unfinished`, flushed after every episode. When
it is full or the writer is closed, it is renamed, or converted to an ArrayRecord file; only then it is counted in
`dataset_info.json`. So a killed writer leaves a valid dataset, and a writer with `overwrite=False` continues with its
unfinished shard, and counts a renamed one that was not counted yet. Files are synced and then replaced, never
rewritten, so a crash of the process loses nothing, and a power failure loses at most the unfinished shard.
"""

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.whole_file import give_name, make_directory, whole_file
from rlds_kit.closing import Closing
from rlds_kit.convert.tfds import tf_record
from rlds_kit.tfds_builders.fitting import fitted
from rlds_kit.tfds_builders.tfds_extra import tfds

FORMATS: Final = ("tfrecord", "array_record")
UNFINISHED: Final = ".unfinished"
ABOUT: Final = ".about-"
"""At the beginning of the name of a directory in which a description is written before it gets its place."""
DESCRIPTION: Final = "dataset_info.json"
PARTIAL: Final = ".partial"
"""The suffix of a file of a dead writer whose episodes another file has, too."""


class EpisodeWriter(Closing):
    """Appends episodes to a dataset that `tfds.builder_from_directory` reads. Use it as a context manager, or close it.

    Args:
      data_directory: of the dataset.
      ds_config: the features, a `tfds.rlds.rlds_base.DatasetConfig`; `generate_config_from_spec` makes one.
      max_episodes_per_file: in a shard.
      split_name: of the split that `add_episode` writes to; a list of all splits, if there are several; None: the name
        of the directory.
      version: of the dataset.
      overwrite: whether an existing dataset of the same name is removed; else episodes are added to it.
      file_format: "tfrecord" or "array_record".

    Raises:
      ValueError: there is no such format, or a name is not valid for a split.
      DatasetExistsError: the existing dataset has other features or another format.

    >>> with EpisodeWriter("data/tfds", config) as writer:  # doctest: +SKIP
    ...     writer.add_episode({"steps": steps, "episode_id": "e0"})
    """

    def __init__(
        self,
        data_directory: str | os.PathLike[str],
        ds_config: Any,
        max_episodes_per_file: int = 1000,
        split_name: str | Sequence[str] | None = "train",
        version: str = "0.0.1",
        overwrite: bool = True,
        file_format: str = "tfrecord",
    ) -> None:
        if file_format not in FORMATS:
            raise ValueError(f"file_format: expected one of {', '.join(FORMATS)}, got {file_format!r}")
        if max_episodes_per_file < 1:
            raise ValueError(f"max_episodes_per_file: expected 1 or more, got {max_episodes_per_file}")
        self._directory = Path(os.path.abspath(data_directory))  # noqa: PTH100  symbolic links stay
        named = self._directory.name if split_name is None else split_name
        self._names: list[str] = [named] if isinstance(named, str) else list(named)
        for name in self._names:
            if not re.fullmatch(r"\w+", name) or name == "all":
                raise ValueError(f"split_name: expected letters, digits and underscores, and not 'all', got {name!r}")
        identity = tfds.core.dataset_info.DatasetIdentity(
            name=ds_config.name, version=tfds.core.Version(version), data_dir=str(self._directory), module_name=""
        )
        self._info = tfds.rlds.rlds_base.build_info(ds_config, identity)
        self._info.set_file_format(file_format)
        make_directory(self._directory)
        lengths = self._made_ready(file_format, overwrite=overwrite)
        self._splits = {
            name: _Split(self._template(name, file_format), max_episodes_per_file, *lengths.get(name, ([], 0)))
            for name in {**lengths, **dict.fromkeys(self._names)}
        }
        self._describe()

    def add_episode(self, episode: Mapping[str, Any]) -> None:
        """Appends an episode to the split.

        Args:
          episode: `{"steps": ..., **metadata}`; steps are a `tf.data.Dataset`, an iterable of dicts, or a dict of
            `[T, ...]`. A number of another dtype than its feature's is converted if that does not change it.

        Raises:
          ValueError: the writer has several splits or is closed, or a value does not fit its feature: then the episode
            is not written, and the message names the value.
        """
        if len(self._names) != 1:
            raise ValueError(f"expected the name of one of the splits {self._names}: call `add_episode_to_split`")
        self.add_episode_to_split(episode, self._names[0])

    def add_episode_to_split(self, episode: Mapping[str, Any], split_name: str) -> None:
        """Appends an episode to one of the splits.

        Raises:
          KeyError: the writer has no such split.
          ValueError: as for `add_episode`.
        """
        if split_name not in self._names:
            raise KeyError(f"expected one of the splits {self._names}, got {split_name!r}")
        record = self._info.features.serialize_example(fitted(episode, self._info.features))
        if self._splits[split_name].add(record):
            self._describe()

    def close(self) -> None:
        """Finishes the last shards. No episode can be added afterwards."""
        for split in self._splits.values():
            split.close()
        self._describe()

    def _template(self, split: str, file_format: str) -> Any:  # a ShardedFileTemplate
        return tfds.core.ShardedFileTemplate(
            dataset_name=self._info.name,
            data_dir=self._directory,
            split=split,
            filetype_suffix=file_format,
            template="{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_INDEX}",
        )

    def _made_ready(self, file_format: str, *, overwrite: bool) -> dict[str, tuple[list[int], int]]:
        """Removes the existing dataset, or returns the lengths of its shards, and its bytes, by split."""
        for left in self._directory.glob(f"{ABOUT}*"):
            shutil.rmtree(left)
        description = self._directory / DESCRIPTION
        if overwrite:
            for path in self._own_files():
                path.unlink()
        if not description.exists():
            return {}
        stored = json.loads(description.read_text("utf-8"))
        features = tfds.features.FeaturesDict.from_config(str(self._directory))
        if (stored["name"], stored.get("fileFormat", "tfrecord")) != (self._info.name, file_format):
            raise DatasetExistsError(
                f"{self._directory} holds {stored['name']} as {stored.get('fileFormat')}, expected {self._info.name} "
                f"as {file_format}; write to another directory"
            )
        if repr(features) != repr(self._info.features):
            raise DatasetExistsError(
                f"{self._directory} holds a dataset of other features; write to another directory.\nThere: {features}\n"
                f"Here: {self._info.features}"
            )
        return {
            split["name"]: (list(map(int, split.get("shardLengths", []))), int(split.get("numBytes", 0)))
            for split in stored.get("splits", [])
        }

    def _own_files(self) -> list[Path]:
        """The files that a writer of this dataset has written."""
        shard = re.compile(
            rf"{re.escape(self._info.name)}-\w+\.({'|'.join(FORMATS)})-\d{{5}}({re.escape(UNFINISHED)})?"
        )
        about = {DESCRIPTION, "features.json", "metadata.json"}
        return [path for path in self._directory.iterdir() if shard.fullmatch(path.name) or path.name in about]

    def _describe(self) -> None:
        """Writes the counts of finished shards."""
        infos = [
            tfds.core.SplitInfo(
                name=name, shard_lengths=split.lengths, num_bytes=split.num_bytes, filename_template=split.template
            )
            for name, split in self._splits.items()
        ]
        self._info.set_splits(tfds.core.SplitDict(infos))
        with tempfile.TemporaryDirectory(prefix=ABOUT, dir=self._directory) as folder:
            self._info.write_to_directory(folder)
            # The file with the counts is last: it makes the dataset visible.
            for path in sorted(Path(folder).iterdir(), key=lambda each: each.name == DESCRIPTION):
                give_name(path, self._directory / path.name)


class _Split:
    """The shards of one split."""

    def __init__(self, template: Any, max_episodes: int, lengths: list[int], num_bytes: int) -> None:
        self.template, self.lengths, self.num_bytes = template, list(lengths), num_bytes
        self._max_episodes = max_episodes
        self._sizes: list[int] = []
        self._writer: Any = None
        self._is_closed = False
        self._count_finished()
        self._go_on()

    @property
    def _path(self) -> Path:
        """Returns the path of the next shard."""
        return Path(self.template.sharded_filepath(shard_index=len(self.lengths), num_shards=None))

    @property
    def _unfinished(self) -> Path:
        return self._path.with_name(self._path.name + UNFINISHED)

    def _count_finished(self) -> None:
        """Counts shards that a killed writer has finished but not counted."""
        while self._path.exists() and not self._unfinished.exists():
            sizes = [len(record) for record in _READERS[self.template.filetype_suffix](self._path)]
            self.lengths.append(len(sizes))
            self.num_bytes += sum(sizes)

    def _go_on(self) -> None:
        """Continues the shard of a killed writer; its file remains until a new one has all its episodes."""
        import tensorflow as tf

        if not self._unfinished.exists():
            return
        partial = self._unfinished.with_name(self._unfinished.name + PARTIAL)
        writer = tf.io.TFRecordWriter(str(partial))
        for record in _whole_records(self._unfinished):
            writer.write(record)
            self._sizes.append(len(record))
        writer.flush()
        give_name(partial, self._unfinished)
        self._writer = writer
        if len(self._sizes) >= self._max_episodes:
            self._finish()

    def add(self, record: bytes) -> bool:
        """Writes an episode; returns whether its shard is finished."""
        import tensorflow as tf

        if self._is_closed:
            raise ValueError("the writer is closed; make another one with overwrite=False to add episodes")
        if self._writer is None:
            self._writer = tf.io.TFRecordWriter(str(self._unfinished))
        self._writer.write(record)
        self._writer.flush()
        self._sizes.append(len(record))
        if len(self._sizes) < self._max_episodes:
            return False
        self._finish()
        return True

    def close(self) -> None:
        if self._sizes:
            self._finish()
        elif self._writer is not None:  # a killed writer has left no complete episode
            self._writer.close()
            self._unfinished.unlink()
            self._writer = None
        self._is_closed = True

    def _finish(self) -> None:
        """Renames the finished shard."""
        self._writer.close()
        if self.template.filetype_suffix == "array_record":
            _to_array_record(self._unfinished, self._path)
        else:
            give_name(self._unfinished, self._path)
        self.lengths.append(len(self._sizes))
        self.num_bytes += sum(self._sizes)
        self._sizes, self._writer = [], None


def _whole_records(path: Path) -> Iterator[bytes]:
    """The records of a TFRecord file whose writer may have died in the middle of one."""
    import tensorflow as tf

    with contextlib.suppress(tf.errors.DataLossError):
        yield from tf.data.TFRecordDataset(str(path)).as_numpy_iterator()


def _array_records(path: Path) -> Iterator[bytes]:
    from array_record.python.array_record_module import ArrayRecordReader

    reader = ArrayRecordReader(str(path))
    for number in range(reader.num_records()):
        yield from reader.read([number])


def _to_array_record(source: Path, destination: Path) -> None:
    from array_record.python.array_record_module import ArrayRecordWriter

    with whole_file(destination, destination.with_name(destination.name + PARTIAL)) as partial:
        writer = ArrayRecordWriter(str(partial), "group_size:1")
        for record in tf_record.records(source):
            writer.write(record)
        writer.close()
    source.unlink()


_READERS: Final = {"tfrecord": tf_record.records, "array_record": _array_records}
