"""Layers of datasets that are elsewhere."""

import multiprocessing
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.errors import DamagedError
from rlds_kit.remote.errors import NotLocalError
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.verify import verify
from tests.layers.recording import layer_file, record, said
from tests.remote.server import Server, list_files, serving
from tests.remote.test_http import poison, spent


def annotated(directory: Path) -> rlds_kit.Dataset:
    """A dataset with a layer of rewards and one of tags, of which one was retracted."""
    dataset = record(directory)
    first, second = dataset.episodes
    drafts = [layers.tag(first, "crash", range(2, 4)), layers.tag(second, "good"), layers.tag(first, "wrong")]
    *_, wrong = dataset.annotate("review", drafts, source="anna")
    dataset.annotate("review", [layers.retraction(wrong)], source="bob")
    dataset.annotate("model", [layers.rewards(second, np.arange(8.0))], source="critic")
    return dataset


@pytest.fixture
def here(tmp_path: Path) -> rlds_kit.Dataset:
    """The dataset on this machine."""
    dataset = annotated(tmp_path / "d")
    list_files(dataset.path)
    return dataset


@pytest.fixture
def server(here: rlds_kit.Dataset) -> Iterator[Server]:
    """Serves it."""
    with serving(here.path) as running:
        yield running


def require_same(here: rlds_kit.Dataset, there: rlds_kit.Dataset) -> None:
    """Layers, and what they make of the dataset, are the same."""
    assert here.layers == there.layers == ("model", "review")
    for name in here.layers:
        assert said(here.layer(name).history()) == said(there.layer(name).history())
    for a, b in zip(here.as_amended().episodes, there.as_amended().episodes, strict=True):
        assert a.tags == b.tags
        np.testing.assert_array_equal(a["reward"], b["reward"])


def test_they_are_read_like_others(here: rlds_kit.Dataset, server: Server) -> None:
    """Tags, histories, amended views and their batches; by processes, too."""
    there = rlds_kit.open(server.url)
    require_same(here, there)
    assert len(there.tagged("crash").episodes) == 1
    view = there.as_amended("model")
    expected = rewards_of(here.as_amended("model"))
    assert rewards_of(view) == rewards_of(pickle.loads(pickle.dumps(view))) == expected  # noqa: S301  our own
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(rewards_of, (view,)) == expected


def rewards_of(dataset: rlds_kit.Dataset) -> list[float]:
    """The rewards of all transitions."""
    batches = dataset.transitions().batches(4, shuffle="global", seed=0)
    return [float(reward) for batch in batches for reward in batch["reward"]]


def test_file_systems_list_them(here: rlds_kit.Dataset) -> None:
    system: Any = fsspec.filesystem("memory")
    for path in here.path.rglob("*.riegeli"):
        system.pipe(f"/layered/{path.relative_to(here.path).as_posix()}", path.read_bytes())
    require_same(here, rlds_kit.open("memory://layered"))
    system.rm("/layered", recursive=True)


def test_who_does_not_ask_fetches_none(server: Server) -> None:
    """Reading recorded data costs no bytes of layers."""
    there = rlds_kit.open(server.url)
    assert len(there.episodes[0]["reward"]) == 6
    assert not any(request.name.startswith("layers/") for request in server.requests)
    assert spent(server, lambda: there.episodes[0].tags)[0] > 0


def test_verbs_carry_them(here: rlds_kit.Dataset, server: Server, tmp_path: Path) -> None:
    """From a URL to a directory."""
    edit.merge([server.url], tmp_path / "copy")
    require_same(here, rlds_kit.open(tmp_path / "copy"))
    report = verify(server.url)
    assert report.ok


def test_new_ones_come_with_refresh(here: rlds_kit.Dataset, server: Server) -> None:
    """When the list names them."""
    there = rlds_kit.open(server.url).as_amended("model")
    here.annotate("model", [layers.reward(here.episodes[0], 7.0, 1)], source="critic")
    list_files(here.path)
    assert there.episodes[0]["reward"][1] == 101.0
    assert there.refresh().episodes[0]["reward"][1] == 7.0
    here.annotate("late", [layers.tag(here.episodes[0], "new")], source="anna")
    list_files(here.path)
    assert there.refresh().layers == ("late", "model", "review")


def test_nothing_is_annotated_there(server: Server) -> None:
    """The error says that a URL can only be read."""
    there = rlds_kit.open(server.url)
    with pytest.raises(NotLocalError, match=f"{server.url}: annotations are written beside the data"):
        there.annotator("model", source="anna")


def test_poison_in_the_cache_is_fetched_again(here: rlds_kit.Dataset, server: Server, cache: Path) -> None:
    require_same(here, rlds_kit.open(server.url))
    poison(cache)
    require_same(here, rlds_kit.open(server.url))


def test_damage_there_is_damage_here(here: rlds_kit.Dataset, tmp_path: Path) -> None:
    """Of a damaged layer nothing is made; `history` has what is left."""
    directory = Path(shutil.copytree(here.path, tmp_path / "copy"))
    file = layer_file(rlds_kit.open(directory), "model")
    raw = bytearray(file.read_bytes())
    raw[-10] ^= 1
    file.write_bytes(raw)
    list_files(directory)
    with serving(directory) as server:
        there = rlds_kit.open(server.url)
        with pytest.raises(DamagedError, match=f"{server.url}/layers/model/"):
            there.as_amended("model")
        assert there.layer("model").history() == ()
        assert [each.rule for each in verify(server.url).problems] == ["layer-damaged"]
