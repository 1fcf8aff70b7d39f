"""`rlds_kit.remote.disk_cache`."""

import multiprocessing
import os
import random
from pathlib import Path

import pytest

from rlds_kit.remote import disk_cache
from rlds_kit.remote.disk_cache import DiskCache, limit_of
from rlds_kit.remote.range_map import RangeMap, joined

KEY = "https://host/file 1000000 ETag=1"


def content(begin: int, size: int) -> bytes:
    """Bytes of a file, different at every place."""
    return random.Random(begin).randbytes(size)


def get(cache: DiskCache, begin: int, end: int, key: str = KEY) -> bytes | None:
    """A range, if it is cached completely."""
    found = RangeMap[bytes]()
    for piece in cache.get(key, begin, end):
        found.add(*piece)
    return joined(found, begin, end)


def size_of(directory: Path) -> int:
    """Bytes of all entries, finished or not."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file() and path.name != ".lock")


def entries(directory: Path) -> list[Path]:
    """The files of the cache."""
    return sorted(directory.rglob(f"*{disk_cache.SUFFIX}"))


def test_what_was_added_is_there(tmp_path: Path) -> None:
    """Whole ranges, parts of them, and ranges longer than what is hashed together."""
    cache, data = DiskCache(tmp_path, 1 << 20), content(0, 200_000)
    cache.add(KEY, [(1_000, data), (500_000, b"end")])
    for other in (cache, DiskCache(tmp_path, 1 << 20)):  # another process would have another one
        assert get(other, 1_000, 201_000) == data
        assert get(other, 66_000, 66_010) == data[65_000:65_010]
        assert get(other, 500_000, 500_003) == b"end"
        assert get(other, 0, 2_000) is None
        assert get(other, 1_000, 2_000, "another version") is None


def test_what_another_process_adds_is_found(tmp_path: Path) -> None:
    """A cache reads the directory again if it does not have a range."""
    mine, theirs = DiskCache(tmp_path, 1 << 20), DiskCache(tmp_path, 1 << 20)
    assert get(mine, 0, 100) is None
    theirs.add(KEY, [(0, content(0, 100))])
    assert get(mine, 0, 100) == content(0, 100)


def test_limit_is_held(tmp_path: Path) -> None:
    """The limit is never exceeded; recently used entries are not evicted."""
    cache = DiskCache(tmp_path, 50_000)
    cache.add(KEY, [(0, content(0, 10_000))])
    (first,) = entries(tmp_path)
    for number in range(1, 30):
        for other in entries(tmp_path):
            if other != first:  # time stands still between two ticks of the clock
                os.utime(other, ns=(before := other.stat().st_mtime_ns - 10**9, before))
        assert get(cache, 0, 10_000) == content(0, 10_000)
        cache.add(KEY, [(number * 100_000, content(number, 10_000))])
        assert size_of(tmp_path) <= 50_000
    assert get(cache, 0, 10_000) == content(0, 10_000)
    assert get(cache, 100_000, 110_000) is None


def test_number_of_entries_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small entries do not become too many to look at."""
    monkeypatch.setattr(disk_cache, "MAX_ENTRIES", 5)
    cache = DiskCache(tmp_path, 1 << 20)
    for number in range(20):
        cache.add(KEY, [(number * 10, b"0123456789")])
    assert len(entries(tmp_path)) == 5


def test_what_does_not_fit_is_not_kept(tmp_path: Path) -> None:
    """Nothing is removed for an entry that is larger than the cache; one of no bytes has no files."""
    cache = DiskCache(tmp_path, 10_000)
    cache.add(KEY, [(0, b"small")])
    cache.add(KEY, [(100, bytes(20_000))])
    assert get(cache, 0, 5) == b"small"
    none = DiskCache(tmp_path / "none", 0)
    none.add(KEY, [(0, b"small")])
    assert get(none, 0, 5) is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("at", [0, 9, 20, 45, -1])
def test_damage_is_never_returned(tmp_path: Path, at: int) -> None:
    """A flipped bit in an entry invalidates its range, which can be added again."""
    data = content(0, 1_000)
    DiskCache(tmp_path, 1 << 20).add(KEY, [(0, data)])
    (entry,) = entries(tmp_path)
    raw = bytearray(entry.read_bytes())
    raw[at] ^= 1
    entry.write_bytes(raw)
    cache = DiskCache(tmp_path, 1 << 20)
    assert get(cache, 0, 1_000) is None
    cache.add(KEY, [(0, data)])
    assert get(cache, 0, 1_000) == data


@pytest.mark.parametrize("kept", [0, 5, 30, 500])
def test_cut_entries_are_never_returned(tmp_path: Path, kept: int) -> None:
    """An entry may be cut anywhere, and while it is known."""
    known = DiskCache(tmp_path, 1 << 20)
    known.add(KEY, [(0, content(0, 1_000))])
    (entry,) = entries(tmp_path)
    entry.write_bytes(entry.read_bytes()[:kept])
    assert get(known, 0, 1_000) is None
    assert get(DiskCache(tmp_path, 1 << 20), 0, 1_000) is None


def test_entries_that_are_gone_are_not_there(tmp_path: Path) -> None:
    """Another process may make room at any time."""
    cache = DiskCache(tmp_path, 1 << 20)
    cache.add(KEY, [(0, b"bytes")])
    entries(tmp_path)[0].unlink()
    assert get(cache, 0, 5) is None


def test_what_a_killed_process_left_makes_room(tmp_path: Path) -> None:
    """Entries that were not finished are removed like others."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "left.partial").write_bytes(bytes(9_000))
    cache = DiskCache(tmp_path, 10_000)
    cache.add(KEY, [(0, content(0, 5_000))])
    assert get(cache, 0, 5_000) == content(0, 5_000)
    assert size_of(tmp_path) <= 10_000


def test_a_place_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    """Reading continues without a cache."""
    (tmp_path / "file").touch()
    cache = DiskCache(tmp_path / "file" / "cache", 1 << 20)
    with pytest.warns(RuntimeWarning, match="cannot be cached there"):
        cache.add(KEY, [(0, b"bytes")])
    cache.add(KEY, [(0, b"bytes")])
    assert get(cache, 0, 5) is None


def use(directory: Path, seed: int) -> None:
    """Adds and reads, in a process of its own."""
    cache, rng = DiskCache(directory, 300_000), random.Random(seed)
    for _ in range(60):
        number = rng.randrange(20)
        begin = number * 100_000
        found = get(cache, begin, begin + 30_000)
        assert found is None or found == content(number, 30_000)
        if found is None:
            cache.add(KEY, [(begin, content(number, 30_000))])
        assert size_of_quickly(directory) <= 300_000


def size_of_quickly(directory: Path) -> int:
    """Bytes of entries that are still there when they are looked at."""
    total = 0
    for path in directory.glob("*/*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def test_processes_share_a_cache(tmp_path: Path) -> None:
    """With three at once, none reads a wrong byte, and the limit is not exceeded."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=use, args=(tmp_path, seed)) for seed in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert size_of(tmp_path) <= 300_000


def test_limit_comes_from_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument first; then the environment; 4 GiB else. What is no number is refused."""
    assert limit_of(None) == 4 << 30
    monkeypatch.setenv("RLDS_KIT_CACHE_BYTES", "1000")
    assert (limit_of(None), limit_of(5)) == (1000, 5)
    monkeypatch.setenv("RLDS_KIT_CACHE_BYTES", "4 GB")
    with pytest.raises(ValueError, match="expected a number of bytes, got '4 GB'"):
        limit_of(None)
    with pytest.raises(ValueError, match="0 bytes or more"):
        limit_of(-1)
