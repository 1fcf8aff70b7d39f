"""Checks a whole dataset: every hash, every column, every rule, and whether its shards agree with each other."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.remote.address import require_local
from rlds_kit.spec.compatibility import compatible
from rlds_kit.storage import directory as directories
from rlds_kit.storage.manifest import read_manifests
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.check_episode import check_episode
from rlds_kit.tools.upkeep.check_shard import amended_fields, declared_fields, shard_notes, shard_problems
from rlds_kit.tools.upkeep.checks import accept, layer_problems, manifest_finding, manifest_losses
from rlds_kit.tools.upkeep.finding import Finding, require_dataset, uuid_of
from rlds_kit.tools.upkeep.survey import Survey, survey

NEWEST_DESCRIPTION: Final = 1
"""The version of `dataset.json` that this release writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The result of `verify`.

    Attributes:
      directory: of the dataset.
      problems: empty if the dataset is as it was written.
      accepted: losses of closed files that are now accepted.
      notes: facts that are no problems: episodes without an end, incomplete chunks at the end of a file, values outside
        their bounds, shards that are being recorded.
      shards: files read.
      episodes: number of those that readers show, and those that are being recorded.
      steps: of these episodes.
      bytes: read.
    """

    directory: Path
    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    shards: int
    episodes: int
    steps: int
    bytes: int
    accepted: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


@dataclass(slots=True)
class _Collected:
    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    declared: dict[str, specs.Dict] = field(default_factory=dict)
    homes: dict[bytes, str] = field(default_factory=dict)
    digests: dict[bytes, bytes] = field(default_factory=dict)
    steps: int = 0


def verify(
    directory: str | os.PathLike[str], progress: Progress | None = None, *, accept_missing: bool = False
) -> VerifyReport:
    """Reads all of a dataset and lists all problems.

    Args:
      directory: of the dataset; not changed, except by `accept_missing`.
      progress: gets the bytes done.
      accept_missing: whether to record that closed files which are missing or have changed are accepted as lost. From
        then on, opening and verifying do not report them.

    Raises:
      NotADatasetError: there is no dataset.
      NotLocalError: `accept_missing` was given for a URL.
      OSError: a file cannot be read.

    >>> verify("data/pong").ok  # doctest: +SKIP
    True
    """
    path = require_dataset(directory)
    if accept_missing:
        require_local(path)
    manifests = read_manifests(path)
    shards = directories.shards_in(path)
    sizes = [shard.stat().st_size for shard in shards]
    collected, meter = _Collected(), Meter(progress, sum(sizes))
    for shard, size in zip(shards, sizes, strict=True):
        _verify_shard(collected, ShardFile(shard), meter)
        meter.next_file(size)
    collected.problems += _spec_problems(collected.declared)
    collected.problems += _description_problems(path, collected.declared)
    collected.problems += layer_problems(path, collected.digests)
    if not (path / directories.DESCRIPTION).exists():
        collected.notes.append(Finding("dataset-json", f"there is no {directories.DESCRIPTION}; no shard needs it"))
    lost = manifest_losses(path, manifests, {problem.shard for problem in collected.problems})
    findings = [manifest_finding(each) for each in lost]
    if accept_missing:
        accept(path, lost)
    else:
        collected.problems += findings
    return VerifyReport(
        directory=path,
        problems=tuple(collected.problems),
        notes=tuple(collected.notes),
        shards=len(shards),
        episodes=len(collected.homes),
        steps=collected.steps,
        bytes=sum(sizes),
        accepted=tuple(findings) if accept_missing else (),
    )


def _verify_shard(collected: _Collected, file: ShardFile, meter: Meter) -> None:
    found = survey(file, meter)
    collected.problems += shard_problems(found)
    collected.notes += shard_notes(found)
    try:
        declared = declared_fields(found)
    except FormatError:
        declared = specs.Dict({})  # reported with the shard
    if found.header is not None:
        collected.declared[found.name] = declared
    for episode_id, episode in found.episodes.items():
        if not episode.blocks or episode.is_discarded:
            continue
        collected.problems += _unique(collected, found, episode_id)
        collected.digests[episode_id] = b"" if episode.end is None else episode.end.content_digest
        deviating = declared.fields.keys() & amended_fields(found)
        checked = check_episode(file, episode, declared, is_locked=found.is_locked, deviating=deviating)
        collected.problems += checked.problems
        collected.notes += checked.notes
        collected.steps += checked.steps


def _unique(collected: _Collected, found: Survey, episode_id: bytes) -> Iterator[Finding]:
    home = collected.homes.setdefault(episode_id, found.name)
    if home != found.name:
        yield Finding("episode-id", f"{home} has an episode of the same id", found.name, episode=uuid_of(episode_id))


def _spec_problems(shards: dict[str, specs.Dict]) -> Iterator[Finding]:
    """Checks that the spec of a shard is compatible with that of the first one; either may be the wider one."""
    names = list(shards)
    for name in names[1:]:
        problems = compatible(shards[names[0]], shards[name])
        if problems and compatible(shards[name], shards[names[0]]):
            yield Finding("shards-differ", f"{problems[0]} (the dataset is {names[0]})", name)


def _description_problems(path: Path, shards: dict[str, specs.Dict]) -> Iterator[Finding]:
    rule, name = "dataset-json", directories.DESCRIPTION
    try:
        content = directories.description(path)
        spec = specs.from_json(content["spec"]) if "spec" in content else None
    except (FormatError, OSError) as error:
        yield Finding(rule, str(error), name)
        return
    if content.get("format", "rlds_kit") != "rlds_kit":
        yield Finding(rule, f"expected format 'rlds_kit', got {content['format']!r}", name)
    version = content.get("version", NEWEST_DESCRIPTION)
    if not isinstance(version, int) or version > NEWEST_DESCRIPTION:
        yield Finding(rule, f"expected version {NEWEST_DESCRIPTION} or older, got {version!r}", name)
    for shard, declared in shards.items() if spec is not None else ():
        if spec is not None and (problems := compatible(spec, declared)):
            yield Finding(rule, f"its spec contradicts {shard}: {problems[0]}", name)
