"""What goes wrong between a client and a service."""

from rlds_kit.base.errors import RldsKitError


class ServiceError(RldsKitError, RuntimeError):
    """A service refused a request, or cannot be reached.

    Args:
      text: what it answered.
      status: of HTTP; 0: there is none.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status
