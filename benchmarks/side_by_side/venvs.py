"""Makes a virtual environment for each peer, beside each other in one folder, so that none disturbs another."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Peer:
    """A system to compare with.

    Attributes:
      name: of its folder.
      requirements: what pip installs.
      script: its player.
      check: Python that fails where it cannot run.
      hint: what else it may need.
    """

    name: str
    requirements: tuple[str, ...]
    script: str
    check: str
    hint: str


ENVLOGGER: Final = Peer(
    "envlogger",
    ("envlogger==1.2", "dm-tree", "numpy>=2"),
    "play_envlogger.py",
    "import numpy as np; np.unicode_ = np.str_; import envlogger; envlogger.Reader",
    "Its library needs libgmpxx.so.4: on Debian `apt-get install libgmpxx4ldbl`.",
)
MINARI: Final = Peer(
    "minari",
    ("minari[hdf5,arrow,create]==0.5.4", "pillow"),
    "play_minari.py",
    "import minari, h5py, pyarrow, PIL, jax",
    "It is of no use here without h5py, pyarrow, pillow and jax.",
)
TFDS: Final = Peer(
    "tfds",
    ("tensorflow-cpu", "tensorflow-datasets==4.9.10", "importlib_resources", "dm-env"),
    "play_tfds.py",
    "import tensorflow_datasets",
    "It needs TensorFlow.",
)
LANCE: Final = Peer(
    "lance", ("pylance==14.0.2", "h5py==3.14.0", "numpy>=2"), "", "import lance, h5py", "It needs a wheel of pylance."
)
TORCHRL: Final = Peer(
    "torchrl", ("torchrl==0.14.1", "torch==2.13.0", "numpy>=2"), "", "import torchrl.data", "It needs PyTorch."
)
CPPRB: Final = Peer("cpprb", ("cpprb", "numpy>=2"), "", "import cpprb", "It needs a wheel, or a C++ compiler.")
LEROBOT: Final = Peer(
    "lerobot",
    ("lerobot==0.4.2",),
    "",
    "import lerobot.datasets.lerobot_dataset",
    "It needs PyTorch, and several GB on the disk.",
)
PYTHON: Final = "3.11"
"""EnvLogger 1.2 has no wheel for a later one; all peers get the same."""


class PeerMissingError(Exception):
    """A peer cannot run here; the message explains what to do."""


def python_of(peer: Peer, folder: Path) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there.

    Raises:
      PeerMissingError: it cannot be made, or does not work.
    """
    place = folder / peer.name
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        base = sys.executable if sys.version.startswith(f"{PYTHON}.") else shutil.which(f"python{PYTHON}")
        if base is None:
            raise PeerMissingError(f"needs Python {PYTHON}: no python{PYTHON} on the path")
        _run([base, "-m", "venv", "--clear", place])
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.requirements])
        (place / "complete").touch()
    try:
        _run([python, "-c", peer.check])
    except PeerMissingError as error:
        raise PeerMissingError(f"{error}. {peer.hint}") from error
    return python


def _run(command: list[object]) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no output"]
        raise PeerMissingError(f"`{' '.join(map(str, command[1:4]))} ...` failed: {lines[-1]}")
