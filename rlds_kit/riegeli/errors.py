"""The errors of Riegeli/records files.

The reactions follow "Properties of the file format" in
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations


class RiegeliError(Exception):
    """The base of every error of `rlds_kit.riegeli`."""


class DamagedError(RiegeliError):
    """Bytes that break a rule of the format.

    `begin` and `end` are file positions: reading can go on at `end`, and nothing between them can be
    trusted. Both are None where the bytes did not come from a known place in a file.
    """

    def __init__(self, message: str, *, begin: int | None = None, end: int | None = None) -> None:
        place = "" if begin is None or end is None else f" (bytes {begin} to {end} of the file)"
        super().__init__(message + place)
        self.message = message
        self.begin = begin
        self.end = end


class OptionsError(RiegeliError, ValueError):
    """A writer option string, or one of its values, is not valid."""


class MissingCodecError(RiegeliError, ImportError):
    """The library of a compression format is not installed; the message names the line that installs it."""


class TruncatedWarning(UserWarning):
    """The file ends inside a chunk. Every complete chunk before it has been delivered."""
