"""Opening a dataset of another format: it is converted into the cache, completely or not at all."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.opening import open_any
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.logger import EpisodeWriter


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the cache."""
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A dataset of Minari."""
    declared = specs.Dict({"observation": specs.Array((), np.float64), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path / "ours", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.0)
        episode.step(1, 1.0, 0.5)
    convert(tmp_path / "ours", tmp_path / "own-v0", "minari")
    return tmp_path / "own-v0"


def test_data_that_would_be_lost_is_an_error(foreign: Path, cache: Path) -> None:
    """No report would show the loss, so the cache stays empty."""
    assert open_any(foreign).episodes[0]["reward"].tolist() == [1.0, 0.0]
    known = {path.name for path in cache.iterdir() if path.is_dir()}
    with h5py.File(foreign / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/mystery"] = np.arange(3)
    with pytest.raises(ConversionError, match="mystery: Minari's standard has no such data"):
        open_any(foreign)
    assert {path.name for path in cache.iterdir() if path.is_dir()} == known
