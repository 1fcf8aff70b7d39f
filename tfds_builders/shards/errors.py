"""The error of builds."""

from rlds_kit.base.errors import RldsKitError


class BuildError(RldsKitError, RuntimeError):
    """A shard could not be written, or its content differs from the source; the message names shard and episode."""
