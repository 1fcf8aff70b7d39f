"""C extensions under AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import numpy as np
import pytest

_SANITIZE: Final = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
_FLAGS: Final = ["-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-DPy_LIMITED_API=0x030B0000"]
_TESTS: Final = """
import importlib.util, sys
import pytest
name, path, *tests = sys.argv[1:]
spec = importlib.util.spec_from_file_location(name, path)
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
sys.exit(pytest.main(["-q", "-x", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
"""


def build(source: Path, folder: Path) -> Path:
    """Compiles an extension, with the files beside it that are no extensions; skips the test where that cannot be.

    Files that use arrays of NumPy are compiled only with an extension that imports these.
    """
    gcc = shutil.which("gcc")
    if gcc is None or sys.platform != "linux":
        pytest.skip("needs gcc on Linux")
    built = folder / f"{source.stem}.abi3.so"
    headers = [f"-I{sysconfig.get_paths()['include']}", f"-I{np.get_include()}"]
    beside = (each for each in sorted(source.parent.glob("[!_]*.c")) if _uses_arrays(each) <= _uses_arrays(source))
    sources = [str(source), *map(str, beside)]
    subprocess.run([gcc, *_FLAGS, *headers, *_SANITIZE, *sources, "-o", str(built)], check=True)
    return built


def _uses_arrays(source: Path) -> bool:
    return '#include "rows.h"' in source.read_text(encoding="utf-8")


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Runs Python in a process that can load what `build` made."""
    library = ["gcc", "-print-file-name=libasan.so"]
    runtime = subprocess.run(library, capture_output=True, text=True, check=True).stdout
    env = {
        **os.environ,
        "LD_PRELOAD": runtime.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter keeps memory until it exits
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def run_tests(module: str, built: Path, *tests: Path) -> None:
    """Runs tests with an extension that `build` made in the place of the installed one."""
    done = run("-c", _TESTS, module, built, *tests)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
