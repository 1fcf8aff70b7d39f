"""What can go wrong with the database."""

from rlds_kit.base.errors import RldsKitError


class DatabaseError(RldsKitError, RuntimeError):
    """The database cannot be used as it is."""


class DatabaseGoneError(DatabaseError):
    """The database did not do the request; nothing was changed."""


class DatabaseTooNewError(DatabaseError):
    """The tables were made by a newer version of the library."""


class NotFoundError(RldsKitError, LookupError):
    """There is no such row."""


class StaleError(RldsKitError, RuntimeError):
    """Somebody else has changed the row since it was read."""


class TakenError(RldsKitError, ValueError):
    """Somebody else has what must be one's own."""
