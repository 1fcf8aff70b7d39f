"""The peak memory of this process."""

import resource
from pathlib import Path


def peak_mib() -> float:
    """MiB since the process began; where the system cannot tell, the larger of its own and its parent's."""
    # `ru_maxrss` survives exec: a child that a large process starts would be charged with the memory of its parent.
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
