"""The origin of a converted dataset in its metadata."""

import doctest
from pathlib import Path
from typing import Any

import pytest

import rlds_kit
from rlds_kit.base import origin
from rlds_kit.convert.conversion import convert
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.compare import diff


def _record(path: Path, metadata: dict[str, Any]) -> rlds_kit.Dataset:
    with EpisodeWriter(path, metadata=metadata, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(1, 1.0, 1.5, terminated=True)
    return rlds_kit.open(path)


@pytest.mark.parametrize("format", ["envlogger", "lerobot", "minari"])
@pytest.mark.parametrize("value", ["our laboratory", {"format": "tape"}, {"lossy_at_the_source": 3}, None])
def test_recorded_metadata_under_the_key_are_preserved(format: str, value: Any, tmp_path: Path) -> None:  # noqa: A002
    """Preserved by conversions there and back, whose own entries are distinguished from it."""
    ours = _record(tmp_path / "set", {"source": value, "a": 1})
    convert(tmp_path / "set", tmp_path / "there" / "set", format)
    convert(tmp_path / "there" / "set", tmp_path / "back" / "set")
    back = rlds_kit.open(tmp_path / "back" / "set")
    kept = origin.without_origin(back.metadata)
    assert {name: kept[name] for name in ("source", "a")} == {"source": value, "a": 1}
    assert [found["format"] for found in (back.metadata["source"], back.metadata["source"]["before"])] == [
        format,
        "rlds_kit",
    ]
    assert not [each.field for each in diff(ours, back).fields if each.field.startswith("run_metadata/source")]


def test_what_was_lossy_once_is_known_for_good(tmp_path: Path) -> None:
    """However often the dataset is converted since."""
    origins = {"format": "minari", "lossy_at_the_source": {"observation": "jpeg"}}
    _record(tmp_path / "0", {"source": origins})
    for number, format in enumerate(("minari", None, "lerobot", None, "envlogger", None)):  # noqa: A001
        report = convert(tmp_path / f"{number}", tmp_path / f"{number + 1}", format, allow_loss=True)
        assert report.lossy_at_the_source == {"observation": "jpeg"}


def test_examples_of_docstrings() -> None:
    """Runs the examples of all docstrings."""
    assert doctest.testmod(origin).failed == 0
