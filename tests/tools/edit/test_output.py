"""The shards of a new dataset."""

from pathlib import Path

import pytest

from rlds_kit import DamagedError
from rlds_kit.base.progress import Meter
from rlds_kit.storage.directory import shards_in
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.upkeep.source import read_source
from tests.tools.upkeep.mending import record


def test_shard_that_lost_its_index_is_found(tmp_path: Path) -> None:
    """What was written is looked at as a reader would."""
    source = read_source(record(tmp_path / "d"))
    (tmp_path / "copy").mkdir()
    with Output(tmp_path / "copy", Meter(None, 0)) as output:
        for episode in source.episodes:
            output.copy(episode)
    assert output.digest() == source.digest
    assert output.verify() == sum(path.stat().st_size for path in shards_in(tmp_path / "copy"))
    (path,) = shards_in(tmp_path / "copy")
    path.write_bytes(path.read_bytes()[:-70000])
    with pytest.raises(DamagedError, match="no index that can be trusted"):
        output.verify()


def test_failure_closes_the_file(tmp_path: Path) -> None:
    """Without an index, as if the process had died, so that it does not count as complete."""
    source = read_source(record(tmp_path / "d"))
    (tmp_path / "copy").mkdir()
    with pytest.raises(KeyboardInterrupt), Output(tmp_path / "copy", Meter(None, 0)) as output:
        output.copy(source.episodes[0])
        raise KeyboardInterrupt
    with pytest.raises(DamagedError, match="no index that can be trusted"):
        output.verify()
