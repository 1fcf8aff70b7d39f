"""The results of trainings, and who may see them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rlds_kit
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.base.whole_file import whole_file
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.shaping.trainings.relearned import games, is_whole, score, trainings
from rlds_kit.shaping.trainings.training import Training


class Shown:
    """Whether people see the results of others; stored in a file.

    Args:
      directory: of the task.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "results_are_shown"

    @property
    def are_shown(self) -> bool:
        """Whether they do; False until a designer enables it."""
        return self._file.exists()

    def show(self, *, are_shown: bool) -> None:
        """Shows the results to all, or hides them."""
        if not are_shown:
            self._file.unlink(missing_ok=True)
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self._file) as temporary:
            temporary.write_text("")


def mine(training: Training, directory: Path, annotator: str) -> dict[str, Any] | None:
    """The latest training of a person: its number, its position, and whether it is over; None: there is none."""
    dataset = _dataset(directory)
    own = [] if dataset is None else trainings(dataset, annotator)
    if dataset is None or not own:
        return None
    last = games(dataset, own[-1])[-1]
    return {"number": len(own), "stage": last.metadata["stage"], "is_over": _is_over(training, dataset, last)}


def _is_over(training: Training, dataset: Dataset, last: Episode) -> bool:
    """Whether the last game of the last stage was played."""
    stage = training.protocol.stages[-1]
    about: Mapping[str, Any] = last.metadata
    if about["stage"] != stage.name or stage.n_games is None:
        return False
    attempt = [each for each in games(dataset, about["training"]) if each.metadata["attempt"] == about["attempt"]]
    return sum(is_whole(each) for each in attempt) >= stage.n_games


def results(directory: Path, training: str, viewer: str) -> list[dict[str, Any]]:
    """The official runs, the best one first: sums of rewards of their complete games.

    Args:
      directory: of the recording.
      training: its name.
      viewer: pseudonym of the person who sees the results.
    """
    dataset = _dataset(directory)
    runs: dict[tuple[str, str], list[Episode]] = {}
    for each in () if dataset is None else dataset.episodes:
        about = each.metadata
        if about.get("is_official") and is_whole(each):
            runs.setdefault((about["annotator"], about["stage"]), []).append(each)
    found = [
        {
            "training": training,
            "stage": stage,
            "trainer": annotator[:8],
            "group": played[0].metadata["group"],
            "score": sum(map(score, played)),
            "games": len(played),
            "is_mine": annotator == viewer,
        }
        for (annotator, stage), played in runs.items()
    ]
    return sorted(found, key=lambda each: -float(each["score"]))


def _dataset(directory: Path) -> Dataset | None:
    try:
        return rlds_kit.open(directory, include_open=True)
    except NotADatasetError:
        return None
