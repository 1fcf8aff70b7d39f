"""Damaged layers: reported, never a wrong value, and the recorded data do not suffer."""

import dataclasses
import random
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.layers import layers_pb2 as lp
from rlds_kit.layers.layer_file import LayerFileWriter
from rlds_kit.layers.message import record_of
from rlds_kit.storage.manifest import manifests_in
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify
from tests.layers.recording import layer_file, record, said

FLIPS = 400


def annotated(directory: Path) -> rlds_kit.Dataset:
    """A dataset whose layer has many records of one file."""
    dataset = record(directory)
    with dataset.annotator("h", source="me") as writer:
        for number in range(40):
            episode = dataset.episodes[number % 2]
            first = writer.add(layers.reward(episode, number / 7, number % 5))
            writer.add(layers.note(episode, "what happened here " * (number + 1)))
            writer.flush()
            if number % 4 == 0:
                writer.add(layers.retraction(first))
                writer.flush()
    return dataset


def test_flipped_bytes_are_never_a_wrong_value(tmp_path: Path) -> None:
    """Intact annotations are unchanged; missing ones are reported, and views that may lack them raise an error."""
    dataset = annotated(tmp_path / "d")
    path, truth = layer_file(dataset, "h"), said(dataset.layer("h").history())
    good, rng = path.read_bytes(), random.Random(0)
    for _ in range(FLIPS):
        damaged = bytearray(good)
        for _ in range(rng.choice((1, 1, 1, 4))):
            damaged[rng.randrange(len(good))] ^= rng.randrange(1, 256)
        path.write_bytes(damaged)
        opened = rlds_kit.open(dataset.path)
        layer = opened.layer("h")
        found = said(layer.history())
        assert set(found) <= set(truth)
        if len(found) < len(truth):
            assert layer.damage
        if layer.damage:
            with pytest.raises(DamagedError, match="repair"):
                opened.as_amended("h").episodes[0]["reward"]
            with pytest.raises(DamagedError, match="repair"):
                assert opened.episodes[0].tags
        assert opened.episodes[0]["reward"][:2].tolist() == [100.0, 101.0]


HOSTILE: dict[str, dict[str, Any]] = {
    "infinite confidence": {"confidence": float("inf")},
    "confidence that is no number": {"confidence": float("nan")},
    "negative confidence": {"confidence": -1.0},
    "no steps": {"steps": range(3, 3 - 1)},
    "too few values": {"is_stacked": True, "value": np.zeros(2)},
    "no array": {"is_stacked": True, "value": 1.0},
    "values of no steps": {"is_stacked": True, "value": np.zeros(2), "steps": None},
    "a flag": {"field": "is_last"},
    "no field": {"field": ""},
    "a tag that is no text": {"kind": layers.Kind.TAG},
    "a return that is no number": {"kind": layers.Kind.RETURN, "value": "many"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_writer_writes_is_refused(tmp_path: Path, name: str) -> None:
    """Records with correct hashes but invalid content give an error, not a wrong value or a crash."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("h", [layers.reward(episode, 1.0, range(1, 4))], source="me")
    (good,) = dataset.layer("h").history()
    file = LayerFileWriter(dataset.path / "layers/h/annotations-hostile.riegeli")
    file.append(record_of([dataclasses.replace(good, id=uuid.uuid4(), **HOSTILE[name])]))
    file.close()
    opened = rlds_kit.open(dataset.path)
    for read in (
        lambda: opened.as_amended("h").episodes[0]["reward"],
        lambda: opened.episodes[0].tags,
        lambda: opened.layer("h").history(),
    ):
        with pytest.raises(FormatError, match=r"annotation .*: expected .*its writer was at fault"):
            read()
    assert [each.rule for each in verify(dataset.path).problems] == ["layer-format"]
    assert opened.episodes[1]["reward"].shape == (9,)


def test_ids_of_another_length_are_refused(tmp_path: Path) -> None:
    dataset = record(tmp_path / "d")
    dataset.annotate("h", [layers.tag(dataset.episodes[0], "x")], source="me")
    message = lp.LayerRecord(version=1)
    message.annotations.episode.add(episode_id=b"short")
    message.annotations.annotation.add(annotation_id=bytes(16), episode=0)
    file = LayerFileWriter(dataset.path / "layers/h/annotations-hostile.riegeli")
    file.append(message.SerializeToString())
    file.close()
    layer = rlds_kit.open(dataset.path).layer("h")
    assert [each.value for each in layer.history()] == ["x"]
    with pytest.raises(DamagedError, match="expected ids of episodes of 16 bytes"):
        layer.annotations()


def test_a_file_that_ends_anywhere_has_what_came_before(tmp_path: Path) -> None:
    """As after a crash: an unfinished record was never acknowledged."""
    dataset = annotated(tmp_path / "d")
    path, truth = layer_file(dataset, "h"), said(dataset.layer("h").history())
    good, sizes = path.read_bytes(), set()
    for manifest in manifests_in(dataset.path):  # a writer that died before it closed the file notes nothing
        manifest.unlink()
    for size in range(64, len(good), 97):
        path.write_bytes(good[:size])
        layer = rlds_kit.open(dataset.path).layer("h")
        found = said(layer.history())
        assert found == truth[: len(found)]
        assert layer.damage == {}
        sizes.add(len(found))
    assert len(sizes) > 20


def test_verify_reports_and_repair_saves_the_rest(tmp_path: Path) -> None:
    """With the file and its bytes."""
    dataset = annotated(tmp_path / "d")
    assert verify(dataset.path).ok
    path = layer_file(dataset, "h")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    (problem,) = verify(dataset.path).problems
    assert (problem.rule, problem.shard) == ("layer-damaged", f"layers/h/{path.name}")
    assert problem.begin is not None
    assert problem.begin <= len(damaged) // 2
    with pytest.raises(DamagedError):
        edit.merge([dataset.path], tmp_path / "copy")
    (loss,) = repair(dataset.path, tmp_path / "good").losses
    assert loss.what == "layer"
    kept = rlds_kit.open(tmp_path / "good").layer("h")
    assert said(kept.history()) == said(rlds_kit.open(dataset.path).layer("h").history())
    assert kept.annotations()


def test_another_file_is_refused(tmp_path: Path) -> None:
    """A shard in the place of a layer's file is not passed over."""
    dataset = annotated(tmp_path / "d")
    shard = next(dataset.path.glob("episodes-*"))
    layer_file(dataset, "h").write_bytes(shard.read_bytes())
    with pytest.raises(FormatError, match="none of a layer"):
        dataset.refresh().layer("h")


class _ShardLike(LayerFileWriter):
    """Its header has a field more, as the header of a shard has."""

    def append(self, record: bytes) -> None:
        is_header = lp.LayerRecord.FromString(record).HasField("header")
        super().append(record + b"\x12\x02\x78\x01" if is_header else record)


def test_another_file_is_refused_whatever_its_records_look_like(tmp_path: Path) -> None:
    """The random bytes of a shard can have the form of annotations: the error is still that it is another file."""
    dataset = record(tmp_path / "d")
    (tmp_path / "d/layers/h").mkdir(parents=True)
    file = _ShardLike(tmp_path / "d/layers/h/annotations-other.riegeli")
    message = lp.LayerRecord(version=1)
    message.annotations.episode.add(episode_id=b"short")
    message.annotations.annotation.add(annotation_id=bytes(16))
    file.append(message.SerializeToString())
    file.close()
    with pytest.raises(FormatError, match="none of a layer"):
        dataset.refresh().layer("h")
