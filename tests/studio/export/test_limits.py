"""The default limits of a person's exports."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.export.exports import Exports
from rlds_kit.studio.export.job import Job
from rlds_kit.studio.export.rules import Rules

DAY_NS = 86400 * 10**9


async def _deleted(episodes: Sequence[str]) -> Sequence[str]:
    return episodes[:0]


async def _add(exports: Exports, owner: str) -> Job:
    return await exports.add(owner, "episodes", [], Rules(), is_archive=True)


async def _refused(exports: Exports, owner: str) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await _add(exports, owner)
    return caught.value


def test_twenty_exports_wait_and_fifty_are_stored_for_thirty_days(tmp_path: Path) -> None:
    """As documented; another person has limits of their own."""

    async def fill() -> None:
        exports = Exports(tmp_path, _deleted, clock=lambda: 1)  # not entered: nothing is made, so all of them wait
        waiting = [await _add(exports, "ann") for _ in range(20)]
        error = await _refused(exports, "ann")
        assert (error.status, error.code) == (429, "too_many")
        assert "20 exports of yours are not done" in str(error)
        await _add(exports, "bob")
        for job in waiting:
            cancelled = await exports.remove(job)
            assert exports.expires_ns(cancelled) == 1 + 30 * DAY_NS
        for _ in range(30):
            await exports.remove(await _add(exports, "ann"))
        assert "you have 50 exports" in str(await _refused(exports, "ann"))
        await exports.remove(exports.of("ann")[0])
        await _add(exports, "ann")

    asyncio.run(fill())


@pytest.mark.parametrize("turns", range(6))
def test_a_server_ends_while_an_export_is_requested(tmp_path: Path, turns: int) -> None:
    """At any point of the loop, its cancellation is never lost."""

    async def run() -> None:
        async with asyncio.timeout(60), Exports(tmp_path, _deleted) as exports:
            for _ in range(5):
                await asyncio.sleep(0)
            exports._is_waiting.set()
            for _ in range(turns):
                await asyncio.sleep(0)

    asyncio.run(run())
