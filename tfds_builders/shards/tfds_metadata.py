"""Writes features.json and dataset_info.json beside the shards, for `tfds.builder_from_directory`."""

from collections.abc import Sequence

import tensorflow_datasets as tfds

from rlds_kit.loader.last_step import TEXTS
from rlds_kit.storage import directory as directories
from rlds_kit.tfds_builders.shards.plan import SPLIT
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec
from rlds_kit.tfds_builders.shards.tfds_values import features_of


def write_metadata(specs: Sequence[ShardSpec], infos: Sequence[ShardInfo], version: str) -> None:
    """Writes the metadata; description, citation and licence are those in the source's dataset.json.

    Args:
      specs: the plan.
      infos: what was written, in the same order.
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
        check_data=False,  # every episode was read back before this
        description=f"{about.get('description') or f'Episodes of {first.source.name}.'}\n\n{TEXTS[first.last_step]}",
        citation=about.get("citation") or None,
        license=about.get("licence") or None,
    )
