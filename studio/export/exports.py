"""The exports of a server: made one after the other in separate processes; they can be cancelled and resumed."""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rlds_kit.base.whole_file import make_directory
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.export.job import JOB, Job, State, new_id, read_jobs, write_job
from rlds_kit.studio.export.rules import Chosen, Rules
from rlds_kit.studio.export.work import PLAN, clear, leave_out, wanted, write_request
from rlds_kit.studio.export_limits import ExportLimits

log = logging.getLogger(__name__)
_EXPIRE_SECONDS: Final = 3600.0
"""Time between two searches for expired exports."""
_DAY_NS: Final = 86400 * 10**9
_LINE_BYTES: Final = 64 << 20
"""Maximum length of a message: a report names every episode that was left out."""

Deleted = Callable[[Sequence[str]], Awaitable[Collection[str]]]


class Exports:
    """Makes exports. Use it in an `async with` statement, which resumes those that a dead server left.

    Args:
      directory: for exports; each has a directory of its own there.
      deleted: returns which of some episodes were deleted since they were chosen; called before an export is made,
        and again before it can be downloaded.
      limits: for each person.
      clock: in nanoseconds since 1970.
    """

    def __init__(
        self,
        directory: Path,
        deleted: Deleted,
        *,
        limits: ExportLimits | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._directory, self._deleted = directory, deleted
        self._limits, self._clock = limits or ExportLimits(), clock
        self._jobs: dict[str, Job] = {}
        self._waiting: list[str] = []  # in the order in which they came
        self._is_waiting = asyncio.Event()
        self._turns, self._turn = dict[str, int](), 0  # when the last export of each owner was made
        self._process: asyncio.subprocess.Process | None = None
        self._running = ""
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        for job in await asyncio.to_thread(read_jobs, self._directory):
            self._jobs[job.id] = job
            if not job.state.is_over:
                await self._set(job.id, state=State.WAITING)
                self._enqueue(job.id)
        await self.expire()
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def add(self, owner: str, name: str, chosen: Sequence[Chosen], rules: Rules, *, is_archive: bool) -> Job:
        """Begins an export.

        Args:
          owner: the account that it is made for.
          name: of the archive or folder, without ".zip".
          chosen: the episodes.
          rules: how they are exported.
          is_archive: whether it becomes one file.

        Raises:
          ApiError: the person has too many exports.
          OSError: a file cannot be written.
        """
        await self.expire()
        most = self._limits
        if sum(not each.state.is_over for each in self.of(owner)) >= most.waiting:
            raise ApiError(429, "too_many", f"{most.waiting} exports of yours are not done yet; wait, or cancel some")
        if len(self.of(owner)) >= most.stored:
            raise ApiError(429, "too_many", f"you have {most.stored} exports, the most allowed; delete some first")
        job = Job(
            id=new_id(),
            owner=owner,
            name=name,
            is_archive=is_archive,
            episodes=len(chosen),
            rules=rules.as_json(),
        )
        await asyncio.to_thread(self._prepare, job, chosen, rules)
        self._jobs[job.id] = job
        self._enqueue(job.id)
        return job

    async def expire(self) -> None:
        """Deletes ended exports that have expired."""
        for job in list(self._jobs.values()):
            if job.state.is_over and self.expires_ns(job) <= self._clock():
                await self.remove(job)

    def expires_ns(self, job: Job) -> int:
        """When an ended export is deleted, nanoseconds since 1970."""
        return (job.ended_ns or job.created_ns) + int(self._limits.days * _DAY_NS)

    def _enqueue(self, export: str) -> None:
        self._waiting.append(export)
        self._is_waiting.set()

    def _dequeue(self) -> str | None:
        """The export of the account that waits longest: many exports of one account do not delay the others."""
        self._waiting = [
            each for each in self._waiting if each in self._jobs and self._jobs[each].state is State.WAITING
        ]
        if not self._waiting:
            self._is_waiting.clear()
            return None
        export = min(self._waiting, key=lambda each: self._turns.get(self._jobs[each].owner, 0))
        self._waiting.remove(export)
        self._turn += 1
        self._turns[self._jobs[export].owner] = self._turn
        return export

    def of(self, owner: str) -> list[Job]:
        """The exports of an account, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.owner == owner]

    def get(self, owner: str, export: str) -> Job:
        """An export of an account.

        Raises:
          ApiError: there is none, or it belongs to another account.
        """
        job = self._jobs.get(export)
        if job is None or job.owner != owner:
            raise ApiError(404, "not_found", "there is no such export; it may have been deleted", "export")
        return job

    async def remove(self, job: Job) -> Job:
        """Cancels an export that has not ended; deletes its files and, if it has ended, its entry.

        Returns:
          The export after that.
        """
        if job.state.is_over:
            del self._jobs[job.id]
            await asyncio.to_thread(shutil.rmtree, self._directory / job.id, ignore_errors=True)
            return job
        cancelled = await self._set(job.id, state=State.CANCELLED, progress=0.0)
        if self._running == job.id and self._process is not None:
            await _killed(self._process)
        await asyncio.to_thread(clear, self._directory / job.id, JOB)
        return cancelled

    async def again(self, job: Job) -> Job:
        """Resumes a failed export; its finished parts are used again if the episodes have not changed.

        Raises:
          ApiError: it did not fail.
        """
        if job.state is not State.FAILED:
            raise ApiError(409, "stale", f"the export is {job.state.value}; only one that failed can be resumed")
        if job.is_final:
            raise ApiError(409, "final", f"the export would fail again: {job.error}")
        (self._directory / job.id / PLAN).unlink(missing_ok=True)
        waiting = await self._set(job.id, state=State.WAITING, error="")
        self._enqueue(job.id)
        return waiting

    def files(self, job: Job) -> dict[str, Path]:
        """The files that were made, by name: one archive, or the files of the dataset by their paths in it.

        Raises:
          ApiError: it is not done.
        """
        if job.state is not State.DONE:
            raise ApiError(409, "not_done", f"the export is {job.state.value}; wait until it is done", "export")
        directory = self.place(job)
        if job.is_archive:
            return {directory.name: directory} if directory.is_file() else {}
        found = sorted(each for each in directory.rglob("*") if each.is_file() and not each.is_symlink())
        return {each.relative_to(directory).as_posix(): each for each in found}

    def place(self, job: Job) -> Path:
        """The path of the archive or folder."""
        return self._directory / job.id / (f"{job.name}.zip" if job.is_archive else job.name)

    def _prepare(self, job: Job, chosen: Sequence[Chosen], rules: Rules) -> None:
        directory = self._directory / job.id
        make_directory(directory, 0o700)
        write_request(directory, job.name, chosen, rules, is_archive=job.is_archive)
        write_job(self._directory, job)

    async def _set(self, export: str, **changes: Any) -> Job:
        """Changes a job and stores it."""
        if "state" in changes:
            changes["ended_ns"] = self._clock() if changes["state"].is_over else 0
        job = self._jobs[export] = replace(self._jobs[export], **changes)
        try:
            await asyncio.to_thread(write_job, self._directory, job)
        except OSError:
            log.exception("export %s", export)  # its state is in memory, and the next server determines it again
        return job

    async def _work(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):  # asyncio.wait_for of Python 3.11 can lose a cancellation
                async with asyncio.timeout(_EXPIRE_SECONDS):
                    await self._is_waiting.wait()
            await self.expire()
            export = self._dequeue()
            if export is None:
                continue
            try:
                await self._make(export)
            except Exception as error:  # whatever the error was, other exports are waiting
                if self._is_running(export):  # else it was cancelled, and its files are deleted
                    log.exception("export %s", export)
                    await self._set(export, state=State.FAILED, error=f"{type(error).__name__}: {error}")

    def _is_running(self, export: str) -> bool:
        """Whether it was neither cancelled nor deleted."""
        job = self._jobs.get(export)
        return job is not None and job.state is State.RUNNING

    async def _make(self, export: str) -> None:
        """Runs the process of an export to its end."""
        await self._set(export, state=State.RUNNING)
        await self._leave_out_deleted(export)
        ending: dict[str, Any] = {}
        self._running, self._process = export, await _started(self._directory / export)
        if not self._is_running(export):
            self._process.kill()  # it was cancelled meanwhile
        try:
            assert self._process.stdout is not None  # noqa: S101  it is a pipe
            async for line in self._process.stdout:
                parsed = _parsed(line)
                if "progress" not in parsed:
                    ending = parsed
                elif self._is_running(export):
                    self._jobs[export] = replace(self._jobs[export], progress=float(parsed["progress"]))
            code = await self._process.wait()
        finally:
            await _killed(self._process)
            self._running, self._process = "", None
        if not self._is_running(export):
            return  # it was cancelled
        if "report" in ending and await self._leave_out_deleted(export):
            await self._set(export, state=State.WAITING, progress=0.0)
            self._enqueue(export)
        elif "report" in ending:
            await self._set(export, state=State.DONE, progress=1.0, report=ending["report"])
        else:
            error = ending.get("error") or f"the process that made it died ({code}); the studio's log may say why"
            await self._set(export, state=State.FAILED, error=error, is_final=bool(ending.get("is_final")))

    async def _leave_out_deleted(self, export: str) -> bool:
        """Removes episodes from an export that were deleted since its request; returns whether there were any."""
        directory = self._directory / export
        out = await self._deleted(await asyncio.to_thread(wanted, directory))
        if out:
            await asyncio.to_thread(leave_out, directory, out)
        return bool(out)


async def _started(directory: Path) -> asyncio.subprocess.Process:
    path = os.pathsep.join(each for each in sys.path if each)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "rlds_kit.studio.export.work",
        str(directory),
        stdin=asyncio.subprocess.PIPE,  # it ends with us
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        limit=_LINE_BYTES,
    )


async def _killed(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
