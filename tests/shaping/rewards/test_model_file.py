"""Files of reward models: read back exactly, and only if their hash is the expected one."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as from_safetensors
from safetensors.numpy import save as safetensors_bytes

import rlds_kit
from rlds_kit.shaping import rewards as rw
from rlds_kit.shaping.rewards import model_file
from rlds_kit.shaping.rewards.model_file import to_bytes
from tests.shaping.rewards.models import linear


def test_a_model_is_read_back_exactly(tmp_path: Path) -> None:
    """The returned hash is that of the file; the same model gives the same bytes."""
    random = np.random.default_rng(0)
    vectors = random.standard_normal((9, 2)).astype(np.float32)
    credit = vectors[:, 0]
    inputs = rw.Inputs(("observation", "action"), {"action": 1})
    model = rw.fit_credit(inputs, vectors, credit, training=rw.Training(epochs=2))
    sha256 = rw.save(model, tmp_path / "model.safetensors")
    data = (tmp_path / "model.safetensors").read_bytes()
    assert sha256 == rw.digest(model) == hashlib.sha256(data).hexdigest()
    back = rw.load(tmp_path / "model.safetensors", sha256.upper())
    assert np.array_equal(back.by_member(vectors), model.by_member(vectors))
    assert (back.inputs, back.log_ties) == (model.inputs, model.log_ties)
    assert to_bytes(back) == data


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("deviation", (3,), r"deviation: expected an array of shape \(2,\), as the others have it, got \(3,\)"),
        ("weight.00", (2, 3, 1), r"weight 0: expected an array of shape \(2, 2, 1\), .* got \(2, 3, 1\)"),
        ("bias.00", (1, 1, 1), r"bias 0: expected an array of shape \(2, 1, 1\), .* got \(1, 1, 1\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(tmp_path: Path, name: str, shape: tuple[int, ...], message: str) -> None:
    """NumPy would stretch some of them silently."""
    data = to_bytes(linear(1.0, 2.0))
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    arrays = from_safetensors(data) | {name: np.ones(shape, np.float32)}
    data = safetensors_bytes(arrays, header["__metadata__"])
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(rlds_kit.FormatError, match=message):
        rw.load(tmp_path / "model", hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("position", [0, 40, -1])
def test_a_changed_byte_is_refused(tmp_path: Path, position: int) -> None:
    sha256 = rw.save(linear(1.0), tmp_path / "model")
    data = bytearray((tmp_path / "model").read_bytes())
    data[position] ^= 1
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(rlds_kit.FormatError, match=f"expected a file with the SHA-256 {sha256}, got"):
        rw.load(tmp_path / "model", sha256)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04K\x01.",  # a pickle
        safetensors_bytes({"mean": np.zeros(1)}),
    ],
    ids=["empty", "pickle", "no model"],
)
def test_other_files_are_refused_though_their_hash_is_right(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(rlds_kit.FormatError, match="expected a reward model of version 1"):
        rw.load(tmp_path / "other", hashlib.sha256(data).hexdigest())


def test_newer_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though everything else in the file is as this version knows it."""
    monkeypatch.setattr(model_file, "VERSION", "2")
    sha256 = rw.save(linear(1.0), tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(rlds_kit.FormatError, match="of version 2"):
        rw.load(tmp_path / "model", sha256)


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    rw.save(linear(1.0), tmp_path / "model")
    with pytest.raises(FileExistsError):
        rw.save(linear(2.0), tmp_path / "model")
