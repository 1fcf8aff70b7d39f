"""Tasks are ended together with the task that has started them."""

import asyncio

import anyio
import pytest

from rlds_kit.base.tasks import cancel_and_wait


async def _cancelled_in_between(iterations: int) -> bool:
    """Leaves a cancel scope while a task of it is being cancelled; returns whether the end was waited for."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(asyncio.sleep(100))
    await asyncio.sleep(0)
    with anyio.CancelScope() as scope:

        def cancel_scope(left: int) -> None:
            loop.call_soon(cancel_scope, left - 1) if left else scope.cancel()

        loop.call_soon(cancel_scope, iterations)
        await cancel_and_wait(task)
        return task.cancelled()
    return False


@pytest.mark.parametrize("iterations", range(5))
def test_a_cancel_scope_knows_its_cancellation(iterations: int) -> None:
    """Whenever the scope is cancelled, nothing leaves it; `asyncio.gather` fails here with 0 iterations of the loop."""
    assert asyncio.run(_cancelled_in_between(iterations)) == (iterations > 1)


def test_all_tasks_are_done_and_what_they_raise_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """Tasks that end late, that failed before, that fail when they are cancelled, and none."""
    ended = []

    async def late() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(0.01)
            ended.append("late")

    async def failing() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            raise ValueError("at the end")

    async def failed() -> None:
        raise ValueError("before")

    async def program() -> None:
        tasks = [asyncio.create_task(each()) for each in (late, failing, failed)]
        await asyncio.sleep(0.01)
        await cancel_and_wait(*tasks)
        assert all(each.done() for each in tasks)
        assert ended == ["late"]
        await cancel_and_wait()

    asyncio.run(program())
    assert not caplog.records
