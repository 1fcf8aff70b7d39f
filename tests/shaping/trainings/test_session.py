"""Trainings as people go through them, with the time that a host gives."""

import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.shaping.credit import Label, NextStep
from rlds_kit.shaping.environments import PlacementTetris
from rlds_kit.shaping.feedback import Mark, MarkKind, read_feedback
from rlds_kit.shaping.learners import NormalisedLinearModel, Tamer, learn_again, mountain_car_tamer, tetris_tamer
from rlds_kit.shaping.learners.learning_thread import LearningThread
from rlds_kit.shaping.trainings import FREE, MOUNTAIN_CAR, TETRIS, StageKind, TrainingRecorder, TrainingSession
from tests.shaping.streams import MS


def _car(max_steps: int = 1000, **options: Any) -> TrainingSession:
    env = gymnasium.make("MountainCar-v0", max_episode_steps=max_steps)
    return TrainingSession(MOUNTAIN_CAR, env, mountain_car_tamer, annotator="anna", now_ns=0, **options)


def _tetris(max_pieces: int = 3, **options: Any) -> TrainingSession:
    env = PlacementTetris(max_pieces=max_pieces)
    session = TrainingSession(TETRIS, env, tetris_tamer, annotator="anna", now_ns=0, **options)
    session.set_speed(150, 0)
    return session


def _run(session: TrainingSession, until_ms: int, *, from_ms: int = 0) -> int:
    """Ticks each 10 ms; returns how many steps were done."""
    return sum(session.tick(time * MS) for time in range(from_ms, until_ms, 10))


def _stage(session: TrainingSession) -> str | None:
    return None if session.stage is None else session.stage.name


def _is_paused(session: TrainingSession) -> bool:
    return session.is_paused


def test_t4_each_press_shows_the_sum_for_the_previous_piece() -> None:
    """p, p and n; before a second piece there is nothing to judge."""
    session = _tetris()
    session.tick(0)
    assert session.press("p", 10 * MS) is None
    session.tick(150 * MS)
    pressed = [session.press(key, (160 + number) * MS) for number, key in enumerate("ppn")]
    assert [(each.total, each.about) for each in pressed if each is not None] == [(1, 0), (2, 0), (1, 0)]


def test_t4_the_last_piece_is_judged_after_the_game() -> None:
    """While nothing has begun that could be meant instead; and it is learned for that piece."""
    session = _tetris(max_pieces=2)
    _run(session, 160)
    pressed = session.press("n", 200 * MS)
    assert pressed is not None
    assert pressed.about == 1
    _run(session, 310, from_ms=300)
    assert session.tamer.n_feedbacks == 1
    assert session.counters == (2, 1, 3)


def test_t5_the_speed_may_be_changed_and_is_recorded_with_each_step(tmp_path: Path) -> None:
    with TrainingRecorder(tmp_path / "data", "host") as recorder:
        session = _car(max_steps=6, recorder=recorder)
        assert _run(session, 320) == 3
        session.set_speed(50, 320 * MS)
        assert _run(session, 480, from_ms=330) == 3
        with pytest.raises(ValueError, match="step_ms: expected 0 or more milliseconds, got -1"):
            session.set_speed(-1, 0)
    episode = rlds_kit.open(tmp_path / "data").episodes[0]
    assert episode["step_ms"][:-1].tolist() == [151, 151, 151, 50, 50, 50]


def test_t5_a_speed_is_a_whole_number_of_milliseconds() -> None:
    """NaN would be full speed."""
    with pytest.raises(TypeError, match="step_ms to be an integer, got nan"):
        _tetris().set_speed(float("nan"), 0)  # type: ignore[arg-type]  # what is tested


def test_t5_a_person_may_stop_and_go_on() -> None:
    """The time of the pause is no time of the game; presses in it count for nothing."""
    session = _car()
    session.next_stage(0)
    _run(session, 310)
    session.pause(310 * MS)
    assert _run(session, 2000, from_ms=320) == 0
    assert session.press("p", 500 * MS) is None
    session.resume(2000 * MS)
    assert _run(session, 2010, from_ms=2000) == 1
    assert session.tamer.stream.clock.played(2000 * MS) == 310 * MS


def test_t6_practice_does_not_count_and_a_run_of_ten_games_does(tmp_path: Path) -> None:
    """Everything is recorded at once; a run that is repeated is not the official one, and replaces nothing."""
    with TrainingRecorder(tmp_path / "data", "host") as recorder:
        session = _tetris(max_pieces=1, recorder=recorder)
        _run(session, 10)
        session.next_stage(150 * MS)  # the second practice
        session.next_stage(160 * MS)
        assert _stage(session) == "run"
        session.set_speed(0, 160 * MS)
        for time in range(200, 203):
            session.tick(time * MS)
        session.again(300 * MS)
        session.set_speed(0, 300 * MS)
        for time in range(301, 312):
            session.tick(time * MS)
        assert _stage(session) is None
        assert rlds_kit.open(tmp_path / "data", include_open=True).episodes[-1].metadata["game"] == 10
    found = [each.metadata for each in rlds_kit.open(tmp_path / "data").episodes]
    runs = [(each["stage"], each["game"], each["is_official"]) for each in found]
    assert runs[:2] == [("practice 1", 1, False), ("practice 2", 1, False)]
    assert runs[2:5] == [("run", 1, True), ("run", 2, True), ("run", 3, True)]
    assert runs[-10:] == [("run", game, False) for game in range(1, 11)]
    assert all(each["annotator"] == "anna" for each in found)


def test_t6_the_score_is_the_sum_of_rewards_of_a_run() -> None:
    session = _car(max_steps=4)
    _run(session, 900)
    assert session.score == -6
    assert session.counters == (2, 2, 6)
    session.next_stage(1000 * MS)
    assert (session.score, session.counters) == (0, (1, 0, 0))


def test_keys_of_control_are_latched() -> None:
    """A key counts until another one; before the first a program drives; keys of feedback are none here."""
    session = _car()
    session.press("s", 0)
    _run(session, 310)
    session.press("f", 310 * MS)
    session.press("x", 320 * MS)
    assert session.press("p", 330 * MS) is None
    _run(session, 620, from_ms=310)
    shown = [int(np.flatnonzero(each)[0]) // 145 for each in session.tamer._shown]
    assert shown == [0, 0, 2, 2, 2]
    assert session.tamer.stream.events == ()


def test_t9_the_car_has_three_trainings_and_a_check_after_each() -> None:
    """20 games at 151 ms with a new agent, then 50 at full speed; a check may be repeated."""
    kinds = [(each.kind, each.n_games, each.step_ms) for each in MOUNTAIN_CAR.stages[1:]]
    assert kinds == [(StageKind.TRAINING, 20, 151), (StageKind.CHECK, 50, 0)] * 3
    session = _car(max_steps=1)
    session.next_stage(0)
    agent = session.tamer
    for game in range(20):
        assert session.counters.game == game + 1 or session.tick(game * 151 * MS)
        session.tick(game * 151 * MS)
    session.tick(20 * 151 * MS)
    assert _stage(session) == "check 1"
    assert session.tamer is agent
    session.again(4000 * MS)
    assert session.counters.game == 1
    for time in range(4000, 4051):
        session.tick(time * MS)
    assert _stage(session) == "training 2"
    assert session.tamer is not agent


def test_t9_a_key_that_stays_down_is_one_press() -> None:
    session = _car()
    session.next_stage(0)
    session.tick(0)
    assert session.press("p", 10 * MS) is not None
    assert session.press("p", 40 * MS, is_repeat=True) is None
    assert len(session.tamer.stream.events) == 1


def test_t10_every_stage_has_a_text_for_the_trainer() -> None:
    """What the papers advise is in it: which keys, when to judge, how often, and what not to do."""
    tetris = " ".join(each.text for each in TETRIS.stages)
    car = " ".join(each.text for each in MOUNTAIN_CAR.stages)
    assert all(len(each.text) > 100 for each in (*TETRIS.stages, *MOUNTAIN_CAR.stages))
    for advice in ("P is positive", "before it is complete", "habit", "your keys go elsewhere", "ten games"):
        assert advice in tetris
    for advice in ("consistent", "never what you expect", "do not hold", "20 games", "50 games", "S accelerates"):
        assert advice in car


def test_keys_that_go_elsewhere_pause_the_game() -> None:
    """Until the person returns and resumes."""
    session = _car()
    session.next_stage(0)
    session.tick(0)
    session.focus(20 * MS, has_focus=False)
    assert _is_paused(session)
    session.resume(30 * MS)
    assert _is_paused(session)
    session.focus(40 * MS, has_focus=True)
    session.resume(50 * MS)
    assert not _is_paused(session)
    assert session.press("p", 60 * MS) is not None


def test_t12_what_is_recorded_gives_the_same_agent(tmp_path: Path) -> None:
    """Two games of the car: every press, the prediction of every step, and the same bits."""
    with TrainingRecorder(tmp_path / "data", "host") as recorder:
        session = _car(max_steps=30, recorder=recorder)
        session.next_stage(0)
        agent = session.tamer
        for step in range(61):
            session.tick(step * 151 * MS)
            session.press("p" if step % 3 else "n", (step * 151 + 60) * MS, sent_ns=step)
        session.next_stage(61 * 151 * MS)
    dataset, again = rlds_kit.open(tmp_path / "data"), mountain_car_tamer()
    for episode in dataset.episodes:
        if episode.metadata["kind"] == "training":
            steps = [(each["observation"], each["action"]) for each in list(episode.steps)[:-1]]
            feedback = read_feedback(dataset, episode)
            assert all(each.sent_ns >= 0 and each.step >= 0 for each in feedback.events)
            learn_again(again, steps[: feedback.clock.n_steps], feedback)
    assert again.n_feedbacks == agent.n_feedbacks > 40
    assert again.model.weights.tobytes() == agent.model.weights.tobytes()


def test_a_press_is_on_the_disk_when_it_is_shown(tmp_path: Path) -> None:
    """Another program reads it while the game continues; no file is closed."""
    recorder = TrainingRecorder(tmp_path / "data", "host")
    session = _car(recorder=recorder)
    session.next_stage(0)
    session.tick(0)
    session.press("p", 50 * MS)
    dataset = rlds_kit.open(tmp_path / "data", include_open=True)
    assert [each.key for each in read_feedback(dataset, dataset.episodes[-1]).events] == ["p"]
    recorder.close()


def test_a_press_before_the_step_that_is_shown_is_an_error() -> None:
    """The host's clocks differ; nothing is recorded."""
    session = _car()
    session.next_stage(0)
    session.tick(100 * MS)
    with pytest.raises(ValueError, match="expected a time from 100000000 ns on, when step 0 began to be shown, got 99"):
        session.press("p", 99 * MS)
    assert session.press("p", 100 * MS) is not None


def test_no_step_waits_for_learning() -> None:
    """The model is still busy with the first feedback when 20 more steps are done; then it has learned all of it."""
    is_free, n_learned = threading.Event(), []

    class Slow(NormalisedLinearModel):
        def update(self, label: Label) -> None:
            assert is_free.wait(60)
            super().update(label)
            n_learned.append(label)

    def slow_tamer() -> Tamer:
        tamer = mountain_car_tamer(NextStep())
        tamer.model = Slow(tamer.features.size)
        return tamer

    env, thread = gymnasium.make("MountainCar-v0"), LearningThread()
    session = TrainingSession(FREE, env, slow_tamer, annotator="anna", now_ns=0, thread=thread)
    for step in range(21):
        session.tick(step * 151 * MS)
        session.press("p", (step * 151 + 60) * MS)
    assert (session.counters.step, n_learned) == (21, [])
    is_free.set()
    session.close(22 * 151 * MS)
    thread.close()
    assert len(n_learned) == 21


def test_a_recorder_without_a_game_says_so(tmp_path: Path) -> None:
    with TrainingRecorder(tmp_path / "data", "host") as recorder:
        with pytest.raises(ValueError, match="expected a game that has begun, got feedback"):
            recorder.take(Mark(MarkKind.STEP, 0))
        with pytest.raises(ValueError, match="expected a game that has begun, got a step"):
            recorder.step(0, 0.0, np.zeros(2), terminated=False, truncated=False)
