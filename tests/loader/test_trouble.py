"""Damage and interrupts: an error in the loop, no remaining threads, and a state from which to continue."""

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rlds_kit
from rlds_kit import Dataset
from rlds_kit.loader.pool import Pool, Run
from tests.loader.recording import numbered
from tests.loader.truth import loader_threads, same_batches

LENGTHS = (17, 1, 40, 8, 23, 2)
SHUFFLES: tuple[Any, ...] = (None, "global", "blocks")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes in three shards, in blocks of four steps."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS)


def _damage(directory: Path, episode: int) -> None:
    """Flips a bit in the middle of an episode's blocks."""
    dataset = rlds_kit.open(directory)
    name, entry = dataset._all[episode]
    begin, end = int(entry.blocks[2]), int(entry.blocks[3])
    data = bytearray((directory / name).read_bytes())
    data[(begin + end) // 2] ^= 16
    (directory / name).write_bytes(data)


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where tests run in the background of a shell that would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("memory", [1, None])
def test_damage_is_an_error_in_the_loop(tmp_path: Path, shuffle: Any, memory: int | None) -> None:
    """It comes out of the loop, whichever thread found it; no thread is left, and what came before was whole."""
    whole = list(numbered(tmp_path, LENGTHS).transitions().batches(4, shuffle=shuffle, memory=memory))
    _damage(tmp_path, 2)
    batches = rlds_kit.open(tmp_path).transitions().batches(4, shuffle=shuffle, memory=memory, threads=3)
    handed_out = []
    with pytest.raises(rlds_kit.DamagedError):
        for batch in batches:
            handed_out.append(batch)  # noqa: PERF402  those before the error count
    assert same_batches(handed_out, whole[: len(handed_out)])
    assert batches.state_dict()["samples_done"] == 4 * len(handed_out)
    assert not loader_threads()
    with pytest.raises(rlds_kit.DamagedError):
        list(batches)


def test_a_loop_that_is_broken_off_leaves_no_thread(dataset: Dataset) -> None:
    """Neither does an iterator that was dropped, closed, or never used."""
    batches = dataset.windows(2).batches(4, memory=1, threads=4)
    for _ in batches:
        break
    assert not loader_threads()
    iterator = iter(batches)
    assert not loader_threads()
    next(iterator)
    del iterator
    assert not loader_threads()
    with pytest.raises(ZeroDivisionError):
        for _ in batches:
            1 / 0  # noqa: B018  any error of the caller's
    assert not loader_threads()
    assert len(list(batches)) == len(batches)
    assert not loader_threads()


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_in_the_loop(dataset: Dataset) -> None:
    """The batch that was handed out counts, threads end, and the state restores the rest."""
    samples = dataset.transitions()
    expected = list(samples.batches(8, shuffle="global"))
    batches = samples.batches(8, shuffle="global")
    with pytest.raises(KeyboardInterrupt):
        for number, _ in enumerate(batches):
            if number == 2:
                signal.raise_signal(signal.SIGINT)
    assert not loader_threads()
    again = samples.batches(8, shuffle="global")
    again.load_state_dict(batches.state_dict())
    assert same_batches(list(again), expected[3:])


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_while_decoding(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt while the loop waits for threads ends them; what comes next is not harmed."""
    samples = dataset.transitions()
    expected = list(samples.batches(8, memory=1))
    plain_load, calls = Pool.load, itertools.count()

    def load(pool: Pool, run: Run) -> None:
        if next(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        plain_load(pool, run)

    monkeypatch.setattr(Pool, "load", load)
    batches = samples.batches(8, memory=1)
    handed_out = []
    with pytest.raises(KeyboardInterrupt):
        for batch in batches:
            handed_out.append(batch)  # noqa: PERF402  those before the interrupt count
    assert not loader_threads()
    again = samples.batches(8, memory=1)
    again.load_state_dict(batches.state_dict())
    assert same_batches([*handed_out, *again], expected)
