"""Verdicts of several people in one file."""

from pathlib import Path

import pytest

from rlds_kit.shaping.manuals import InteractionTable, StaleTableError, override_file, shipped_table
from rlds_kit.shaping.manuals.interaction import TableError


def test_the_second_of_two_first_verdicts_does_not_replace_the_first(tmp_path: Path) -> None:
    """Both have seen the shipped table, and there is no file yet."""
    path, shipped = tmp_path / "Skiing.json", shipped_table("Skiing")
    override_file(path, "Flag", "no", "anna", seen=shipped.fingerprint, initial=shipped)
    with pytest.raises(StaleTableError, match="changed since you saw it"):
        override_file(path, "Tree", "yes", "ben", seen=shipped.fingerprint, initial=shipped)
    assert InteractionTable.load(path)["Flag"].decided == "no"


def test_what_is_refused_makes_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="Ghost"):
        override_file(tmp_path / "Skiing.json", "Ghost", "no", "anna", initial=shipped_table("Skiing"))
    assert not (tmp_path / "Skiing.json").exists()
