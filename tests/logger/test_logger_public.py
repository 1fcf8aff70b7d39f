"""What `rlds_kit.logger` offers by name."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from rlds_kit import logger

CHECKOUT = Path(__file__).parents[2]


def test_public_names_are_these() -> None:
    """A name that comes or goes is a decision, not an accident."""
    extra = ["PettingZooLogger"] if importlib.util.find_spec("pettingzoo") else []
    assert logger.__all__ == [
        "BatchWriter",
        "BernoulliEpisodeScheduler",
        "BernoulliStepScheduler",
        "EnvLogger",
        "EpisodeEnd",
        "EpisodeScheduler",
        "EpisodeWriter",
        "FlushPolicy",
        "GymnasiumLogger",
        "GymnasiumTimeStep",
        "ListEpisodeScheduler",
        "ListStepScheduler",
        "NEpisodeScheduler",
        "NStepScheduler",
        "OpenEpisode",
        "StepData",
        "TimeScheduler",
        "VectorLogger",
        "write_arrays",
        *extra,
    ]
    assert all(hasattr(logger, name) for name in logger.__all__)


def test_import_star_brings_every_logger() -> None:
    """`PettingZooLogger` too, where PettingZoo is installed."""
    pytest.importorskip("pettingzoo")
    names: dict[str, object] = {}
    exec("from rlds_kit.logger import *", names)  # noqa: S102  what is tested
    assert names["PettingZooLogger"] is logger.PettingZooLogger


def test_import_installs_no_handler_and_starts_no_thread() -> None:
    """A library does not take over a process."""
    program = """if True:
        import signal, threading
        before = [signal.getsignal(number) for number in signal.valid_signals()]
        import rlds_kit.logger
        after = [signal.getsignal(number) for number in signal.valid_signals()]
        assert after == before
        assert threading.active_count() == 1
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
