"""What all commands share in how they talk."""

import json
import uuid
from pathlib import Path

import numpy as np
import pytest

from rlds_kit.base.progress import progress_bar
from rlds_kit.cli.output import plain, table
from rlds_kit.tools.upkeep.finding import Finding


def test_anything_becomes_json() -> None:
    """Data classes, paths, ids, and values that JSON lacks."""
    content = {
        "finding": Finding("rule", "message", episode=uuid.UUID(int=1)),
        "path": Path("a"),
        "array": np.arange(2),
        "numbers": (1, 2.5, float("inf"), None, True),
        3: b"bytes",
    }
    made = json.loads(json.dumps(plain(content), allow_nan=False))
    assert made["finding"]["episode"] == "00000000-0000-0000-0000-000000000001"
    assert made["path"] == "a"
    assert made["array"] == "array([0, 1])"
    assert made["numbers"] == [1, 2.5, "inf", None, True]
    assert made["3"] == "b'bytes'"


@pytest.mark.parametrize("hidden", [True, False])
def test_no_progress_bar_without_a_terminal(hidden: bool) -> None:
    """Standard error is no terminal here."""
    with progress_bar("working", hidden=hidden) as progress:
        assert progress is None


def test_square_brackets_are_shown() -> None:
    """A path such as "action/[0]" is no markup."""
    from rich.console import Console

    console = Console(width=80)
    with console.capture() as captured:
        console.print(table("field", rows=[("action/[0]",)]))
    assert "action/[0]" in captured.get()
