"""Errors of the database."""

from rlds_kit.base.errors import RldsKitError


class DatabaseError(RldsKitError, RuntimeError):
    """The database cannot be used as it is."""


class DatabaseGoneError(DatabaseError):
    """The database did not execute the request; nothing was changed."""


class DatabaseTooNewError(DatabaseError):
    """The tables were made by a newer version of the library."""


class NotFoundError(RldsKitError, LookupError):
    """There is no such row."""


class StaleError(RldsKitError, RuntimeError):
    """Another request has changed the row since it was read."""


class TakenError(RldsKitError, ValueError):
    """A value that must be unique is already in use."""
