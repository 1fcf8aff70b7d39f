"""A disk that fails is heard of at the next step and at close, and the environment is closed all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rlds_kit

CHECKOUT = Path(__file__).parents[2]

# A limit on the size of files is a disk that is full: writing more gives an OSError.
PROGRAM = """if True:
    import resource, sys
    import gymnasium, numpy as np
    from rlds_kit import RecordingError, logger

    class Noise(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (100, 100), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)
        steps = 0
        closed = False
        def reset(self, **_):
            return self.np_random.integers(0, 256, (100, 100), np.uint8), {}
        def step(self, action):
            self.steps += 1
            return self.np_random.integers(0, 256, (100, 100), np.uint8), 0.0, self.steps % 10 == 0, False, {}
        def close(self):
            self.closed = True

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    noise = Noise()
    env = logger.GymnasiumLogger(noise, sys.argv[1], policy=logger.FlushPolicy.seconds(0.01))
    try:
        while True:
            env.reset()
            for _ in range(10):
                before = noise.steps
                env.step(0)
    except RecordingError as error:
        print(error)
        assert noise.steps - before <= 1
    for use in (env.reset, lambda: env.step(0), env.close):
        try:
            use()
        except RecordingError as error:
            assert "steps are stored" in str(error)
        else:
            raise AssertionError("no error")
    assert noise.closed
    env.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_full_disk_is_an_error_at_the_next_step_and_at_close(tmp_path: Path) -> None:
    """The error has the numbers of stored and lost steps; the stored ones can be read."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "recording stopped" in done.stdout
    assert "are lost" in done.stdout
    episodes = rlds_kit.open(tmp_path).episodes
    assert len(episodes) > 5
    assert all(episode["observation"].shape == (episode.length, 100, 100) for episode in episodes)
