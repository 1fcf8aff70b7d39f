"""Stores the learned state of a TAMER agent in a file."""

import json
import zipfile
from pathlib import Path

import numpy as np

from rlds_kit.base.whole_file import whole_file
from rlds_kit.shaping.learners.tamer import Tamer


def save_state(tamer: Tamer, path: Path | str) -> None:
    """Writes the learned state of an agent exactly; an existing file is replaced atomically.

    The file is an archive of NumPy (`.npz`) with the arrays `weights` and, with replay, the labels in the buffer;
    `about` is JSON.

    Raises:
      OSError: the file cannot be written.
    """
    state = tamer.state()
    replay = state["replay"]
    arrays = {"weights": state["weights"]}
    about = {"n_feedbacks": state["n_feedbacks"], "random": None}
    if replay is not None:
        arrays |= {"features": replay["features"], "targets": replay["targets"]}
        about["random"] = replay["random"]
    with whole_file(Path(path)) as temporary, temporary.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), **arrays)


def load_state(tamer: Tamer, path: Path | str) -> None:
    """Restores an agent from a file of `save_state`.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: the file is invalid, or that of an agent with other features or another replay; then the agent does
        not change.
    """
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as found:
            about = json.loads(str(found["about"]))
            replay = None
            if about["random"] is not None:
                replay = {name: found[name] for name in ("features", "targets")} | {"random": about["random"]}
            tamer.load({"weights": found["weights"], "n_feedbacks": about["n_feedbacks"], "replay": replay})
    except (zipfile.BadZipFile, EOFError, AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected a file that save_state wrote, got another one") from error
