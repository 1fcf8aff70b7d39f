"""Datasets on a web server: the requests, and the behaviour when the server misbehaves."""

import pickle
import random
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.errors import DamagedError, FormatError, NotADatasetError
from rlds_kit.remote import disk_cache
from rlds_kit.remote.errors import RemoteChangedError, RemoteError
from rlds_kit.remote.path import RemotePath
from rlds_kit.tools.upkeep.statistics import statistics
from rlds_kit.tools.upkeep.verify import verify
from tests.remote.conftest import SHARDS
from tests.remote.datasets import record, require_same
from tests.remote.server import CHECKSUMS, Server, list_files, serving

WRITERS = SHARDS
"""A shard of each."""
REWARD = "reward"


def spent(server: Server, work: Callable[[], object]) -> tuple[int, int]:
    """Counts the requests and bytes of some work."""
    requests, sent = len(server.requests), server.sent
    work()
    return len(server.requests) - requests, server.sent - sent


def total(directory: Path) -> int:
    """Bytes of the dataset."""
    return sum(path.stat().st_size for path in directory.iterdir())


def test_it_is_the_same_dataset(recorded: Path, server: Server) -> None:
    """Every value, the spec, the description and the digest."""
    here, there = rlds_kit.open(recorded), rlds_kit.open(server.url)
    require_same(here, there)
    assert (here.spec, here.description, here.content_digest) == (there.spec, there.description, there.content_digest)
    assert repr(there) == repr(here).replace(str(recorded), server.url)


def test_what_opening_takes(server: Server) -> None:
    """Two requests for each shard, its head and its tail, one for each writer, and one for the list; and few bytes."""
    requests, sent = spent(server, lambda: rlds_kit.open(server.url))
    assert requests <= 2 * SHARDS + WRITERS + 1
    assert sent <= SHARDS * 145_000
    requests, sent = spent(server, lambda: rlds_kit.open(server.url))  # tails are in the cache
    assert requests <= SHARDS + WRITERS + 1
    assert sent <= SHARDS * 10_000


def test_what_a_column_takes(recorded: Path, server: Server) -> None:
    """Rewards cost the headers of blocks and the rewards, not the pixels between them."""
    here, there = rlds_kit.open(recorded), rlds_kit.open(server.url)
    blocks = sum(len(entry.blocks) for entry in there.source().entries)
    rewards: list[np.ndarray] = []
    requests, sent = spent(server, lambda: rewards.extend(episode[REWARD] for episode in there.episodes))
    for found, expected in zip(rewards, here.episodes, strict=True):
        np.testing.assert_array_equal(found, expected[REWARD])
    assert requests <= 2 * blocks
    assert sent < 0.05 * total(recorded)


def test_what_the_first_batch_takes(recorded: Path, server: Server) -> None:
    """Windows of eight steps cost their blocks, and a second time nothing."""
    here, there = rlds_kit.open(recorded), rlds_kit.open(server.url)
    samples = there.windows(4)
    chosen = [5, 300, 777]
    found: list[dict[str, np.ndarray]] = []
    requests, sent = spent(server, lambda: found.append(samples.gather(chosen)))
    expected = here.windows(4).gather(chosen)
    np.testing.assert_array_equal(found[0]["observation"], expected["observation"])
    assert requests <= 2 * 2 * len(chosen)  # header and columns of at most two blocks for each
    assert sent < 0.2 * total(recorded)
    assert spent(server, lambda: rlds_kit.open(server.url).windows(4).gather(chosen))[0] <= SHARDS + WRITERS + 1


def test_neighbours_come_together(recorded: Path, server: Server) -> None:
    """A whole episode comes in few requests of at most 4 MiB."""
    there = rlds_kit.open(server.url)
    blocks = len(there.source().entries[0].blocks)
    requests, _ = spent(server, lambda: there.episodes[0]["observation"])
    assert requests <= blocks + 1  # headers one by one, then all columns at once
    assert max(request.sent for request in server.requests) <= 4 << 20


def test_where_asks_for_all_metadata_at_once(server: Server) -> None:
    """Starts and ends of episodes are small, and many."""
    there = rlds_kit.open(server.url)
    chosen: list[rlds_kit.Dataset] = []
    requests, sent = spent(server, lambda: chosen.append(there.where(lambda metadata: metadata["number"] == 2)))
    assert [episode.metadata["number"] for episode in chosen[0].episodes] == [2]
    assert requests <= 2 * len(there.episodes)
    assert sent <= 4_096 * len(there.episodes)


@pytest.mark.parametrize("shuffle", [None, "blocks", "global"])
def test_batches_are_the_same(recorded: Path, server: Server, shuffle: str) -> None:
    """Whatever the order, batch by batch."""
    here, there = rlds_kit.open(recorded), rlds_kit.open(server.url)
    options: Any = {"shuffle": shuffle, "seed": 3, "memory": 4 << 20}
    batches = zip(here.transitions().batches(64, **options), there.transitions().batches(64, **options), strict=True)
    count = 0
    for a, b in batches:
        count += 1
        for name in ("observation", "next_observation", "action", "reward", "episode", "step"):
            np.testing.assert_array_equal(a[name], b[name])
    assert count > 10


def test_no_byte_is_fetched_twice(server: Server, recorded: Path) -> None:
    """An epoch after another costs nothing, and the first no byte that is wanted twice."""
    there = rlds_kit.open(server.url)
    loader = there.windows(8, stride=8).batches(16, shuffle="blocks", seed=0)
    spent(server, lambda: list(loader))
    assert spent(server, lambda: list(loader)) == (0, 0)
    assert server.sent < 1.2 * total(recorded)


def test_without_a_cache_on_disk(server: Server, recorded: Path, cache: Path) -> None:
    """The download is complete, and no temporary file remains."""
    require_same(rlds_kit.open(recorded), rlds_kit.open(server.url, cache_bytes=0))
    assert not cache.exists()


def test_the_environment_limits_the_cache(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small cache costs requests, and is never larger than it may be."""
    monkeypatch.setenv("RLDS_KIT_CACHE_BYTES", "1000000")
    for episode in rlds_kit.open(server.url).episodes:
        assert len(episode["observation"]) == 130
    assert sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) <= 1_000_000


def test_a_damaged_cache_is_fetched_again(server: Server, recorded: Path, cache: Path) -> None:
    """Flipped bits in every entry cost requests and nothing else."""
    there = rlds_kit.open(server.url)
    require_same(rlds_kit.open(recorded), there)
    for entry in cache.rglob("*.ranges"):
        raw = bytearray(entry.read_bytes())
        raw[len(raw) // 2] ^= 0x40
        entry.write_bytes(raw)
    again = pickle.loads(pickle.dumps(there))  # noqa: S301  our own, with nothing in memory
    assert spent(server, lambda: require_same(rlds_kit.open(recorded), again))[0] > 0


def test_a_poisoned_cache_is_fetched_again(server: Server, recorded: Path, cache: Path) -> None:
    """Bytes that came wrong over the network match their hash in the cache, but not those of the dataset."""
    require_same(rlds_kit.open(recorded), rlds_kit.open(server.url))
    ways: list[Callable[[], object]] = [
        lambda: require_same(rlds_kit.open(recorded), rlds_kit.open(server.url)),
        lambda: require_same(rlds_kit.open(recorded), rlds_kit.open(server.url)),
        lambda: list(rlds_kit.open(server.url).windows(4).batches(64)),
        lambda: require_good(server.url),
        lambda: statistics(server.url),
    ]
    for number, read in enumerate(ways):
        poison(cache, seed=number)
        read()


def test_threads_that_meet_poison_read_on(server: Server, recorded: Path, cache: Path) -> None:
    """A reader that did not drop the cached bytes itself also reads once more."""
    require_same(rlds_kit.open(recorded), rlds_kit.open(server.url))
    there = pickle.loads(pickle.dumps(rlds_kit.open(server.url)))  # noqa: S301  our own
    poison(cache)
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda number: there.episodes[number % 8][REWARD], range(32)))
    for number, rewards in enumerate(found):
        np.testing.assert_array_equal(rewards, rlds_kit.open(recorded).episodes[number % 8][REWARD])


def test_what_is_damaged_on_the_server_is_damage(recorded: Path, tmp_path: Path) -> None:
    """It is fetched twice, not again and again."""
    directory = Path(shutil.copytree(recorded, tmp_path / "copy"))
    shard = min(directory.glob("episodes-*"))
    raw = bytearray(shard.read_bytes())
    raw[len(raw) // 4] ^= 1
    shard.write_bytes(raw)
    with serving(directory) as server:
        there = rlds_kit.open(server.url)
        counts = []
        for _ in range(3):
            with pytest.raises(DamagedError, match=f"{server.url}/{shard.name}"):
                there.episodes[0]["observation"]
            counts.append(len(server.requests))
        assert counts[2] == counts[1]
        assert not verify(server.url).ok


def poison(cache: Path, seed: int = 0) -> None:
    """Makes every entry wrong in many places, and its hashes right."""
    rng = random.Random(seed)
    for entry in cache.rglob("*.ranges"):
        raw = bytearray(entry.read_bytes())
        table = disk_cache._read_table(entry)
        for _, offset, length, _ in table:
            for at in range(offset + rng.randrange(max(1, length // 2)), offset + length, 1_777):
                raw[at] ^= 1 << rng.randrange(8)
        pieces = [(begin, bytes(raw[offset : offset + length])) for begin, offset, length, _ in table]
        head, _ = disk_cache._table(pieces)
        entry.write_bytes(head + b"".join(data for _, data in pieces))


def require_good(url: str) -> None:
    """Nothing is wrong with the dataset."""
    assert verify(url).problems == ()


@pytest.mark.parametrize("status", [429, 500, 503, 0])
def test_what_fails_once_is_tried_again(recorded: Path, server: Server, status: int) -> None:
    """If a server is busy, or breaks the connection, the request is repeated."""
    server.failures, server.failing_status = 3, status
    there = rlds_kit.open(server.url)
    server.failures = 3
    np.testing.assert_array_equal(there.episodes[1][REWARD], rlds_kit.open(recorded).episodes[1][REWARD])
    assert server.failures == 0


def test_responses_that_end_early_are_requested_again(recorded: Path, server: Server) -> None:
    """Half an answer is none."""
    server.cut = 3
    there = rlds_kit.open(server.url)
    server.cut = 3
    np.testing.assert_array_equal(there.episodes[1][REWARD], rlds_kit.open(recorded).episodes[1][REWARD])
    assert server.cut == 0


def test_what_goes_on_failing_is_an_error(server: Server) -> None:
    """The error has the file, the number of attempts, and what to do."""
    there = rlds_kit.open(server.url)
    server.failures = 1_000
    with pytest.raises(RemoteError, match=r"riegeli, bytes \d+ to \d+: HTTP status 503; tried 5 times: check the net"):
        there.episodes[0][REWARD]
    server.failures, server.cut = 0, 1_000
    with pytest.raises(RemoteError, match=r"bytes \d+ to \d+: .*; tried 5 times"):
        there.episodes[0][REWARD]
    server.cut = 0
    assert len(there.episodes[0][REWARD]) == 130


def said(text: str) -> Callable[[dict[str, str], bytes], tuple[dict[str, str], bytes]]:
    """Responses with wrong headers; {begin}, {end} and {size} are the correct values."""

    def distort(headers: dict[str, str], content: bytes) -> tuple[dict[str, str], bytes]:
        begin, end, size = (int(each) for each in re.findall(r"\d+", headers["Content-Range"]))
        made = text.format(begin=begin, end=end, size=size, later=begin + 1, after=end + 1, cut=size - begin % 97)
        return {**headers, "Content-Range": made}, content

    return distort


@pytest.mark.parametrize(
    ("distort", "message"),
    [
        (said("bytes {later}-{after}/{size}"), r"expected bytes from \d+ on, got \d+ bytes that are declared as"),
        (said("bytes {begin}-{after}/{size}"), r"bytes that are declared as"),
        (said("bytes {begin}-{end}/{cut}"), "changed while it was being read"),
        (said("bytes {begin}-{end}/*"), "does not state which bytes it has"),
        (said("bytes {begin}-{end}/" + "9" * 5_000), "does not state which bytes it has"),
        (said("lines 1-2/3"), "does not state which bytes it has"),
        (lambda headers, content: (headers, content[1:]), "bytes that are declared as"),
        (lambda headers, content: (headers, content + b"x"), "bytes that are declared as"),
        (lambda headers, _: (headers, b"<html>Please log in</html>"), "bytes that are declared as"),
    ],
)
def test_answers_that_contradict_themselves_are_errors(server: Server, distort: Any, message: str) -> None:
    """A server or a proxy sends other bytes than the requested ones."""
    server.distort = distort
    with pytest.raises(RemoteError, match=message):
        list(rlds_kit.open(server.url).episodes[0].steps)


def test_no_server_is_an_error(recorded: Path) -> None:
    with serving(recorded) as server:
        url = server.url
    with pytest.raises(RemoteError, match="tried 5 times: check the network and the server"):
        rlds_kit.open(url)


def test_no_list_is_an_error_that_says_what_to_do(recorded: Path, tmp_path: Path) -> None:
    """A web server does not list its files."""
    directory = Path(shutil.copytree(recorded, tmp_path / "copy"))
    (directory / CHECKSUMS).unlink()
    with serving(directory) as server, pytest.raises(RemoteError, match=r"rlds-kit publish.*sha256sum closed-\*"):
        rlds_kit.open(server.url)


def test_a_list_that_is_none_is_an_error(tmp_path: Path) -> None:
    """A server that answers everything with a page."""
    (tmp_path / CHECKSUMS).write_text("<html>hello</html>")
    with serving(tmp_path) as server, pytest.raises(FormatError, match=r"checksums.txt, line 1: expected a SHA-256"):
        rlds_kit.open(server.url)


def test_a_list_of_other_files_is_no_dataset(tmp_path: Path) -> None:
    """There is a list, but no shard in it."""
    (tmp_path / "notes.txt").write_text("hello")
    list_files(tmp_path)
    with serving(tmp_path) as server, pytest.raises(NotADatasetError, match="expected a dataset"):
        rlds_kit.open(server.url)


def test_a_file_that_is_listed_and_not_there(recorded: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(recorded, tmp_path / "copy"))
    shard = sorted(directory.glob("episodes-*"))[1]
    shard.unlink()
    with serving(directory) as server, pytest.raises((RemoteError, FileNotFoundError), match=shard.name):
        rlds_kit.open(server.url)


def test_servers_without_ranges_are_refused(server: Server) -> None:
    """Reading single rewards must not download the whole dataset."""
    server.has_ranges = False
    with pytest.raises(RemoteError, match=r"sends whole files only.*download it and open the directory"):
        rlds_kit.open(server.url)
    assert all(request.sent < 1_000_000 for request in server.requests if request.name == CHECKSUMS)


@pytest.mark.parametrize("same_size", [True, False])
def test_a_file_that_changes_is_an_error(recorded: Path, tmp_path: Path, *, same_size: bool) -> None:
    """Old bytes and new ones are never mixed, also when they come from the cache."""
    directory = Path(shutil.copytree(recorded, tmp_path / "copy"))
    with serving(directory) as server:
        there = rlds_kit.open(server.url)
        shard = there.shards()[0]
        raw = (directory / shard.name).read_bytes()
        assert len(there.episodes[0][REWARD]) == 130
        (directory / shard.name).write_bytes(raw[:-1] + b"x" if same_size else raw[: len(raw) // 2])
        with pytest.raises(RemoteChangedError, match=f"{shard.name} changed while it was being read.*open the dataset"):
            there.episodes[0]["observation"]


def test_a_file_that_changes_between_ranges_is_an_error(recorded: Path, tmp_path: Path) -> None:
    """Of ranges that are fetched together, none may be of another version."""
    directory = Path(shutil.copytree(recorded, tmp_path / "copy"))
    with serving(directory) as server:
        there = rlds_kit.open(server.url)
        shard = directory / there.shards()[0].name
        seen: list[str] = []

        def change(name: str) -> None:
            seen.append(name)
            if name == shard.name and len(seen) == 4:
                shard.write_bytes(shard.read_bytes()[:-1] + b"x")

        server.before = change
        with pytest.raises(RemoteChangedError, match="changed while it was being read"):
            there.episodes[0]["observation"]


def test_a_new_version_is_another_one(tmp_path: Path) -> None:
    """After a file changed, opening again gives the new content, even if the cache has the old one."""
    directory = record(tmp_path / "data", 1, steps=20)
    list_files(directory)
    with serving(directory) as server:
        require_same(rlds_kit.open(directory), rlds_kit.open(server.url))
        (shard,) = directory.glob("episodes-*")
        (other,) = record(tmp_path / "other", 1, first=7, steps=20).glob("episodes-*")
        shutil.copyfile(other, shard)
        list_files(directory)
        require_same(rlds_kit.open(directory), rlds_kit.open(server.url))


def test_credentials_are_used_and_not_shown(recorded: Path, server: Server) -> None:
    """They go to the server, and to workers, and into no text."""
    server.token = "Bearer very-secret"  # noqa: S105  a test's own
    options = {"headers": {"Authorization": server.token}}
    with pytest.raises(RemoteError, match="may not be read: HTTP status 401; give credentials with storage_options"):
        rlds_kit.open(server.url)
    there = rlds_kit.open(server.url, storage_options=options)
    require_same(rlds_kit.open(recorded), pickle.loads(pickle.dumps(there)))  # noqa: S301  our own
    server.token = "Bearer changed"  # noqa: S105
    with pytest.raises(RemoteError) as error:
        rlds_kit.open(server.url, storage_options=options)
    assert isinstance(there.path, RemotePath)
    for text in (str(error.value), repr(there), repr(there.path), repr(there.path.directory), str(there.path)):
        assert "secret" not in text
    assert error.value.__cause__ is None


def test_queries_go_to_every_file_and_are_not_shown(recorded: Path, server: Server) -> None:
    there = rlds_kit.open(f"{server.url}/?signature=very-secret")
    require_same(rlds_kit.open(recorded), there)
    assert isinstance(there.path, RemotePath)
    assert there.path.directory.address.of("a b.txt") == f"{server.url}/a%20b.txt?signature=very-secret"
    server.failures = 1_000
    with pytest.raises(RemoteError) as error:
        rlds_kit.open(f"{server.url}/?signature=very-secret")
    assert "secret" not in repr(there) + str(error.value)


def test_new_shards_come_with_refresh(tmp_path: Path) -> None:
    """When the list names them; known episodes keep their numbers."""
    directory = record(tmp_path / "data", 1, steps=20)
    list_files(directory)
    with serving(directory) as server:
        before = rlds_kit.open(server.url)
        record(directory, 1, first=10, steps=20)
        assert len(before.refresh().episodes) == 2
        list_files(directory)
        after = before.refresh()
        assert [episode.metadata["number"] for episode in after.episodes] == [0, 1, 10, 11]
        assert [len(before.episodes), len(after.episodes)] == [2, 4]
        assert after.episodes[3][REWARD].shape == (20,)


def test_a_shard_that_was_not_closed_is_scanned(tmp_path: Path) -> None:
    """Without an index the whole file is fetched, once."""
    directory = record(tmp_path / "data", 2, steps=20)
    shard = min(directory.glob("episodes-*"))
    raw = shard.read_bytes()
    shard.write_bytes(raw[: len(raw) - 140_000])
    min(directory.glob("closed-*")).unlink()
    list_files(directory)
    with serving(directory) as server:
        there = rlds_kit.open(server.url)
        fetched = server.sent
        here = rlds_kit.open(directory)
        assert [episode.end for episode in there.episodes] == [episode.end for episode in here.episodes]
        assert [episode.length for episode in there.episodes] == [episode.length for episode in here.episodes]
        assert fetched < 1.5 * total(directory)
