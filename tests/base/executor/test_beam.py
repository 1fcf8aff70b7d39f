"""How outcomes leave the workers of a pipeline."""

from pathlib import Path

import pytest

from rlds_kit.base.executor import WorkerDiedError
from rlds_kit.base.executor.beam import _leave_outcome, _outcome


def _half(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_outcomes_come_back_by_files(tmp_path: Path) -> None:
    """A report is returned and an error is raised with its text; one file is left for each part, and nothing else."""
    for numbered in enumerate((6, 7)):
        _leave_outcome(_half, tmp_path, numbered)
    assert _outcome(tmp_path / "0", 6).get() == 3
    with pytest.raises(ValueError, match="7 is odd"):
        _outcome(tmp_path / "1", 7).get()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_a_missing_outcome_names_the_part(tmp_path: Path) -> None:
    """A worker that sees another file system leaves nothing here."""
    with pytest.raises(WorkerDiedError, match=f"ended without part 3; do its workers see {tmp_path}"):
        _outcome(tmp_path / "3", "part 3")
