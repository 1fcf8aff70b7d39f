"""Numbered versions of models: whole or not at all, in a folder and at a URL, seen by those who watch."""

import asyncio
import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import uuid
from pathlib import Path

import pytest

from rlds_kit.base import whole_file
from rlds_kit.trials.models import ModelError, ModelRegistry, ModelVersion


@pytest.fixture(params=["folder", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "models") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/models"


def test_g23_models_have_numbered_versions_with_hash_and_metadata(place: str) -> None:
    registry = ModelRegistry(place)
    with pytest.raises(ModelError, match="no version"):
        registry.get("pong")
    first = registry.push("pong", b"one", suffix=".onnx", metadata={"return": 1.5})
    second = registry.push("pong", b"two", suffix=".pt2")
    other = registry.push("chess", b"two", suffix=".pt2")
    again = ModelRegistry(place)
    assert (again.names(), again.numbers("pong"), other.number) == (["chess", "pong"], [1, 2], 1)
    assert (again.get("pong", 1), again.get("pong")) == (first, second)
    assert (again.read(first), again.read(second)) == (b"one", b"two")
    assert first.metadata == {"return": 1.5}
    with pytest.raises(ModelError, match="versions 1 to 2, and no 3"):
        again.get("pong", 3)


def test_a_version_that_returns_has_the_old_bytes(place: str) -> None:
    """The same bytes are stored once, and are a new version."""
    registry = ModelRegistry(place)
    numbers = [registry.push("pong", content, suffix=".onnx").number for content in (b"one", b"two", b"one")]
    assert (numbers, registry.read(registry.get("pong"))) == ([1, 2, 3], b"one")


@pytest.mark.parametrize("name", ["../pong", "", "a/b", ".hidden", "x" * 101])
def test_names_stay_in_the_registry(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="as the name of a model"):
        ModelRegistry(tmp_path).push(name, b"", suffix=".onnx")


def test_other_files_than_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"expected one of the suffixes .onnx, .pt2, got '.pkl'"):
        ModelRegistry(tmp_path).push("pong", b"", suffix=".pkl")


def test_damaged_bytes_and_descriptions_are_refused(tmp_path: Path) -> None:
    registry = ModelRegistry(tmp_path)
    version = registry.push("pong", b"weights", suffix=".onnx")
    (tmp_path / "pong" / f"{version.sha256}.onnx").write_bytes(b"weighty")
    with pytest.raises(ModelError, match=f"expected the SHA-256 {version.sha256}"):
        registry.read(version)
    (tmp_path / "pong" / "00000001.json").write_text('{"name": "../pong"}', "utf-8")
    with pytest.raises(ModelError, match="expected the description"):
        registry.get("pong")


@pytest.mark.parametrize("failing", [0, 1])
def test_a_push_that_fails_leaves_no_version(failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of its files cannot be synced."""
    registry = ModelRegistry(tmp_path)
    registry.push("pong", b"one", suffix=".onnx")
    calls, sync = itertools.count(), whole_file.sync_file

    def full(path: Path) -> None:
        if next(calls) == failing:
            raise OSError(28, "No space left on device")
        sync(path)

    monkeypatch.setattr(whole_file, "sync_file", full)
    with pytest.raises(OSError, match="No space left"):
        registry.push("pong", b"two", suffix=".onnx")
    assert registry.numbers("pong") == [1]
    assert registry.push("pong", b"two", suffix=".onnx").number == 2
    assert [each.name for each in (tmp_path / "pong").iterdir() if each.suffix == ".tmp"] == []


def _push(folder: str, count: int) -> list[int]:
    registry = ModelRegistry(folder)
    return [registry.push("pong", b"%d-%d" % (os.getpid(), each), suffix=".onnx").number for each in range(count)]


def test_threads_push_at_once(tmp_path: Path) -> None:
    """Each push has a number of its own, and none is missing."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(_push, [str(tmp_path)] * 4, [5] * 4))
    assert sorted(itertools.chain(*found)) == list(range(1, 21))


@pytest.mark.thorough
def test_processes_push_at_once(tmp_path: Path) -> None:
    """The same where no lock of the program helps."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(_push, [str(tmp_path)] * 2, [20] * 2))
    assert sorted(itertools.chain(*found)) == list(range(1, 41))
    registry = ModelRegistry(tmp_path)
    assert len({registry.read(registry.get("pong", number)) for number in range(1, 41)}) == 40


def test_g23_who_watches_gets_each_new_version_once(place: str) -> None:
    """Those that are there, and those that come."""

    async def watch() -> list[ModelVersion]:
        registry = ModelRegistry(place)
        pushed = [registry.push("pong", b"1", suffix=".onnx"), registry.push("pong", b"2", suffix=".onnx")]
        seen: list[ModelVersion] = []
        async with asyncio.timeout(60), contextlib.aclosing(registry.watch("pong", after=1, every=0.01)) as versions:
            async for version in versions:
                seen.append(version)
                if len(seen) == 3:
                    break
                pushed.append(ModelRegistry(place).push("pong", b"more", suffix=".onnx"))
        assert seen == pushed[1:]
        return seen

    assert [version.number for version in asyncio.run(watch())] == [2, 3, 4]
