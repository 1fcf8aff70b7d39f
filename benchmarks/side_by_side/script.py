"""Runs a player in a process of its own."""

import subprocess
import sys


def last_line(*command: object, python: object = sys.executable) -> str:
    """The last line of what a Python script prints.

    Args:
      command: the script and its arguments.
      python: the interpreter.

    Raises:
      RuntimeError: it failed; the message has the end of its errors.
    """
    done = subprocess.run([str(python), *map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return (done.stdout.strip().splitlines() or ["{}"])[-1]
