"""Completes a build: compares all shards with the source, then writes the description of the dataset."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import tensorflow_datasets as tfds

from rlds_kit.base.executor import Run
from rlds_kit.loader.last_step import TEXTS
from rlds_kit.storage import directory as directories
from rlds_kit.storage.manifest import PATTERN as MANIFESTS
from rlds_kit.storage.whole_directory import put
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.examples import features_of
from rlds_kit.tfds_builders.shards.finished_shard import info_path, remove_temporary
from rlds_kit.tfds_builders.shards.plan import SPLIT
from rlds_kit.tfds_builders.shards.source_shards import SourceShards
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec
from rlds_kit.tfds_builders.shards.work import check
from rlds_kit.tools.upkeep.closing import note_closed
from rlds_kit.tools.upkeep.description_copy import copy_description

LOCK: Final = ".lock"
"""The file in the directory of an unfinished build that its process has locked."""


def finish(
    specs: Sequence[ShardSpec], infos: Iterable[ShardInfo], run: Run, *, version: str = "1.0.0"
) -> tuple[ShardInfo, ...]:
    """Compares all shards with the source, and then writes the files that make the directory a dataset.

    Workers read the shards back and compare the digest of every episode.

    Args:
      specs: the plan.
      infos: the results of `work`, in any order.
      run: of an executor.
      version: of the dataset, for the formats of TFDS.

    Returns:
      The infos in the order of the plan.

    Raises:
      BuildError: a count or a digest differs, or a shard is missing or damaged; the message names shard and episode.
      WorkerDiedError: a worker died.
    """
    ordered = _in_order(specs, infos)
    for spec, info in zip(specs, ordered, strict=True):
        _require_counts(spec, info)
    for info in _in_order(specs, run(check, specs, shared=specs[0].directory)):
        if info not in ordered:
            raise BuildError(f"{info.file}: the shard was written again since it was finished; build again")
    _describe(specs, ordered, version)
    for spec in specs:
        info_path(spec).unlink(missing_ok=True)
    remove_temporary(specs[0].directory)
    return ordered


def _in_order(specs: Sequence[ShardSpec], infos: Iterable[ShardInfo]) -> tuple[ShardInfo, ...]:
    found = {info.file: info for info in infos}
    missing = [spec.file for spec in specs if spec.file not in found]
    if missing:
        raise BuildError(f"{len(missing)} of {len(specs)} shards are missing, the first of them is {missing[0]}")
    return tuple(found[spec.file] for spec in specs)


def _require_counts(spec: ShardSpec, info: ShardInfo) -> None:
    """Compares the written episodes with the source at the time of the plan."""
    if len(info.episodes) != len(spec.episodes):
        raise BuildError(f"{spec.file}: expected {len(spec.episodes)} episodes, got {len(info.episodes)}")
    for ref, episode in zip(spec.episodes, info.episodes, strict=True):
        steps = ref.steps - (spec.last_step == "drop")
        is_same = spec.format != "riegeli" or ref.content_digest in {b"", episode.digest}
        if (ref.id, steps) != (episode.id, episode.steps) or not is_same:
            raise BuildError(
                f"{spec.file}: expected episode {ref.id} of {steps} steps with the content of the source, "
                f"got episode {episode.id} of {episode.steps} steps"
            )


def _describe(specs: Sequence[ShardSpec], infos: Sequence[ShardInfo], version: str) -> None:
    if specs[0].format == "riegeli":
        _describe_ours(specs)
        return
    from rlds_kit.tfds_builders.shards.finish import write_metadata

    write_metadata(specs, infos, version)


def _describe_ours(specs: Sequence[ShardSpec]) -> None:
    """Copies dataset.json, or creates it from the headers."""
    sources = SourceShards(specs[0].source)
    headers = [sources.shard(spec.episodes[0].shard).header for spec in specs]
    note_closed(specs[0].directory)
    copy_description(specs[0].source, specs[0].directory, headers)


def require_own(specs: Sequence[ShardSpec]) -> None:
    """Checks that a directory has only files of this plan.

    Raises:
      BuildError: it has others.
    """
    directory = specs[0].directory
    known = {LOCK, *(name for spec in specs for name in (spec.file, info_path(spec).name))}
    for path in sorted(directory.iterdir()):
        if path.name not in known and not fnmatchcase(path.name, MANIFESTS):
            raise BuildError(
                f"{directory}: expected an unfinished build of the same source with the same arguments, but "
                f"{path.name} is not of it; finish that build with its own arguments, or remove the directory"
            )


def move(building: Path, destination: Path) -> None:
    """Renames the finished directory, durably."""
    put(building, destination)


def write_metadata(specs: Sequence[ShardSpec], infos: Sequence[ShardInfo], version: str) -> None:
    """Writes the metadata; description, citation and licence are those in the source's dataset.json.

    Args:
      specs: the plan.
      infos: of the written shards, in the same order.
      version: of the dataset.
    """
    first = specs[0]
    about = directories.description(first.source)
    template = tfds.core.ShardedFileTemplate(
        data_dir=first.directory,
        dataset_name=first.file.partition(f"-{SPLIT}.")[0],
        split=SPLIT,
        filetype_suffix=first.format,
    )
    split = tfds.core.SplitInfo(
        name=SPLIT,
        shard_lengths=[len(info.episodes) for info in infos],
        num_bytes=sum(info.size for info in infos),
        filename_template=template,
    )
    tfds.folder_dataset.write_metadata(
        data_dir=first.directory,
        features=features_of(first),
        split_infos=[split],
        version=version,
        check_data=False,  # every episode has been read back
        description=f"{about.get('description') or f'Episodes of {first.source.name}.'}\n\n{TEXTS[first.last_step]}",
        citation=about.get("citation") or None,
        license=about.get("licence") or None,
    )
