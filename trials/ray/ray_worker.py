"""An actor of Ray that answers requests, as an event loop sees it."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.trials.ray.hosted import Hosted
from rlds_kit.trials.workers.backend import EndIdle
from rlds_kit.trials.workers.channel import ProcessLostError
from rlds_kit.trials.workers.job import Job

PATIENCE_SECONDS: Final = 2.0
"""For a worker to begin; then those that are idle end, again and again."""
WATCH_SECONDS: Final = 1.0
"""Between two checks of a worker that has nothing to do, and before it is started again elsewhere."""
TRIES: Final = 5
"""To start a worker: its node may fail before it has begun."""

_NAMES: Final = ("class_name:", "actor_id:", "pid:", "name:", "namespace:", "ip:")
"""Lines of Ray's errors that say nothing to people."""


@dataclass(eq=False, slots=True)
class _Pending:
    """A request on its way.

    Attributes:
      future: of its answer.
      data: its pickle.
    """

    future: "asyncio.Future[Any]"
    data: bytes


class RayWorker:
    """An actor of Ray. Its first request waits until a node has space for it.

    Args:
      library: Ray.
      job: what it does.
      options: of the actor, for Ray.
      needs: what it takes of a node, for people.
      on_lost: called with the reason when it is lost.
      answer_seconds: for a request; then it is killed. None: it may take for ever.
      start_seconds: for a node to have space, and for the actor to begin there.
      end_idle: ends workers that are idle; called while no node has space.
    """

    def __init__(
        self,
        library: Any,
        job: Job,
        options: Mapping[str, Any],
        needs: str,
        on_lost: Callable[[str], None],
        *,
        answer_seconds: float | None,
        start_seconds: float,
        end_idle: EndIdle | None,
    ) -> None:
        self._library, self._job, self._needs, self._on_lost = library, job, needs, on_lost
        self._answer_seconds, self._start_seconds, self._end_idle = answer_seconds, start_seconds, end_idle
        self._loop = asyncio.get_running_loop()
        self._lost, self._pid = "", 0
        self._waiting: list[_Pending] = []  # for the answer before, where requests are answered together
        self._sent: set[_Pending] = set()
        self._class = library.remote(**options)(Hosted)
        self._handle = self._class.remote(job)
        self._life = self._loop.create_task(self._live())
        self._begun = self._loop.create_future()

    @property
    def pid(self) -> int:
        """Of the process, on its node; 0: it has not begun."""
        return self._pid

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return not self._lost

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is pending, or it has not begun."""
        return bool(self._sent or self._waiting) or not self._begun.done()

    async def _live(self) -> None:
        """Waits until it begins, and checks it from then on: Ray does not say that an actor has died."""
        try:
            self._pid = await self._placed()
            if not self._begun.done():
                self._begun.set_result(None)
            while not self._lost:
                await asyncio.sleep(WATCH_SECONDS)
                if not self._sent:
                    await self._call("begun")
        except ProcessLostError as error:
            self._lose(str(error))
        except Exception as error:  # noqa: BLE001  or those who wait would wait for ever
            self._lose(f"the {self._job.what} could not begin: {type(error).__name__}: {error}")

    async def _placed(self) -> int:
        """Waits until it has begun on a node; returns the number of its process."""
        try:
            async with asyncio.timeout(self._start_seconds):
                for _ in range(TRIES - 1):
                    with contextlib.suppress(ProcessLostError):  # its node failed before it had done anything
                        return await self._first_answer()
                    await asyncio.sleep(WATCH_SECONDS)
                    if self._lost:
                        raise ProcessLostError(self._lost)
                    self._handle = self._class.remote(self._job)
                return await self._first_answer()
        except TimeoutError:
            self._end_now()
            raise ProcessLostError(
                f"no node of the cluster had space for the {self._job.what}, which takes {self._needs}, in "
                f"{self._start_seconds:g} seconds; the cluster has {_totals(self._library)}"
            ) from None

    async def _first_answer(self) -> int:
        """Waits for an answer, and has those that are idle end while there is none."""
        begun = asyncio.ensure_future(self._call("begun"))
        try:
            while not (await asyncio.wait([begun], timeout=PATIENCE_SECONDS))[0]:
                if self._end_idle is not None:
                    await self._end_idle()
            found: int = begun.result()
            return found
        finally:
            begun.cancel()

    async def _call(self, method: str, *arguments: Any) -> Any:  # what the method returns
        """Calls the actor.

        Raises:
          ProcessLostError: it is dead, or raised an error, which only a defect does.
        """
        done: asyncio.Future[Any] = self._loop.create_future()

        def arrived(call: Any) -> None:
            error = call.exception()
            if done.done():
                return
            if error is None:
                done.set_result(call.result())
            else:
                done.set_exception(ProcessLostError(self._why(error)))

        try:
            reference = getattr(self._handle, method).remote(*arguments)
        except Exception as error:  # as when the cluster is gone
            raise ProcessLostError(self._why(error)) from error
        reference.future().add_done_callback(partial(self._call_soon, arrived))
        return await done

    def _call_soon(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _why(self, error: BaseException) -> str:
        cause = getattr(error, "cause", None)  # of an error in the actor, whose own text is a traceback
        text = str(error) if cause is None else f"{type(cause).__name__}: {cause}"
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        known = [
            line for line in lines if not line.startswith(("class_name:", "actor_id:", "pid:", "namespace:", "ip:"))
        ]
        return f"the process of the {self._job.what} is gone: {' '.join(known[:3])[:500]}"

    async def request(self, number: int, request: Any) -> Any:  # the answer that belongs to the request
        """Has a request done.

        Args:
          number: of what it is for.
          request: what to do.

        Raises:
          ProcessLostError: it is not known whether it was done.
        """
        data = self._library.cloudpickle.dumps((number, request))
        await self._until_begun()
        pending = _Pending(self._loop.create_future(), data)
        self._waiting.append(pending)
        self._send()
        try:
            async with asyncio.timeout(self._answer_seconds):
                return self._library.cloudpickle.loads(await pending.future)
        except TimeoutError:
            what = f"{type(request).__name__} of {self._job.what} {number}"
            self.kill(f"no answer to {what} in {self._answer_seconds:g} seconds; its process was killed")
            raise ProcessLostError(self._lost) from None

    async def _until_begun(self) -> None:
        if not (self._begun.done() or self._lost):
            await asyncio.shield(self._begun)
        if self._lost:
            raise ProcessLostError(self._lost)

    def _send(self) -> None:
        """Sends requests one by one; or together, when those before are answered."""
        if not self._waiting or (self._job.is_batched and self._sent):
            return
        batch, self._waiting = self._waiting, []
        self._sent.update(batch)
        task = self._loop.create_task(self._answered(batch))
        task.add_done_callback(lambda _: self._send())

    async def _answered(self, batch: Sequence[_Pending]) -> None:
        try:
            answers = await self._call("answer", [each.data for each in batch])
        except ProcessLostError as error:
            self._lose(str(error))
            return
        finally:
            self._sent.difference_update(batch)
        for each, answer in zip(batch, answers, strict=True):
            if not each.future.done():
                each.future.set_result(answer)

    def _lose(self, reason: str) -> None:
        if self._lost:
            return
        self._lost = reason
        self._refuse()
        self._end_now()
        self._on_lost(reason)

    def _refuse(self) -> None:
        """Fails all pending requests."""
        for each in (*self._waiting, *self._sent):
            if not each.future.done():
                each.future.set_exception(ProcessLostError(self._lost))
        if not self._begun.done():
            self._begun.set_result(None)

    def _end_now(self) -> None:
        with contextlib.suppress(Exception):  # it is dead, or Ray is
            self._library.kill(self._handle)

    def kill(self, reason: str) -> None:
        """Ends the process now; pending requests fail with the reason."""
        self._end_now()
        self._lose(reason)

    async def close(self, seconds: float) -> None:
        """Ends the process, by force if it takes longer."""
        was_lost, self._lost = bool(self._lost), self._lost or "the server is shut down"
        if not was_lost and self._pid:
            with contextlib.suppress(ProcessLostError, TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._call("close")
        self._end_now()
        self._refuse()
        await cancel_and_wait(self._life)


def _totals(library: Any) -> str:
    return ", ".join(f"{number:g} {name}" for name, number in sorted(library.cluster_resources().items()))
