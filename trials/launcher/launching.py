"""Starts programs, watches them, and ends them."""

import contextlib
import dataclasses
import http.client
import os
import subprocess
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from rlds_kit.trials.launcher.plan import Plan, PlanError, ProcessPlan
from rlds_kit.trials.launcher.status import ProcessStatus, State, write_status

LOOK_SECONDS: Final = 0.1
END_SECONDS: Final = 10.0
"""For a program to end after SIGTERM; then it is killed."""
_OK: Final = 200


class Launcher:
    """Runs the programs of a plan.

    Args:
      plan: of them.
      report: called with each change of a program.
      is_ended: called every moment: whether to end all of them.
    """

    def __init__(
        self,
        plan: Plan,
        report: Callable[[ProcessStatus], object] = lambda _: None,
        is_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self._plan, self._report, self._is_ended = plan, report, is_ended
        self._statuses = {each.name: ProcessStatus(name=each.name) for each in plan.processes}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self) -> bool:
        """Starts all programs, and returns when all have ended; whether none failed.

        Raises:
          PlanError: a program is not ready in time, or cannot be started; all others are ended.
          OSError: the status cannot be written.
        """
        try:
            for each in self._plan.processes:
                self._start(each)
                if not self._wait_until_ready(each):
                    break
            while self._running and not self._is_ended():
                self._look()
                time.sleep(LOOK_SECONDS)
        finally:
            self._end()
        return all(each.state is not State.FAILED for each in self._statuses.values())

    def _start(self, plan: ProcessPlan) -> None:
        env = {**os.environ, **plan.env}
        try:
            process = subprocess.Popen(  # noqa: S603  the file says what to start
                plan.command, cwd=self._plan.path.absolute().parent, env=env, start_new_session=True
            )
        except OSError as error:
            self._set(plan.name, State.FAILED)
            raise PlanError(f"{self._plan.path}: {plan.name} cannot be started: {error}") from error
        self._running[plan.name] = process
        self._set(plan.name, State.STARTING if plan.ready else State.RUNNING, pid=process.pid)

    def _wait_until_ready(self, plan: ProcessPlan) -> bool:
        """Whether it is; not if all programs are to end."""
        deadline = time.monotonic() + plan.ready_seconds
        while plan.ready and not _answers(plan.ready):
            self._look()
            if self._is_ended():
                return False
            if plan.name not in self._running:
                raise PlanError(f"{self._plan.path}: {plan.name} ended before it was ready")
            if time.monotonic() > deadline:
                raise PlanError(
                    f"{self._plan.path}: {plan.name} is not ready after {plan.ready_seconds:g} seconds: {plan.ready}"
                )
            time.sleep(LOOK_SECONDS)
        self._set(plan.name, State.RUNNING)
        return True

    def _look(self) -> None:
        """Notes who ended, and starts those again that may fail."""
        plans = {each.name: each for each in self._plan.processes}
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[name]
            self._set(name, State.FAILED if code else State.ENDED, code=code)
            if code and self._statuses[name].restarts < plans[name].restarts:
                self._set(name, State.WAITING, code=None, restarts=self._statuses[name].restarts + 1)
                self._start(plans[name])

    def _end(self) -> None:
        """Ends all programs, those first that need others."""
        for name, process in reversed(list(self._running.items())):
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._set(name, State.ENDED, code=process.returncode)
        self._running.clear()

    def _set(self, name: str, state: State, **changes: int | None) -> None:
        status = dataclasses.replace(self._statuses[name], state=state, **changes)  # type: ignore[arg-type]
        if status != self._statuses[name]:
            self._statuses[name] = status
            write_status(self._plan.path, self._statuses.values())
            self._report(status)


def _answers(url: str) -> bool:
    """Whether a URL answers with 200."""
    parts = urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(parts.netloc, timeout=2)) as connection:
        try:
            connection.request("GET", parts.path or "/")
            return connection.getresponse().status == _OK
        except (OSError, http.client.HTTPException):
            return False
