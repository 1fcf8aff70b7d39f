"""Errors as clients see them."""

from typing import Any

from rlds_kit.base.errors import RldsKitError


class ApiError(RldsKitError):
    """A request that is refused.

    Args:
      status: HTTP status.
      code: for programs.
      message: for people: what was expected, what was received, what to do.
      where: the part of the request, as "environments.0.kwargs".
      retry_seconds: after which it may be tried again; None: that would not help.
    """

    def __init__(
        self, status: int, code: str, message: str, where: str = "", *, retry_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.where = status, code, message, where
        self.retry_seconds = retry_seconds

    def as_json(self) -> dict[str, Any]:
        """The JSON that is sent."""
        return {"v": 1, "error": {"code": self.code, "message": self.message, "where": self.where}}
