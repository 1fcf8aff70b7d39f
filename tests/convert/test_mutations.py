"""Hostile files: whatever is wrong with them, reading ends in a clear error or a right answer, in time and memory."""

import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from gymnasium import spaces

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.formats import named
from tests.convert import minari_samples as samples
from tests.convert.mutations import read_mutated
from tests.convert.test_envlogger import GOLDEN

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are neither alarms nor limits of memory")
SPACE = spaces.Dict({"a": spaces.Box(-1, 1, (3,)), "b": spaces.Tuple([spaces.Discrete(3), spaces.Text(5)])})


def arrays(path: Path, count: int = 12, **others: Any) -> Path:
    """A file of D4RL's layout, with an end in the middle and one at the end."""
    rows = np.arange(count, dtype=np.float32)
    ends = np.isin(rows, (count // 2, count - 1))
    found: dict[str, Any] = dict.fromkeys(("observations", "actions", "rewards"), rows)
    found |= {"next_observations": rows + 1, "terminals": ends, "infos/qpos": rows[:, None], **others}
    if path.suffix == ".npz":
        np.savez_compressed(path, **found)
        return path
    with h5py.File(path, "w") as file:
        for name, each in found.items():
            file.create_dataset(name, data=each, **({"compression": "gzip"} if np.ndim(each) else {}))
    return path


@pytest.mark.parametrize(("case", "count"), [("simple_zstd", 160), ("default", 160), ("shards_of_two", 120)])
def test_envlogger(case: str, count: int, tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """What is left is read: no step that was not recorded, and none is missing in silence."""
    source = shutil.copytree(GOLDEN / case, tmp_path / case)
    ended = read_mutated("envlogger", source, sweep(count), is_checked=True)
    assert ended["answers"] > sweep(count) // 2


@pytest.mark.thorough
@pytest.mark.parametrize(("stored", "count"), [("hdf5", 300), ("arrow", 240), ("parquet", 240)])
def test_minari(
    stored: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweep: Callable[[int], int]
) -> None:
    """Written by Minari's own package."""
    minari = samples.minari_at(tmp_path, monkeypatch)
    samples.write(minari, "own-v0", SPACE, SPACE, infos=True, data_format=stored)
    ended = read_mutated("minari" if stored == "hdf5" else f"minari-{stored}", tmp_path / "own-v0", sweep(count))
    assert sum(ended.values()) == sweep(count)
    assert min(ended.values()) >= sweep(count) // count  # some of either, in the whole sweep


@pytest.mark.thorough
@pytest.mark.parametrize("stored", ["parquet", "arrow", "hdf5"])
def test_minari_that_we_wrote(stored: str, tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """With a single table, so that most of the harm is in it."""
    target = "minari" if stored == "hdf5" else f"minari-{stored}"
    convert(arrays(tmp_path / "a.npz", 3000), tmp_path / "m-v0", target, allow_loss=True)
    ended = read_mutated(target, tmp_path / "m-v0", sweep(100))
    assert sum(ended.values()) == sweep(100)


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_arrays(suffix: str, tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """D4RL's layout, in either container."""
    ended = read_mutated("arrays", arrays(tmp_path / f"a{suffix}"), sweep(240))
    assert min(ended.values()) > sweep(240) // 24


def test_compressed_zeros_in_hdf5_are_refused(tmp_path: Path) -> None:
    """A dataset of 64 GiB in a few kilobytes is not decoded."""
    path = arrays(tmp_path / "a.hdf5")
    with h5py.File(path, "a") as file:
        file.create_dataset("infos/bomb", (1 << 33,), np.float64, compression="gzip", chunks=(1 << 20,))
    with pytest.raises(FormatError, match="claim"):
        named("arrays").open(path)


def test_arrays_that_belong_to_no_step_are_metadata(tmp_path: Path) -> None:
    """Also those that stand beside the columns, in an NPZ file."""
    reader = named("arrays").open(arrays(tmp_path / "a.npz", weights=np.arange(5.0)))
    assert reader.metadata["weights"].tolist() == [0, 1, 2, 3, 4]


def test_one_text_in_many_places_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In HDF5 the elements of a dataset of text may all be one text; what was decoded is counted."""
    minari = samples.minari_at(tmp_path, monkeypatch)
    samples.write(minari, "own-v0", spaces.Text(5), spaces.Discrete(2), flags=[(True, False)])
    with h5py.File(tmp_path / "own-v0" / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0/observations"]
        file["episode_0"].create_dataset("observations", (4,), h5py.string_dtype())
        file["episode_0/observations"][:] = "x" * 100_000
    monkeypatch.setattr("rlds_kit.convert.decoded_size.LARGE", 1000)
    monkeypatch.setattr("rlds_kit.convert.decoded_size.MOST_COMPRESSED", 0)
    with pytest.raises(FormatError, match="claim"):
        named("minari").open(tmp_path / "own-v0")


@pytest.mark.parametrize("claim", ["member", "header", "zeros"])
def test_npz_that_claims_too_much_is_refused(claim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the header of an array does, or the directory of the archive, or it is true."""
    monkeypatch.setattr("rlds_kit.convert.decoded_size.LARGE", 1 << 22)
    path = arrays(tmp_path / "a.npz")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb.npy", "w") as file:
        shape = "(1152921504606846976,)" if claim == "header" else "(8388608,)"
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for _ in range(8 if claim == "zeros" else 1):
            file.write(bytes(1 << 20))
    if claim == "member":
        data = path.read_bytes()
        place = data.rindex(b"PK\x01\x02") + 24
        path.write_bytes(data[:place] + (0xFFFFFFF0).to_bytes(4, "little") + data[place + 4 :])
    with pytest.raises(FormatError, match="no array" if claim == "header" else "claim"):
        named("arrays").open(path)


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_pickled_objects_are_never_loaded(suffix: str, tmp_path: Path) -> None:
    """Not even where nothing needs them."""

    class Bomb:
        def __reduce__(self) -> Any:
            return (Path(tmp_path / "burst").touch, ())

    if suffix == ".npz":
        path = arrays(tmp_path / "a.npz", extra=np.array([Bomb()], object))
        with pytest.raises(FormatError, match="pickled"):
            named("arrays").open(path)
    else:
        import pickle

        path = arrays(tmp_path / "a.hdf5", extra=np.void(pickle.dumps(Bomb())))
        list(named("arrays").open(path))
    assert not (tmp_path / "burst").exists()
