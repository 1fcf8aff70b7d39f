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
    synced = list[str]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").name))
    with synced_later(tmp_path / "later"):
        file = AppendFile(tmp_path / "later" / "file")
        file.append(b"some")
        file.sync()
        file.close()
        write_json(tmp_path / "later" / "note.json", {})
        assert synced == []
        write_json(tmp_path / "now.json", {})
        assert len(synced) == 2
    sync_tree(tmp_path / "later")
    assert len(synced) == 5
