"""What can go wrong with files that are elsewhere."""

from rlds_kit.base.errors import RldsKitError


class RemoteError(RldsKitError, OSError):
    """A file that is elsewhere cannot be read; the message names it, its bytes, and what to do."""


class RemoteChangedError(RemoteError):
    """A file changed since it was first looked at: old bytes and new ones would be mixed."""


class NotLocalError(RldsKitError, TypeError):
    """A URL was given where only a path on this machine will do."""


class TransientError(Exception):
    """What may go well a moment later: a timeout, a broken connection, a server that is busy."""
