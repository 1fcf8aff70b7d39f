"""What is synced, and what is synced later."""

import os
from pathlib import Path

import pytest

from rlds_kit.base.append_file import AppendFile
from rlds_kit.base.durable import synced_later
from rlds_kit.base.whole_file import sync_tree, write_json


def test_nothing_below_a_directory_is_synced_before_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside it are, and so is the directory itself afterwards."""
    (tmp_path / "later").mkdir()
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)
    with synced_later(tmp_path / "later"):
        file = AppendFile(tmp_path / "later" / "file")
        file.append(b"some")
        file.sync()
        file.close()
        write_json(tmp_path / "later" / "note.json", {})
        assert synced == []
        write_json(tmp_path / "now.json", {})
        assert len(synced) == (1 if os.name == "nt" else 2)
    before = len(synced)
    sync_tree(tmp_path / "later")
    assert len(synced) == before + (2 if os.name == "nt" else 3)
