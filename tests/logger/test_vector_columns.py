"""Vector environments recorded as columns are what row by row recording gives."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import SpecError, logger
from rlds_kit.logger.vector_columns import VectorColumns
from rlds_kit.logger.vector_rows import VectorRows
from rlds_kit.storage.policy import FlushPolicy
from tests.logger.scripted_vectors import (
    BROKEN,
    INFOS,
    SPACES,
    Program,
    Scripted,
    broken_programs,
    content_of,
    programs,
    some_of,
)

NUMBERS = Program(3, AutoresetMode.NEXT_STEP, "scalar", "number", np.float64, (), 1, 8, 4, np.float64)
"""Whether a number of another dtype fits depends on its value, and here differs between environments."""
BROKEN_OFF = [replace(NUMBERS, mode=mode, steps=30) for mode in AutoresetMode]
"""In strict recordings, the episodes of some environments are broken off, and go on."""


_TOGETHER = [("no last observations", "a reward"), ("observations", "last observations")]
"""In the same step: the last action of an episode, and errors of different environments."""


def _record(program: Program, directory: Path, *, as_rows: bool, strict: bool = False, **options: Any) -> list[str]:
    """Record a program, and return the errors that its user saw."""
    step_fn = (lambda *_: None) if as_rows else None  # a callback needs rows
    errors = []
    actions = batch_space(SPACES[program.action], program.num_envs)
    actions.seed(program.seed)
    rng = np.random.default_rng(program.seed)
    with logger.VectorLogger(Scripted(program), directory, step_fn=step_fn, strict=strict, **options) as envs:
        assert isinstance(envs._log, VectorRows if as_rows else VectorColumns)
        for number in range(program.steps + 1):
            what = rng.random()
            try:
                if number == 0:
                    envs.reset(seed=3)
                elif what < 0.05:
                    envs.reset(options={"level": Ellipsis} if "options" in program.broken and what < 0.025 else None)
                elif what < 0.2 and program.mode is AutoresetMode.DISABLED:
                    envs.reset(options={"reset_mask": rng.random(program.num_envs) < 0.5})
                elif what > 0.95:
                    envs.recorder.flush()
                else:
                    envs.step(_broken(actions.sample(), program, what))
            except (SpecError, TypeError) as error:
                notes = [note for note in getattr(error, "__notes__", ()) if not note.startswith("This is row")]
                errors.append("\n".join((str(error), *notes)))
    return errors


def _broken(actions: Any, program: Program, what: float) -> Any:
    """Return actions, or sometimes what cannot be recorded as such."""
    if "actions" in program.broken and what < 0.4:
        return [1] * (program.num_envs - 1)
    if "an action" in program.broken and what < 0.5:
        return some_of(1, np.arange(program.num_envs) % 2)
    return actions


@pytest.mark.filterwarnings("ignore:.*Actions are recorded as they are:UserWarning")
@pytest.mark.filterwarnings("ignore:.*It is recorded exactly as it came:UserWarning")
@settings(max_examples=60)
@given(program=programs, block_rows=st.sampled_from([None, 1, 3, 7]), strict=st.booleans())
@example(program=NUMBERS, block_rows=None, strict=True)
@example(program=NUMBERS, block_rows=None, strict=False)
@example(program=BROKEN_OFF[0], block_rows=None, strict=True)
@example(program=BROKEN_OFF[1], block_rows=None, strict=True)
@example(program=BROKEN_OFF[2], block_rows=None, strict=True)
def test_the_same_content_as_row_by_row(
    tmp_path_factory: pytest.TempPathFactory, program: Program, block_rows: int | None, strict: bool
) -> None:
    """Values, types, ends, provenance and errors."""
    _compare(program, tmp_path_factory.mktemp("both"), block_rows, strict=strict)


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize("kind", INFOS)
def test_the_same_infos_as_row_by_row(tmp_path: Path, kind: str, mode: AutoresetMode) -> None:
    """Of each kind, in an episode that is long enough for all of its forms."""
    _compare(Program(4, mode, "vector", "number", np.float64, (kind,), 5, 30, 99, None), tmp_path, None)


@pytest.mark.filterwarnings("ignore:.*Actions are recorded as they are:UserWarning")
@pytest.mark.filterwarnings("ignore:.*It is recorded exactly as it came:UserWarning")
@settings(max_examples=60)
@given(program=broken_programs, block_rows=st.sampled_from([None, 1, 3]), strict=st.booleans())
def test_the_same_where_rows_cannot_be_recorded(
    tmp_path_factory: pytest.TempPathFactory, program: Program, block_rows: int | None, strict: bool
) -> None:
    """The same errors, and the same episodes before and after them."""
    _compare(program, tmp_path_factory.mktemp("both"), block_rows, strict=strict)


@pytest.mark.filterwarnings("ignore:.*Actions are recorded as they are:UserWarning")
@pytest.mark.filterwarnings("ignore:.*It is recorded exactly as it came:UserWarning")
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize("kinds", [*((kind,) for kind in BROKEN), *_TOGETHER], ids=", ".join)
def test_the_same_for_each_kind_of_error(tmp_path: Path, kinds: tuple[str, ...], mode: AutoresetMode) -> None:
    """In episodes that are long enough for all that may follow."""
    program = Program(3, mode, "vector", "number", np.float64, ("masked",), 5, 60, 99, None, broken=kinds)
    _compare(program, tmp_path, None)


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
def test_the_same_without_infos(tmp_path: Path, mode: AutoresetMode) -> None:
    """Which have the last observations of episodes, with SAME_STEP."""
    program = Program(3, mode, "vector", "number", np.float64, ("masked",), 5, 60, 9, None)
    _compare(program, tmp_path, None, record_info=False)


def _compare(program: Program, home: Path, block_rows: int | None, *, strict: bool = False, **options: Any) -> None:
    options["policy"] = FlushPolicy(block_rows=block_rows)
    errors = [
        _record(program, home / str(as_rows), as_rows=as_rows, strict=strict, **options) for as_rows in (True, False)
    ]
    assert errors[0] == errors[1]
    assert content_of(home / "True") == content_of(home / "False")


@pytest.mark.parametrize("first", [{}, {"x": np.zeros(2)}], ids=["none", "some"])
def test_observations_without_items(tmp_path: Path, first: dict[str, Any]) -> None:
    """They are not taken for the ones before them, or for none."""
    with logger.BatchWriter(tmp_path, 2, autoreset="Disabled") as writer:
        writer.start(first)
        for observation in ({}, {"y": np.arange(2)}, {}):
            writer.step(observation, np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))
    for number, episode in enumerate(rlds_kit.open(tmp_path).episodes):
        found = [step["observation"] for step in episode.steps]
        assert found == [dict.fromkeys(first, 0.0), {}, {"y": number}, {}]


def test_columns_are_used(tmp_path: Path) -> None:
    """The usual spaces and infos never go row by row: a mistake there would only be seen as slowness."""
    from rlds_kit.storage.batch_recorder import BatchRecorder

    program = Program(
        3, AutoresetMode.NEXT_STEP, "dict", "vector", np.float32, ("numbers", "masked", "nested"), 1, 40, 99, None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchRecorder, "append_row", lambda *_: pytest.fail("recorded row by row"))
        assert _record(program, tmp_path, as_rows=False) == []
    assert len(rlds_kit.open(tmp_path).episodes) > 3


def test_only_rows_of_episodes_are_counted(tmp_path: Path) -> None:
    """Environments that are not within an episode have none; messages of lost recordings have the number of steps."""
    observation, action, no = np.zeros((3, 2), np.float32), np.zeros(3, np.int64), np.zeros(3, np.bool_)
    with logger.BatchWriter(tmp_path, 3, autoreset="Disabled", policy=FlushPolicy.manual()) as writer:
        writer.start(observation)
        for row in range(6):
            writer.step(observation, action, np.ones(3), no | [row == 2, False, False], no)
        writer.flush()
        thread = writer.recorder._intake._thread
        assert thread.rows_given == thread.rows_written == 4 + 7 + 7


@pytest.mark.parametrize("as_rows", [False, True])
def test_each_step_has_its_time(tmp_path: Path, as_rows: bool) -> None:
    """Nanoseconds since the episode began, in each row, however many have the same form."""
    program = Program(3, AutoresetMode.NEXT_STEP, "vector", "number", np.float64, (), 1, 40, 99, np.float64)
    assert _record(program, tmp_path, as_rows=as_rows, record_time=True) == []
    for episode in rlds_kit.open(tmp_path).episodes:
        times = [int(step["time_ns"]) for step in episode.steps]
        assert times[0] == 0
        assert times == sorted(set(times))
