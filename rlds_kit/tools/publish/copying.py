"""Copies files to a store one by one, so that an incomplete copy never appears to be complete."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rlds_kit.base.progress import Meter
from rlds_kit.remote.checksums import CHECKSUMS
from rlds_kit.tools.publish.checksums import Advance
from rlds_kit.tools.publish.destination import Item, Sent
from rlds_kit.tools.publish.errors import PublishError


class Store(Protocol):
    """A place for files."""

    url: str

    def listing(self) -> Mapping[str, int]:
        """Path and size of every file."""
        ...

    def put(self, item: Item, advance: Advance) -> None:
        """Writes a file; it appears under its name when it is complete."""
        ...

    def digest(self, path: str) -> str:
        """The SHA-256 of a stored file, read back."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file."""
        ...


def copy(store: Store, items: Sequence[Item], obsolete: Sequence[str], meter: Meter) -> Sent:
    """Writes `items` to a store: data first, `checksums.txt` last, which marks the copy as complete.

    If a file of a complete copy has to change, `checksums.txt` is removed first.

    Args:
      store: to write to.
      items: `checksums.txt` is the last of them.
      obsolete: paths to remove.
      meter: counts the bytes of `items`.

    Raises:
      PublishError: the stored files differ from those that were written.
    """
    sent, there = Sent(), store.listing()
    right = {
        item.path for item in items if there.get(item.path) == item.size and store.digest(item.path) == item.sha256
    }
    changes = len(right) != len(items) or bool(obsolete)
    if changes and CHECKSUMS in there:
        store.remove(CHECKSUMS)
        right.discard(CHECKSUMS)
    for path in obsolete:
        store.remove(path)
    sent.removed += obsolete
    for item in items:
        if item.path in right:
            sent.unchanged.append(item.path)
        else:
            store.put(item, meter.at)
            _require_same(store, item)
            sent.written.append(item.path)
            sent.bytes += item.size
        meter.next_file(item.size)
    _require_all(store, items)
    return sent


def _require_same(store: Store, item: Item) -> None:
    found = store.digest(item.path)
    if found != item.sha256:
        raise PublishError(
            f"{store.url}: {item.path} was written with SHA-256 {item.sha256} and reads back as {found}; "
            "check the disk or network, and run the same command again"
        )


def _require_all(store: Store, items: Sequence[Item]) -> None:
    there = store.listing()
    wrong = [item.path for item in items if there.get(item.path) != item.size]
    if wrong:
        raise PublishError(
            f"{store.url}: {', '.join(wrong[:3])} should be there and are not, or have another size: "
            "something else writes there; stop it, and run the same command again"
        )
