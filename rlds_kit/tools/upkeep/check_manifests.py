"""Checks that everything is there that writers closed, and notes what is given up."""

import time
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

from rlds_kit.storage.manifest import Accepted, Lost, Manifests, is_accepted, losses, write
from rlds_kit.tools.upkeep.closing import digest_in
from rlds_kit.tools.upkeep.finding import Finding


def manifest_losses(dataset: Path, manifests: Manifests, damaged: Collection[str]) -> list[Lost]:
    """Finds closed files that are missing or have changed, and are not accepted.

    Args:
      dataset: its directory.
      manifests: of the dataset.
      damaged: files whose damage is known, and whose digests are not compared.
    """
    found = losses(dataset, manifests)
    known = {*damaged, *(each.path for each in found)}
    for closed in manifests.closed.values():
        changed = Lost(closed.path, closed.bytes, closed, "has another digest than the file that was closed")
        if closed.digest and closed.path not in known and not is_accepted(manifests, changed):
            path = dataset / closed.path
            is_as_long = path.is_file() and path.stat().st_size == closed.bytes  # other sizes were accepted
            if is_as_long and digest_in(dataset, closed.path) not in (None, closed.digest):
                found.append(changed)
    return found


def manifest_finding(lost: Lost) -> Finding:
    """A loss as `verify` reports it."""
    if lost.closed is None:
        return Finding("manifest", lost.message, lost.path)
    return Finding("missing" if lost.found is None else "changed", lost.message, lost.path)


def accept(dataset: Path, lost: Sequence[Lost]) -> None:
    """Notes that losses are accepted, in a manifest of its own: those of writers are theirs, and they may be alive.

    Raises:
      OSError: it cannot be written.
    """
    if lost:
        began = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}000000Z"
        name = f"closed-{began}-{uuid.uuid4().hex[:12]}-accepted.json"
        write(dataset / name, (), [Accepted(each.path, each.found) for each in lost])
