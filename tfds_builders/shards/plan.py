"""Plans the content of every shard of a build, so that the result does not depend on workers."""

import hashlib
import heapq
import json
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from rlds_kit._version import __version__
from rlds_kit.base.step import FLAGS
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.loader.last_step import LastStep, with_last_step
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.located_episodes import Located, decoded_step_bytes, located
from rlds_kit.tfds_builders.shards.spec import FORMATS, EpisodeRef, Format, ShardSpec

TARGET_BYTES: Final = 256 << 20
"""The default size of a shard."""
SPLIT: Final = "train"
"""The one split of a dataset in a format of TFDS."""

Group = list[tuple[EpisodeRef, int]]
"""Consecutive episodes that may share a shard, each with its weight."""


def plan(  # noqa: PLR0913  independent keyword arguments
    dataset: Dataset,
    destination: str | os.PathLike[str],
    format: Format,  # noqa: A002  the word that users know
    *,
    shards: int | None = None,
    target_bytes: int = TARGET_BYTES,
    shuffle_seed: int | None = None,
    name: str = "episodes",
    features: Any = None,  # tfds.features.FeaturesDict
    last_step: LastStep = "zeros",
) -> list[ShardSpec]:
    """Plans a build. The same episodes and arguments give the same plan, at any time and on any machine.

    Episodes stay in the order of the dataset, or are shuffled by a hash of seed and id. (A builder of TFDS always
    shuffles when it writes, by a hash of each key.) In our own format a shard has the metadata of one run, so the
    episodes are grouped by run, in the order of the first episode of each run.

    Args:
      dataset: the source; may be a view made by `where` or `take`.
      destination: the directory for the shards.
      format: "tfrecord", "array_record" or "riegeli".
      shards: number of shards; in our own format at least the number of runs.
      target_bytes: without `shards`, the approximate bytes of episodes in a shard: stored bytes for our own format,
        decoded ones for those of TFDS.
      shuffle_seed: of the order; None: the order of the dataset.
      name: of the dataset, for the names of TFDS's files.
      features: for the formats of TFDS; by default `episode_features(dataset)`.
      last_step: for the formats of TFDS, as for `Dataset.as_tf_dataset`.

    Raises:
      ValueError: an argument is out of range, or fields were selected for our own format, which copies whole episodes.
      BuildError: there are no episodes, or fewer than shards; one is being recorded, or a shard is damaged.
      SpecError: TFDS has no feature for a field, or an episode has no action, which `last_step` requires.

    >>> specs = plan(rlds_kit.open("data/pong"), "data/pong-copy", "riegeli", shards=4)  # doctest: +SKIP
    """
    if format not in FORMATS:
        raise ValueError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    for argument, number in (("shards", shards), ("target_bytes", target_bytes)):
        if number is not None and number < 1:
            raise ValueError(f"{argument}: expected a number above 0, got {number}")
    if last_step != "zeros" and format == "riegeli":
        raise ValueError("last_step: expected 'zeros' for our own format, which says of every value if it is defined")
    with_last_step(dataset.source(), last_step)  # raises errors now that a worker would raise later
    found = located(dataset)
    if not found:
        raise BuildError(f"{dataset.path}: expected episodes to build from, there are none")
    if shards is not None and shards > len(found):
        raise BuildError(f"{dataset.path}: expected at most {len(found)} shards, one for each episode, got {shards}")
    if shuffle_seed is not None:
        found.sort(key=lambda each: _shuffled(shuffle_seed, each.ref.id))
    groups = _runs(dataset, found) if format == "riegeli" else [_decoded(dataset, found)]
    lists = [
        [ref for ref, _ in group[part.start : part.stop]]
        for group, count in zip(groups, _counts(groups, shards, target_bytes), strict=True)
        for part in cut([weight for _, weight in group], count)
    ]
    created = max(each.created_unix_ns for each in found)
    common = ShardSpec(
        source=dataset.path,
        directory=Path(destination).absolute(),
        file="",
        number=0,
        count=len(lists),
        format=format,
        episodes=(),
        features="" if format == "riegeli" else _features_json(dataset, features),
        shard_id=uuid.UUID(int=0),
        created_unix_ns=created,
        writer=f"rlds_kit {__version__}",
        last_step=last_step,
    )
    return _named(common, lists, name)


def _shuffled(seed: int, episode: uuid.UUID) -> bytes:
    return hashlib.blake2b(episode.bytes, key=str(seed).encode()).digest()


def _runs(dataset: Dataset, found: Sequence[Located]) -> list[Group]:
    """The episodes of each run, with their stored bytes as weights."""
    if dataset.episodes[0].fields[-len(FLAGS) :] != FLAGS:
        raise ValueError(
            f"{dataset.path}: our own format copies whole episodes, and fields were selected; build from the dataset "
            "without `select`, or into another format"
        )
    groups: dict[bytes, Group] = {}
    for each in found:
        groups.setdefault(each.run, []).append((each.ref, each.stored_bytes))
    return list(groups.values())


def _decoded(dataset: Dataset, found: Sequence[Located]) -> Group:
    step_bytes = decoded_step_bytes(dataset)
    return [(each.ref, each.ref.steps * step_bytes) for each in found]


def _features_json(dataset: Dataset, features: Any) -> str:
    from rlds_kit.tfds_builders.encodings import warn_of_strings
    from rlds_kit.tfds_builders.features import episode_features

    chosen = episode_features(dataset) if features is None else features
    warn_of_strings(dataset.path.name, chosen)
    return json.dumps(chosen.to_json(), sort_keys=True)


def _counts(groups: Sequence[Group], shards: int | None, target_bytes: int) -> list[int]:
    weights, limits = [sum(weight for _, weight in group) for group in groups], [len(group) for group in groups]
    if shards is not None:
        return apportion(weights, limits, shards)
    wanted = (-(-weight // target_bytes) for weight in weights)
    return [min(limit, max(1, count)) for limit, count in zip(limits, wanted, strict=True)]


def _named(common: ShardSpec, lists: Sequence[Sequence[EpisodeRef]], name: str) -> list[ShardSpec]:
    """The shards, with names and ids that are determined by their content."""
    specs = [replace(common, number=number, episodes=tuple(refs)) for number, refs in enumerate(lists)]
    whole = xxhash.xxh3_128_hexdigest("".join(spec.digest for spec in specs).encode())
    return [replace(spec, file=_file_name(spec, name, whole), shard_id=_id(spec, whole)) for spec in specs]


def _id(spec: ShardSpec, whole: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{whole} {spec.number}")


def _file_name(spec: ShardSpec, name: str, whole: str) -> str:
    if spec.format != "riegeli":
        return f"{name}-{SPLIT}.{spec.format}-{spec.number:05d}-of-{spec.count:05d}"
    seconds, nanoseconds = divmod(spec.created_unix_ns, 10**9)
    began = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}{nanoseconds // 1000:06d}Z"
    return f"episodes-{began}-{whole[:12]}-{spec.number:05d}.riegeli"


def cut(weights: Sequence[int], parts: int) -> list[range]:
    """Divides a sequence into this many parts of about equal weight, none of them empty.

    Args:
      weights: of the items, in order.
      parts: at least 1, at most as many as there are items.

    >>> cut([1, 1, 1, 1, 4], 2)
    [range(0, 4), range(4, 5)]
    >>> cut([9, 1, 1], 3)
    [range(0, 1), range(1, 2), range(2, 3)]
    """
    count = len(weights)
    middles = np.cumsum(np.array(weights, np.float64)) - np.array(weights) / 2
    wanted = np.arange(1, parts) * (float(sum(weights)) / parts)
    bounds = [0]
    for part, bound in enumerate(np.searchsorted(middles, wanted).tolist(), 1):
        bounds.append(min(max(bound, bounds[-1] + 1), count - parts + part))
    return [range(*pair) for pair in zip(bounds, [*bounds[1:], count], strict=True)]


def apportion(weights: Sequence[int], limits: Sequence[int], parts: int) -> list[int]:
    """Gives each group a number of parts in proportion to its weight: at least 1, at most its limit.

    Args:
      weights: of the groups.
      limits: at least 1 each.
      parts: total number; more if there are more groups, and fewer if the limits require it.

    >>> apportion([10, 30, 1], [9, 9, 9], 5)
    [1, 3, 1]
    """
    given = [1] * len(weights)
    heap = [(-weight / 2, group) for group, weight in enumerate(weights) if limits[group] > 1]
    heapq.heapify(heap)
    left = parts - len(weights)
    while left > 0 and heap:
        _, group = heapq.heappop(heap)
        given[group] += 1
        left -= 1
        if given[group] < limits[group]:  # the weight of each of its parts, if it had one more
            heapq.heappush(heap, (-weights[group] / (given[group] + 1), group))
    return given
