"""Datasets that are edited, in whatever state they are."""

from pathlib import Path

import pytest

import rlds_kit
from rlds_kit import DamagedError, FormatError
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.source import read_source
from tests.tools.edit.looking import facts, record_one
from tests.tools.upkeep.mending import DECLARED, damage, record_and_die, shard


def test_digest_is_that_of_the_dataset(tmp_path: Path) -> None:
    source = record_and_die(tmp_path / "d")
    assert read_source(source).digest == rlds_kit.open(source).content_digest


def test_damage_in_a_shard_without_index_is_refused(tmp_path: Path) -> None:
    """The content of bytes that a scan skipped is unknown."""
    source = record_and_die(tmp_path / "d")
    damage(shard(source), 1500)
    with pytest.raises(DamagedError, match="run `rlds-kit repair` first"):
        edit.merge([source], tmp_path / "copy")


def test_shard_whose_writer_died_at_once_is_passed_over(tmp_path: Path) -> None:
    source = record_one(tmp_path / "d")
    (source / "episodes-20260101T000000000000Z-000000000000-00000.riegeli").write_bytes(shard(source).read_bytes()[:64])
    edit.merge([source], tmp_path / "copy")
    assert facts(tmp_path / "copy") == facts(source)


def test_dataset_without_episodes_stays_one(tmp_path: Path) -> None:
    """Its spec is known from dataset.json."""
    with Recorder(tmp_path / "d", DECLARED):
        pass
    report = edit.filter(tmp_path / "d", tmp_path / "copy", "anything > 3")
    assert (report.episodes, report.steps, report.bytes) == (0, 0, 0)
    assert rlds_kit.open(tmp_path / "copy").spec == DECLARED


@pytest.mark.parametrize("content", ["{", "[]", '{"spec": {"observation": {"kind": "nonsense"}}}'])
def test_dataset_json_that_cannot_be_read_is_an_error(tmp_path: Path, content: str) -> None:
    """With its path, and the advice to repair or delete it."""
    source = record_one(tmp_path / "d")
    (source / "dataset.json").write_text(content)
    with pytest.raises(FormatError, match=r"dataset\.json: .*; repair it or delete it"):
        edit.merge([source], tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
