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
from rlds_kit import SpecError, UnsupportedTypeError, logger
from rlds_kit.logger.vector_columns import VectorColumns
from rlds_kit.logger.vector_rows import VectorRows
from rlds_kit.storage.policy import FlushPolicy
from tests.logger.scripted_vectors import INFOS, SPACES, Program, Scripted, content_of, programs

NUMBERS = Program(3, AutoresetMode.NEXT_STEP, "scalar", "number", np.float64, (), 1, 8, 4, np.float64)
"""Whether a number of another dtype fits depends on its value, and here differs between environments."""
BROKEN_OFF = [replace(NUMBERS, mode=mode, steps=30) for mode in AutoresetMode]
"""In strict recordings, the episodes of some environments are broken off, and go on."""


def _record(program: Program, directory: Path, *, as_rows: bool, strict: bool = False, **options: Any) -> list[str]:
    """Record a program, and return the errors that its user saw."""
    step_fn = (lambda *_: None) if as_rows else None  # a callback needs rows
    errors = []
    actions = batch_space(SPACES[program.action], program.num_envs)
    actions.seed(program.seed)
    rng = np.random.default_rng(program.seed)
    with logger.VectorLogger(Scripted(program), directory, step_fn=step_fn, strict=strict, **options) as envs:
        assert isinstance(envs._log, VectorRows if as_rows else VectorColumns)
        envs.reset(seed=3)
        for _ in range(program.steps):
            what = rng.random()
            try:
                if what < 0.05:
                    envs.reset()
                elif what < 0.2 and program.mode is AutoresetMode.DISABLED:
                    envs.reset(options={"reset_mask": rng.random(program.num_envs) < 0.5})
                elif what > 0.95:
                    envs.recorder.flush()
                else:
                    envs.step(actions.sample())
            except (SpecError, UnsupportedTypeError) as error:
                errors.append(str(error))
    return errors


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


def _compare(program: Program, home: Path, block_rows: int | None, *, strict: bool = False) -> None:
    policy = FlushPolicy(block_rows=block_rows)
    errors = [
        _record(program, home / str(as_rows), as_rows=as_rows, strict=strict, policy=policy)
        for as_rows in (True, False)
    ]
    assert errors[0] == errors[1]
    assert content_of(home / "True") == content_of(home / "False")


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
