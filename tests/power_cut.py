"""What a power cut would leave of a directory: the bytes and names that were synced, and of the others whatever hurts.

While a `Disk` is watched, `os.fsync` notes the bytes of the file, or the names in the directory, that it is called
with. They are taken from the system, so that it does not matter which library wrote them. A file is known by its
number, as on a real disk: a name is durable when its directory was synced, the bytes when the file was.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from unittest import mock

Number: TypeAlias = tuple[int, int]
"""Of a file: device and inode."""
Tree: TypeAlias = dict[str, bytes | None]
"""Files by their path, and their bytes; None stands for a directory."""

_CALLS: Final = ("rename", "replace", "link", "unlink", "remove", "rmdir", "mkdir")


class Cut(NamedTuple):
    """How unkind a power cut is to what was not synced.

    Attributes:
      name: of it.
      names: whether names have reached the disk that were not synced, as they were at that moment.
      tail: what becomes of bytes that were added to a file and not synced: "lost", "half", "zeros" or "there". A file
        that was written anew, and not synced, is empty where they are not "there".
      top: whether `names` is also true of the names in the uppermost directory.
    """

    name: str
    names: bool
    tail: str
    top: bool = True


CUTS: Final = (
    Cut("nothing that was not synced", names=False, tail="lost"),
    Cut("names without bytes", names=True, tail="lost"),
    Cut("names and half of the bytes", names=True, tail="half"),
    Cut("names and zeros", names=True, tail="zeros"),
    Cut("bytes without names", names=False, tail="there"),
    Cut("names of other directories", names=True, tail="there", top=False),
    Cut("everything", names=True, tail="there"),
)
HARSHEST: Final = CUTS[0]


class Disk:
    """Tracks which content of a directory would survive. The initial content would.

    Args:
      root: the directory; durable itself.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._guard = threading.RLock()
        self._held: dict[Number, int] = {}  # open, so that no other file gets the number
        self._bytes: dict[Number, bytes] = {}
        self._names: dict[Number, dict[str, Number]] = {}
        for folder, _, files in os.walk(root):
            for path in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118
                with _opened(path) as descriptor:
                    self._note(descriptor)

    @contextmanager
    def watched(self, at_call: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Follows what this process syncs; `at_call` is called before each call that changes what would be left."""

        def fsync(descriptor: int) -> None:
            at_call()
            self._note(descriptor)
            at_call()

        def before(call: Any) -> Any:
            def called(*arguments: Any, **options: Any) -> Any:
                at_call()
                return call(*arguments, **options)

            return called

        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch("os.fsync", fsync))
            for name in _CALLS:
                stack.enter_context(mock.patch(f"os.{name}", before(getattr(os, name))))
            yield

    def left(self, cut: Cut = HARSHEST) -> Tree:
        """What a power cut at this moment leaves."""
        with self._guard, _opened(self.root) as root:
            found: Tree = {}
            self._collect(found, "", root, cut)
            return found

    def close(self) -> None:
        """Lets go of all files."""
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()

    def _note(self, descriptor: int) -> None:
        with self._guard:
            number = self._hold(descriptor)
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                names: dict[str, Number] = {}
                for name in os.listdir(descriptor):
                    with contextlib.suppress(FileNotFoundError), _opened(name, descriptor) as each:
                        names[name] = self._hold(each)
                self._names[number] = names
            else:
                self._bytes[number] = _content(descriptor)

    def _hold(self, descriptor: int) -> Number:
        number = _number(descriptor)
        if number not in self._held:
            self._held[number] = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
        return number

    def _collect(self, found: Tree, path: str, descriptor: int, cut: Cut) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            found[path] = self._remaining(descriptor, cut)
            return
        if path:
            found[path] = None
        if not cut.names or not (path or cut.top):
            for name, number in self._names.get(_number(descriptor), {}).items():
                self._collect(found, os.path.join(path, name), self._held[number], cut)  # noqa: PTH118
            return
        for name in os.listdir(descriptor):
            with contextlib.suppress(FileNotFoundError), _opened(name, descriptor) as each:
                self._collect(found, os.path.join(path, name), each, cut)  # noqa: PTH118

    def _remaining(self, descriptor: int, cut: Cut) -> bytes:
        synced, now = self._bytes.get(_number(descriptor), b""), _content(descriptor)
        if cut.tail == "there":
            return now
        if not now.startswith(synced):  # written anew
            return synced if cut.tail == "lost" and not cut.names else b""
        added = now[len(synced) :]
        return synced + {"lost": b"", "half": added[: len(added) // 2], "zeros": bytes(len(added))}[cut.tail]


@dataclass
class Story:
    """The files that would remain after a power cut, at every moment of an operation, and after it.

    Attributes:
      before: the initial files.
      during: the remaining files after each kind of cut before each call, each tree once.
      after: the remaining files after each kind of cut now.
      now: the current files.
    """

    before: Tree
    during: list[Tree] = field(default_factory=list)
    after: list[Tree] = field(default_factory=list)
    now: Tree = field(default_factory=dict)


def story_of(root: Path, act: Callable[[], object]) -> Story:
    """Does something below a directory, and cuts the power at every moment of it."""
    disk = Disk(root)
    story, seen = Story(disk.left()), set[int]()

    def look() -> None:
        for cut in CUTS:
            tree = disk.left(cut)
            key = hash(frozenset(tree.items()))
            if key not in seen:
                seen.add(key)
                story.during.append(tree)

    with disk.watched(look):
        act()
    story.after = [disk.left(cut) for cut in CUTS]
    story.now = disk.left(CUTS[-1])
    disk.close()
    return story


def files(tree: Tree, *below: str) -> dict[str, bytes]:
    """The files of a tree, or those at or below some paths, hidden ones left out."""
    return {
        path: content
        for path, content in tree.items()
        if content is not None
        and not any(part.startswith(".") for part in path.split("/"))
        and (not below or any(path == each or path.startswith(f"{each}/") for each in below))
    }


def assert_whole(story: Story, *paths: str) -> None:
    """Each path is as it was or as it is now, whenever the power is cut; in the end all are as they are now."""
    for path in paths:
        old, new = files(story.before, path), files(story.now, path)
        assert new, f"nothing is at {path}"
        for tree in story.during:
            assert files(tree, path) in (old, new), f"a part of {path}"
        for tree in story.after:
            assert files(tree, path) == new, f"{path} is not durable"


def restore(tree: Tree, directory: Path) -> Path:
    """Writes a tree to a directory, which is made, and returns it."""
    directory.mkdir(parents=True)
    for path, content in tree.items():
        place = directory / path
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return directory


@contextmanager
def _opened(path: str | os.PathLike[str], directory: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _number(descriptor: int) -> Number:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _content(descriptor: int) -> bytes:
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:  # noqa: PTH123  it may be open for writing alone
        return file.read()
