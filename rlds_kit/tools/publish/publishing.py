"""Publishes a dataset: checks, card, Croissant, checksums, and a copy that is complete or marked as incomplete."""

import contextlib
import os
import tempfile
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rlds_kit.base.errors import DamageWarning
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.remote.path import RemotePath
from rlds_kit.storage import directory as directories
from rlds_kit.storage.manifest import manifests_in
from rlds_kit.tools.publish.about import About
from rlds_kit.tools.publish.checks import Stages, problems_of
from rlds_kit.tools.publish.destination import Destination, Item, Sent, obsolete, occupied
from rlds_kit.tools.publish.destination_of import destination_of, require_apart
from rlds_kit.tools.publish.errors import NotPublishableError, PublishError
from rlds_kit.tools.publish.staging import stage


@dataclass(frozen=True, slots=True)
class Published:
    """The result of `publish`: what was published, or would be.

    Attributes:
      url: of the destination.
      episodes: of the dataset.
      steps: of the dataset.
      files: size and SHA-256 of each file of the published dataset, by path.
      bytes: of all of them.
      sent: the files that were written, unchanged, and removed; None after a dry run.
    """

    url: str
    episodes: int
    steps: int
    files: dict[str, tuple[int, str]]
    bytes: int
    sent: Sent | None


@contextlib.contextmanager
def silent(_: str) -> Iterator[Progress | None]:
    """A stage without progress."""
    yield None


def publish(
    directory: str | os.PathLike[str],
    to: str | os.PathLike[str],
    about: About | None = None,
    *,
    allowed: Collection[str] = (),
    replace_other: bool = False,
    dry_run: bool = False,
    stages: Stages = silent,
) -> Published:
    """Publishes the dataset in a directory.

    Files that exist already are not sent again: after a crash, repeat the call to continue.

    Args:
      directory: of the dataset; nothing in it is changed.
      to: a folder, any URL that fsspec can write to, or `hf://org/name[@branch]`.
      about: name, licence, citation and so on, where `dataset.json` lacks them or has other values.
      allowed: fields that may be published although they match the pattern of an e-mail address or the like.
      replace_other: whether another dataset at the destination may be replaced.
      dry_run: whether to write nothing.
      stages: gets the progress.

    Raises:
      NotPublishableError: the checks found problems; the error lists all of them.
      NotADatasetError: there is no dataset.
      PublishError: the destination cannot be used, or the stored files differ from the sent ones.

    >>> publish("data/pong", "hf://org/pong", About(licence="CC-BY-4.0", citation="..."))  # doctest: +SKIP
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)  # `verify` reports damage
        dataset = open_dataset(directory)
    if isinstance(dataset.path, RemotePath):
        raise PublishError(f"{dataset.path} is a URL; copy the dataset to a directory, and publish that")
    destination = destination_of(os.fspath(to))
    require_apart(dataset.path, destination)
    completed = (about or About()).completed(dataset.path)
    problems, report = problems_of(dataset, completed, allowed, stages)
    there = destination.listing()
    if not replace_other:
        own = [*directories.shards_in(dataset.path), *manifests_in(dataset.path)]
        problems += occupied(destination.url, there, [path.name for path in own])
    if problems:
        raise NotPublishableError(tuple(problems))
    with tempfile.TemporaryDirectory(prefix="rlds-kit-publish-") as folder:
        items = stage(dataset, completed, destination.address, report, Path(folder), stages)
        found = _published(dataset, destination, items)
        if dry_run:
            return found
        with stages("publishing") as progress:
            sent = destination.write(items, obsolete(there, items), Meter(progress, found.bytes))
    return replace(found, sent=sent)


def _published(dataset: Dataset, destination: Destination, items: list[Item]) -> Published:
    files = {item.path: (item.size, item.sha256) for item in items}
    size = sum(item.size for item in items)
    return Published(destination.url, len(dataset.episodes), len(dataset.steps), files, size, None)
