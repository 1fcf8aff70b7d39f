"""`rlds-kit info`."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.survey import survey
from tests.tools.upkeep.mending import DECLARED, damage, record_and_die, rows_of, shard


def test_what_a_dataset_holds_is_shown(tmp_path: Path) -> None:
    """Name, environment, run metadata, episodes by ending, and the spec as a tree."""
    about = {"name": "Pong at home", "description": "for a test"}
    with Recorder(
        tmp_path / "d", DECLARED, about=about, metadata={"agent": "random"}, environment={"id": "ALE/Pong-v5"}
    ) as recorder:
        list(rows_of(recorder.start_episode(), random.Random(0), 5))
    result = CliRunner().invoke(main, ["info", str(tmp_path / "d")])
    assert result.exit_code == 0
    for text in ("Pong at home", "ALE/Pong-v5", "random", "1 interrupted", "pixels: uint8 (6, 5)", "in [0, 99]"):
        assert text in result.output


def test_dataset_that_is_being_recorded_is_shown(tmp_path: Path) -> None:
    """Open episodes are counted apart."""
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        list(rows_of(recorder.start_episode(), random.Random(0), 5))
        recorder.flush()
        result = CliRunner().invoke(main, ["info", str(tmp_path / "d")])
    assert (result.exit_code, "1 open" in result.output) == (0, True)


def test_json_is_for_programs(tmp_path: Path) -> None:
    """Endings by name, the spec as in dataset.json."""
    directory = record_and_die(tmp_path / "d")
    found = json.loads(CliRunner().invoke(main, ["info", "--json", str(directory)]).stdout)
    assert (found["endings"], found["steps"]) == ({"incomplete": 1, "truncated": 1}, 15)
    assert found["spec"]["reward"] == {"kind": "array", "dtype": "float64", "shape": []}


@pytest.mark.filterwarnings("ignore::rlds_kit.base.errors.DamageWarning")
@pytest.mark.parametrize("part", ["signature", "shard header", "start", "block", "end"])
def test_damaged_dataset_is_shown_as_far_as_it_goes(tmp_path: Path, part: str) -> None:
    """`info` does not fail on damage: it shows the readable part, and refers to `verify`."""
    directory = record_and_die(tmp_path / "d")
    episode = next(iter(survey(ShardFile(shard(directory))).episodes.values()))
    positions = {
        "signature": 5,
        "shard header": 120,
        "start": episode.start_position + 3,
        "block": episode.blocks[1].position + 3,
        "end": episode.end_position + 3,
    }
    damage(shard(directory), positions[part])
    result = CliRunner().invoke(main, ["info", str(directory)])
    assert result.exit_code == 0
    assert "rlds-kit verify" in result.output
