"""Feedback as a layer."""

import os
import uuid
from pathlib import Path

import pytest

from rlds_kit.shaping.feedback import (
    FeedbackStream,
    FeedbackWriter,
    Mark,
    MarkKind,
    StepClock,
    columns,
    read_feedback,
    write_feedback,
)
from tests.shaping.streams import hard_stream, press, recorded, regular_clock


def test_every_event_is_read_as_it_came(tmp_path: Path) -> None:
    """All fields, the order, copies that were dropped, and the marks; -0.0 and a key of a zero byte too."""
    stream, _ = hard_stream(500, seed=2)
    dataset = recorded(tmp_path, 5)
    write_feedback(dataset, dataset.episodes[0].id, stream, "host")
    read = read_feedback(dataset.refresh(), dataset.episodes[0])
    assert [repr(each) for each in read.events] == [repr(each) for each in stream.events]
    assert read.clock == stream.clock


def test_t12_every_press_is_durable_when_it_is_flushed(tmp_path: Path) -> None:
    """A second reader has everything, though the writer never closes; after the end of the episode too."""
    dataset = recorded(tmp_path, 2)
    episode = dataset.episodes[0].id
    stream = FeedbackStream()
    writer = FeedbackWriter(dataset, "host")
    for mark in (Mark(MarkKind.STEP, 0), Mark(MarkKind.STEP, 100), Mark(MarkKind.END, 200)):
        stream.mark(mark)
        event = stream.add(press(mark.time_ns, mark.time_ns + 50))
        assert event is not None
        writer.add(episode, mark, event)
        writer.flush()
        assert read_feedback(dataset.refresh(), episode) == stream
    writer.close()


def test_episodes_with_feedback_have_its_tag(tmp_path: Path) -> None:
    dataset = recorded(tmp_path, 2, 3)
    write_feedback(dataset, dataset.episodes[1].id, FeedbackStream([press(0, 1)]), "host")
    assert [each.id for each in dataset.refresh().tagged("feedback").episodes] == [dataset.episodes[1].id]
    assert read_feedback(dataset.refresh(), dataset.episodes[0]).events == ()


def test_two_hosts_write_to_one_episode(tmp_path: Path) -> None:
    """One has the clock, another only events."""
    dataset = recorded(tmp_path, 2)
    episode = dataset.episodes[0].id
    write_feedback(dataset, episode, FeedbackStream([press(0, 1)], StepClock([Mark(MarkKind.STEP, 0)])), "host")
    write_feedback(dataset, episode, FeedbackStream([press(0, 2, annotator="ben")]), "telephone")
    read = read_feedback(dataset.refresh(), episode)
    assert [each.annotator for each in read.events] == ["anna", "ben"]
    assert read.clock.n_steps == 1


def test_feedback_about_no_known_episode_waits(tmp_path: Path) -> None:
    """It is an error that names what to do, and nothing else is lost."""
    dataset = recorded(tmp_path, 2)
    writer = FeedbackWriter(dataset, "host")
    writer.add(uuid.UUID(int=1), press(0, 1))
    writer.add(dataset.episodes[0].id, press(0, 1))
    with pytest.raises(KeyError, match="If it is being recorded, `flush` the recorder"):
        writer.flush()
    assert len(read_feedback(dataset.refresh(), dataset.episodes[0]).events) == 1
    with pytest.raises(KeyError):
        writer.close()


def test_a_full_disk_loses_and_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next flush writes what the one before could not."""
    dataset = recorded(tmp_path, 2)
    episode = dataset.episodes[0].id
    writer = FeedbackWriter(dataset, "host")
    writer.add(episode, Mark(MarkKind.STEP, 0), press(0, 1))
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", _full)
        with pytest.raises(OSError, match="full"):
            writer.flush()
    writer.close()
    read = read_feedback(dataset.refresh(), episode)
    assert (len(read.events), len(read.clock)) == (1, 1)


def _full(_: int) -> None:
    raise OSError(28, "full")


def test_later_columns_are_refused() -> None:
    stored = columns.to_columns([press(0, 1)], [])
    with pytest.raises(ValueError, match="expected version 1 of its columns, got 2; a newer rlds_kit reads it"):
        columns.from_columns(stored | {"version": 2})


@pytest.mark.thorough
def test_of_100_000_events_none_is_lost_or_doubled(tmp_path: Path) -> None:
    """Random delays, copies, pauses, jumps of clocks, two annotators, in 200 flushes: the same order too."""
    stream, n_copies = hard_stream(100_000, seed=3)
    dataset = recorded(tmp_path, 5)
    episode = dataset.episodes[0].id
    with FeedbackWriter(dataset, "host") as writer:
        for first in range(0, len(stream.events), 500):
            writer.add(episode, *stream.events[first : first + 500])
            writer.add(episode, *stream.clock.marks[first : first + 500])
            writer.flush()
    read = read_feedback(dataset.refresh(), episode)
    assert n_copies > 1_000
    assert len(read.events) == 100_002
    assert read == stream


def test_people_judge_an_episode_one_after_another(tmp_path: Path) -> None:
    """With the clock of the recording; one with another clock, or with numbers that are taken, changes nothing."""
    dataset = recorded(tmp_path, 4)
    episode = dataset.episodes[0].id
    anna = FeedbackStream([press(0, 250, marks=3)], regular_clock(4))
    ben = FeedbackStream([press(0, 350, -1.0, annotator="ben", marks=4)], regular_clock(4))
    for each in (anna, ben, ben):
        write_feedback(dataset, episode, each, "host")
    both = FeedbackStream([*anna.events, *ben.events], regular_clock(4))
    assert read_feedback(dataset.refresh(), episode) == both
    with pytest.raises(ValueError, match="expected the clock of the feedback that it has, of 5 marks, got one of 4"):
        write_feedback(dataset, episode, FeedbackStream([], regular_clock(3)), "host")
    with pytest.raises(ValueError, match="a device counts its events"):
        write_feedback(dataset, episode, FeedbackStream([press(0, 350, -1.0)], regular_clock(4)), "host")
    assert read_feedback(dataset.refresh(), episode) == both


def test_two_clocks_are_an_error_that_names_the_episode(tmp_path: Path) -> None:
    dataset = recorded(tmp_path, 4)
    episode = dataset.episodes[0].id
    for host in ("one", "two"):
        with FeedbackWriter(dataset, host) as writer:
            writer.add(episode, *regular_clock(4).marks)
    with pytest.raises(ValueError, match=rf"episode {episode}: expected feedback with one clock .* retract"):
        read_feedback(dataset.refresh(), episode)
