"""Processes that tests start, and kill."""

from pathlib import Path


def is_gone(process: int) -> bool:
    """Whether a process has ended, also if no parent collects its exit code, as in many containers."""
    try:
        status = Path(f"/proc/{process}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}
