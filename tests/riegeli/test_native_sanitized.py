"""The C extension under AddressSanitizer and UndefinedBehaviorSanitizer, fed with hostile data."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from rlds_kit import riegeli

SOURCE = Path(riegeli.__file__).with_name("_native.c")
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]


@pytest.mark.slow
def test_hostile_data_under_sanitizers(tmp_path: Path, implementation: str) -> None:
    """Ten seconds of mutated chunks and random programs read or write no byte that they should not."""
    gcc = shutil.which("gcc")
    if implementation == "pure" or gcc is None or sys.platform != "linux":
        pytest.skip("needs gcc on Linux, once")
    built = tmp_path / "_native.abi3.so"
    include = f"-I{sysconfig.get_paths()['include']}"
    flags = ["-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-DPy_LIMITED_API=0x030B0000", include]
    subprocess.run([gcc, *flags, *SANITIZE, str(SOURCE), "-o", str(built)], check=True)
    runtime = subprocess.run([gcc, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout
    env = {
        **os.environ,
        "LD_PRELOAD": runtime.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter keeps memory until it exits
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    fuzz = Path(__file__).with_name("fuzz_native.py")
    command = [sys.executable, str(fuzz), str(built), "10", "0"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tried, passed = map(int, done.stdout.split())
    assert tried > passed > 0
