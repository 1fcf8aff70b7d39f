"""Trainings are learned again from their recordings, also while these are written."""

from pathlib import Path

import rlds_kit
from rlds_kit.shaping.environments import PlacementTetris
from rlds_kit.shaping.learners import tetris_tamer
from rlds_kit.shaping.trainings import TETRIS, TrainingRecorder, TrainingSession
from rlds_kit.shaping.trainings.relearned import relearned, weights_digest
from tests.shaping.streams import MS


def test_a_game_that_goes_on_is_learned_as_far_as_it_was_judged(tmp_path: Path) -> None:
    """The dataset was opened before the last steps, and their feedback is read after that."""
    env = PlacementTetris(max_pieces=100)
    with TrainingRecorder(tmp_path, "host") as recorder:
        about = {"training": "one"}
        session = TrainingSession(TETRIS, env, tetris_tamer, annotator="anna", now_ns=0, recorder=recorder, about=about)
        session.set_speed(150, 0)
        for time in range(0, 1000, 10):
            session.tick(time * MS)
            if time == 500:
                session.press("p", time * MS)
                dataset = rlds_kit.open(tmp_path, include_open=True)
                assert len(dataset.episodes[0]) == 5
        session.press("n", 1000 * MS)
        (again,) = relearned(dataset, "one", tetris_tamer)
        session.close(1000 * MS)
        assert again.tamer.n_feedbacks == session.tamer.n_feedbacks == 2
        assert again.digest == weights_digest(session.tamer)
