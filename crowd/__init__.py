"""Tasks, collectors, incentives and groups for crowds of people who play."""

from typing import Final

__all__: Final[list[str]] = []
