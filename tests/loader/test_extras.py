"""Errors if a framework is not installed."""

import subprocess
import sys
from pathlib import Path

import rlds_kit
from rlds_kit.install import how_to_install
from tests.loader.recording import numbered

CALLS = [
    ("tensorflow", "tf", "ds.as_tf_dataset()"),
    ("tensorflow", "tf", "ds.as_dense_tf_dataset()"),
    ("tensorflow", "tf", "ds.transitions().batches(2).as_tf_dataset()"),
    ("torch", "torch", "ds.as_torch_dataset()"),
    ("torch", "torch", "ds.torch_sampler()"),
    ("torch", "torch", "ds.transitions().as_torch_dataset()"),
    ("torch", "torch", "ds.transitions().torch_sampler()"),
    ("torch", "torch", "ds.transitions().batches(2).as_torch_dataset()"),
    ("grain", "grain", "ds.as_grain_source()"),
    ("grain", "grain", "ds.transitions().as_grain_source()"),
    ("grain", "grain", "ds.transitions().batches(2).as_grain_dataset()"),
]


def test_the_error_names_the_line_that_installs_it(tmp_path: Path) -> None:
    """Every method for a framework raises this error."""
    numbered(tmp_path, (3,))
    code = f"""
import sys
sys.path.insert(0, {str(Path(rlds_kit.__file__).parents[1])!r})
for name in ("tensorflow", "torch", "grain"):
    sys.modules[name] = None  # which is how Python marks a module that cannot be imported
import rlds_kit
ds = rlds_kit.open({str(tmp_path)!r})
for module, extra, call in {CALLS!r}:
    try:
        eval(call)
    except rlds_kit.RldsKitError as error:
        print(isinstance(error, ImportError), error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = [f"True {module} is not installed: {how_to_install(extra)}" for module, extra, _ in CALLS]
    assert done.stdout.splitlines() == expected
