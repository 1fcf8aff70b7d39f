"""Builds datasets at scale, shard by shard: a function writes one whole shard, and an executor runs it for each."""

from rlds_kit.base.executor import Run, on_beam, on_processes, on_ray, serially
from rlds_kit.tfds_builders.shards.convert import Report, convert_shards
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.finish import finish
from rlds_kit.tfds_builders.shards.plan import plan
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, EpisodeRef, ShardInfo, ShardSpec
from rlds_kit.tfds_builders.shards.work import check, work

__all__ = [
    "BuildError",
    "EpisodeInfo",
    "EpisodeRef",
    "Report",
    "Run",
    "ShardInfo",
    "ShardSpec",
    "check",
    "convert_shards",
    "finish",
    "on_beam",
    "on_processes",
    "on_ray",
    "plan",
    "serially",
    "work",
]
