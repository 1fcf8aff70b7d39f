"""Pictures of episodes whose observations are not pictures: rendered again, in a separate process for each episode.

`rlds_kit.tools.replay.drawn` makes them; a crash or a hang of an environment there harms no other request.
"""

import importlib
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Final

import rlds_kit
from rlds_kit.base.errors import RldsKitError
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.tools.replay.drawn import NotDrawnError, drawn
from rlds_kit.trials.frames.picture import encode_exactly
from rlds_kit.trials.workers import process
from rlds_kit.trials.workers.worker import watch_parent

MOST_EPISODES: Final = 8
"""Maximum number of episodes with pictures in memory; then those of the least recently used one are dropped."""
MOST_BYTES: Final = 128 << 20
"""Maximum bytes of the pictures of an episode; later steps are not drawn."""
AT_ONCE: Final = 2
"""Maximum number of drawing processes."""
PICTURE_SECONDS: Final = 60.0
"""Maximum wait for the next picture; then the process is killed."""


class Drawings:
    """The episodes that are drawn again. Safe to use from several threads.

    Args:
      modules: to import before an environment is made, because they register environments.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self._modules = tuple(modules)
        self._lock = threading.Lock()
        self._places = threading.Semaphore(AT_ONCE)
        self._drawings: OrderedDict[uuid.UUID, _Drawing] = OrderedDict()

    def picture(self, directory: str, episode: uuid.UUID, step: int) -> bytes:
        """The picture of a step, as PNG; returns when it is drawn.

        Args:
          directory: of the dataset.
          episode: id of the episode.
          step: number of the step.

        Raises:
          ApiError: it cannot be drawn; the message gives the reason.
        """
        drawing = self._of(directory, episode)
        found = drawing.picture(step)
        if found is None and not drawing.reason:  # the episode was still being recorded then, and is longer now
            drawing = self._of(directory, episode, instead_of=drawing)
            found = drawing.picture(step)
        if found is None:
            reason = drawing.reason or f"the episode has no step {step}"
            raise ApiError(404, "not_drawn", f"this step cannot be drawn again: {reason}", "step")
        return found

    def close(self) -> None:
        """Ends all processes."""
        with self._lock:
            drawings = list(self._drawings.values())
            self._drawings.clear()
        for each in drawings:
            each.stop()
        for each in drawings:
            each.join()

    def _of(self, directory: str, episode: uuid.UUID, instead_of: "_Drawing | None" = None) -> "_Drawing":
        gone = []
        with self._lock:
            if self._drawings.get(episode) is instead_of:
                self._drawings.pop(episode, None)
                self._drawings[episode] = _Drawing(self._places, directory, episode, self._modules)
            self._drawings.move_to_end(episode)
            found = self._drawings[episode]
            while len(self._drawings) > MOST_EPISODES:
                gone.append(self._drawings.popitem(last=False)[1])
        for each in gone:
            each.stop()
        return found


class _Drawing:
    """One episode: a process that draws, and a thread that receives the pictures.

    Attributes:
      reason: why there are no more pictures; "" at the end of the episode.
    """

    def __init__(self, places: threading.Semaphore, directory: str, episode: uuid.UUID, modules: Sequence[str]) -> None:
        self._places, self._arguments = places, (directory, episode.hex, tuple(modules))
        self._news = threading.Condition()
        self._pictures: list[bytes] = []
        self._size, self._is_over = 0, False
        self.reason = ""
        self._thread = threading.Thread(target=self._draw, name="rlds_kit-drawing", daemon=True)
        self._thread.start()

    def picture(self, step: int) -> bytes | None:
        """The picture of a step; None if there is none."""
        with self._news:
            self._news.wait_for(lambda: len(self._pictures) > step or self._is_over)
            return self._pictures[step] if step < len(self._pictures) else None

    def stop(self) -> None:
        """Requests that the process ends soon."""
        self._end("others are shown; request it again")

    def join(self) -> None:
        """Returns when the process has ended."""
        self._thread.join()

    def _draw(self) -> None:
        with self._places:
            if self._is_over:
                return
            pipe, theirs = Pipe(duplex=False)
            drawing = process.start(draw, theirs, *self._arguments)
            theirs.close()
            try:
                self._end(self._take_all(pipe))
            finally:
                drawing.kill()
                drawing.join()
                pipe.close()

    def _take_all(self, pipe: "Connection[Any, Any]") -> str:
        """Receives pictures until there are no more; returns the reason, unless it is the end of the episode."""
        heard = time.monotonic()
        while not self._is_over:
            if not pipe.poll(0.25):
                if time.monotonic() > heard + PICTURE_SECONDS:
                    return f"the environment drew nothing for {PICTURE_SECONDS:g} seconds"
                continue
            try:
                found = pipe.recv()
            except (EOFError, OSError):
                return "the process of the environment ended"
            heard = time.monotonic()
            if isinstance(found, str):
                return found
            with self._news:
                self._pictures.append(found)
                self._size += len(found)
                self._news.notify_all()
            if self._size > MOST_BYTES:
                return f"the pictures of the steps before take {MOST_BYTES >> 20} MiB"
        return self.reason

    def _end(self, reason: str) -> None:
        with self._news:
            if not self._is_over:
                self._is_over, self.reason = True, reason
            self._news.notify_all()


def draw(pipe: "Connection[Any, Any]", directory: str, episode: str, modules: Sequence[str]) -> None:
    """Draws an episode in a separate process.

    Args:
      pipe: receives the pictures as PNG, and at the end a text: why there are no more, or "".
      directory: of the dataset.
      episode: its id.
      modules: to import first.
    """
    threading.Thread(target=watch_parent, daemon=True).start()
    try:
        for module in modules:
            importlib.import_module(module)
        dataset = rlds_kit.open(directory, include_open=True)
        found = next(each for each in dataset.episodes if each.id.hex == episode)
        for picture in drawn(found):
            pipe.send(encode_exactly(picture))
        pipe.send("")
    except NotDrawnError as error:
        pipe.send(str(error))
    except (RldsKitError, StopIteration) as error:
        pipe.send(f"the episode cannot be read: {error}")
    except OSError:
        return  # the page is gone
    except Exception as error:  # noqa: BLE001  an environment may raise anything
        pipe.send(f"{type(error).__name__}: {error}")
