"""The end of tasks that one task has started."""

import asyncio
from typing import Any


async def cancel_and_wait(*tasks: "asyncio.Task[Any]") -> None:
    """Cancels tasks, and returns when all of them are done; what they raise is ignored.

    `asyncio.gather` cannot be used for this. Where the calling task is cancelled just after its own tasks were,
    `gather` raises the `CancelledError` of one of those, without the message of the caller's. The scopes of anyio know
    their own cancellation by that message, so the error would leave the scope. `asyncio.wait` raises the caller's.

    Args:
      tasks: none or more; those that are done already stay as they are.

    Raises:
      asyncio.CancelledError: the calling task was cancelled; the tasks may still run for a moment.
    """
    for each in tasks:
        each.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for each in tasks:
        if not each.cancelled():
            each.exception()  # otherwise asyncio logs that it was never retrieved
