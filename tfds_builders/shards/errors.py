"""The error of builds."""

from rlds_kit.base.errors import RldsKitError


class BuildError(RldsKitError, RuntimeError):
    """A shard could not be written, or does not hold what its source does; the message names shard and episode."""
