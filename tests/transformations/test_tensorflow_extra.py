"""The room without TensorFlow."""

import subprocess
import sys
from pathlib import Path

import rlds_kit


def test_without_tensorflow_the_error_names_the_extra(tmp_path: Path) -> None:
    """`import rlds_kit.transformations` says what to install."""
    (tmp_path / "tensorflow.py").write_text("raise ImportError('not here')")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(Path(rlds_kit.__file__).parents[1])!r}]"
    run = [sys.executable, "-c", f"{code}; import rlds_kit.transformations"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install ".[tf]"' in done.stderr.splitlines()[-1]
