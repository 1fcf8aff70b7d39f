"""The memory of a worker does not depend on how much there is."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlds_kit.logger import EpisodeWriter

ROOT = Path(__file__).parents[3]
LIMIT_MB = 200

BUILD = """
    import sys
    from rlds_kit.tfds_builders.shards import convert_shards, serially
    convert_shards(sys.argv[1], sys.argv[2], "riegeli", executor=serially(), shards=1)
    status = open("/proc/self/status").read()
    print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
""".replace("\n    ", "\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_copy_takes_constant_memory(tmp_path: Path) -> None:
    """400 MB that do not compress, in episodes of 100 MB, go into one shard."""
    rng = np.random.default_rng(0)
    with EpisodeWriter(tmp_path / "source", record_time=False) as writer:
        for _ in range(4):
            with writer.episode() as episode:
                episode.start(rng.integers(0, 256, 1_000_000, np.uint8))
                for step in range(99):
                    frame = rng.integers(0, 256, 1_000_000, np.uint8)
                    episode.step(action=0, reward=0.0, observation=frame, truncated=step == 98)
    code = [sys.executable, "-c", BUILD, str(tmp_path / "source"), str(tmp_path / "out")]
    done = subprocess.run(code, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert int(done.stdout) < LIMIT_MB
