"""Tables of interactions: overrides, files, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.shaping.manuals import InteractionTable, TableError, read_manual, shipped_manual

TABLE = read_manual(shipped_manual("Breakout"))


def test_an_override_counts_and_is_signed() -> None:
    changed = TABLE.override("Block", "no", "anna")
    block = changed["Block"]
    assert (block.verdict, block.decided, block.reward, block.overridden_by) == ("yes", "no", -5.0, "anna")
    assert changed.fingerprint != TABLE.fingerprint
    assert changed.override("Block", None, "anna") == TABLE
    assert changed.override("Block", "abstain", "anna")["Block"].reward == 0


@pytest.mark.parametrize(
    ("name", "verdict", "by", "message"),
    [
        ("Bal", "no", "anna", "Ball, Block.*'Bal'"),
        ("Ball", "maybe", "anna", "yes, no, abstain.*'maybe'"),
        ("Ball", "no", "", "name of the person"),
    ],
)
def test_overrides_that_are_refused(name: str, verdict: Any, by: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        TABLE.override(name, verdict, by)


def test_files_are_read_as_written(tmp_path: Path) -> None:
    TABLE.override("Ball", "no", "anna").save(tmp_path / "table.json")
    assert InteractionTable.load(tmp_path / "table.json") == TABLE.override("Ball", "no", "anna")
    assert [each.name for each in tmp_path.iterdir()] == ["table.json"]


def _changed(**fields: Any) -> str:
    return json.dumps({**json.loads(TABLE.to_json()), **fields})


def _row(**fields: Any) -> str:
    row = {**json.loads(TABLE.to_json())["interactions"][0], **fields}
    return _changed(interactions=[row])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "in JSON"),
        ("[]", "object with fields, got list"),
        (_changed(more=1), "wrong or missing: more"),
        (_changed(game=1), "game of the table to be a str, got 1"),
        (_changed(interactions={}), "list of interactions"),
        (_changed(interactions=json.loads(TABLE.to_json())["interactions"] * 2), "each object once"),
        (_row(yes="high"), "yes of interaction 0 to be a float"),
        (_row(yes=1.5), r"in \[0, 1\], got 1.5"),
        (_row(verdict="perhaps"), "verdict of interaction 0"),
        (_row(verdict=None), "verdict of interaction 0"),
        (_row(override="perhaps"), "override of interaction 0"),
        (_row(context="a\ud800"), "halves of characters"),
        (_row(replies=[{"model": "m"}]), "statement 0 of interaction 0 to have the fields"),
        (_changed(replies={}), "list of the table"),
    ],
)
def test_damaged_tables_are_refused(text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        InteractionTable.from_json(text)
