"""Publishes to the Hugging Face hub: files are uploaded one by one, and one commit makes them visible together."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.base.progress import Meter
from rlds_kit.tools.publish.destination import Item, Sent
from rlds_kit.tools.publish.errors import PublishError

SCHEME: Final = "hf://"

_URL: Final = re.compile(r"hf://(?:datasets/)?(?P<repository>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[^@\s]+))?/?")
_TYPE: Final = "dataset"
_MAIN: Final = "main"


class Hub:
    """A dataset repository; the repository and the branch are created if they do not exist.

    `HF_ENDPOINT` is the address of the hub; `HF_TOKEN` or `hf auth login` gives the credentials.

    Args:
      url: hf://org/name, or hf://org/name@branch.

    Raises:
      PublishError: the URL is invalid.
      MissingExtraError: huggingface_hub is not installed.
    """

    def __init__(self, url: str) -> None:
        found = _URL.fullmatch(url)
        if found is None:
            raise PublishError(f"expected hf://org/name or hf://org/name@branch, got {url!r}")
        self.url = self.address = url
        self._repository, self._revision = found["repository"], found["revision"] or _MAIN
        with needs("publish"):
            from huggingface_hub import HfApi
        self._api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))

    def listing(self) -> Mapping[str, int]:
        """Path and size of every file."""
        return {path: file.size for path, file in self._files(self._revision).items()}

    def write(self, items: Sequence[Item], obsolete: Sequence[str], meter: Meter) -> Sent:
        """Uploads the missing files, then commits. Files that an interrupted run has uploaded are not sent again."""
        sent = Sent(removed=list(obsolete))
        with self._explained(), _without_bars():
            self._api.create_repo(self._repository, repo_type=_TYPE, exist_ok=True)
            if self._revision != _MAIN:
                self._api.create_branch(self._repository, branch=self._revision, repo_type=_TYPE, exist_ok=True)
            there = self._files(self._revision)
            additions = []
            for item in items:
                if _is_same(there.get(item.path), item):
                    sent.unchanged.append(item.path)
                else:
                    additions.append(self._upload(item))
                    sent.written.append(item.path)
                    sent.bytes += item.size
                meter.next_file(item.size)
            sent.revision = self._commit(additions, obsolete)
        self._require_all(items, sent.revision)
        return sent

    def _upload(self, item: Item) -> Any:  # huggingface_hub's CommitOperationAdd
        from huggingface_hub import CommitOperationAdd

        addition = CommitOperationAdd(path_in_repo=item.path, path_or_fileobj=item.source)
        self._api.preupload_lfs_files(self._repository, [addition], repo_type=_TYPE, revision=self._revision)
        return addition

    def _commit(self, additions: Sequence[Any], obsolete: Sequence[str]) -> str:
        from huggingface_hub import CommitOperationDelete

        operations = [*additions, *(CommitOperationDelete(path_in_repo=path) for path in obsolete)]
        if not operations:
            return str(self._api.repo_info(self._repository, repo_type=_TYPE, revision=self._revision).sha)
        made = self._api.create_commit(
            self._repository,
            operations,
            repo_type=_TYPE,
            commit_message=f"Publish {len(additions)} files with rlds-kit",
            revision=self._revision,
        )
        return str(made.oid)

    def _files(self, revision: str) -> dict[str, Any]:  # huggingface_hub's RepoFile
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
        from huggingface_hub.hf_api import RepoFile

        with self._explained():
            try:
                tree = list(
                    self._api.list_repo_tree(self._repository, repo_type=_TYPE, revision=revision, recursive=True)
                )
            except (RepositoryNotFoundError, RevisionNotFoundError):
                return {}
            return {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}

    def _require_all(self, items: Sequence[Item], revision: str) -> None:
        """Compares sizes and digests that the hub lists with those of the sent files."""
        there = self._files(revision)
        wrong = [item.path for item in items if not _is_same(there.get(item.path), item)]
        if wrong:
            raise PublishError(
                f"{self.url}: the hub has another {', '.join(wrong[:3])} in revision {revision} than was sent; "
                "run the same command again"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Converts errors to a PublishError that names the repository and explains how to continue."""
        try:
            yield
        except PublishError:
            raise
        except Exception as error:  # versions of huggingface_hub use different libraries for HTTP
            causes = ": ".join(str(each).strip().rstrip(".") for each in (error, error.__cause__) if each is not None)
            raise PublishError(
                f"{self.url}: {causes}; fix it, and run the same command again: uploaded files are not sent twice"
            ) from error


def _is_same(there: Any, item: Item) -> bool:  # huggingface_hub's RepoFile, or None
    """Whether the hub has a file with this content, by the SHA-256 of large files and git's hash of others."""
    if there is None or there.size != item.size:
        return False
    return bool(there.lfs.sha256 == item.sha256 if there.lfs else there.blob_id == _git_hash(item))


def _git_hash(item: Item) -> str:
    """Git's hash of a file: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects."""
    content = item.source.read_bytes()
    return sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


@contextmanager
def _without_bars() -> Iterator[None]:
    """Disables the progress bars of huggingface_hub, because `publish` has its own."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
