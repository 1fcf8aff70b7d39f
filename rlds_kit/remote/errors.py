"""Errors of remote files."""

from rlds_kit.base.errors import RldsKitError


class RemoteError(RldsKitError, OSError):
    """A remote file cannot be read; the message names the file, the byte range, and how to fix it."""


class RemoteChangedError(RemoteError):
    """A file changed since the first access: old and new bytes would be mixed."""


class NotLocalError(RldsKitError, TypeError):
    """A URL was given where only a local path is supported."""


class TransientError(Exception):
    """An error that may disappear on retry: a timeout, a broken connection, a busy server."""
