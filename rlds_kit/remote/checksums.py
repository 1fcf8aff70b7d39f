"""The file of checksums beside a published dataset."""

import re
from typing import Final

from rlds_kit.base.errors import FormatError

CHECKSUMS: Final = "checksums.txt"
"""The file that `rlds-kit publish` writes beside a dataset: lines of SHA-256 and path, in the format of `sha256sum`."""
_LINE: Final = re.compile(r"(?P<sha256>[0-9a-f]{64}) [ *](?P<path>.+)")


def listed_checksums(text: str, place: object) -> dict[str, str]:
    """The SHA-256 of each file that `checksums.txt` names, by its path.

    Args:
      text: the content.
      place: of the file, for messages.

    Raises:
      FormatError: it does not have the format of `sha256sum`.
    """
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        matched = _LINE.fullmatch(line)
        if matched is None:
            raise FormatError(f"{place}, line {number}: expected a SHA-256, two spaces and a path, got {line!r}")
        found[matched["path"].removeprefix("./")] = matched["sha256"]
    return found
