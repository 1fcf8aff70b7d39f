"""Writing annotations: validation, durability, and concurrent writers."""

import multiprocessing
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.errors import FormatError, RecordingError, UnsupportedTypeError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.layers.layer_file import LayerFileWriter
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.layers.recording import SPEC, UNKNOWN, record

BAD_DRAFTS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "nan": (lambda e: layers.reward(e, float("nan"), 0), ValueError, "finite"),
    "infinite": (lambda e: layers.rewards(e, [0.0, np.inf]), ValueError, "finite"),
    "nan of an agent": (lambda e: layers.amendment(e, "reward/a", float("nan"), 0), ValueError, "finite"),
    "text for a reward": (lambda e: layers.reward(e, "1", 0), ValueError, "finite number"),
    "no rewards": (lambda e: layers.rewards(e, []), ValueError, "one value for each step"),
    "confidence above 1": (lambda e: layers.tag(e, "x", confidence=1.1), ValueError, r"\[0, 1\]"),
    "confidence nan": (lambda e: layers.tag(e, "x", confidence=float("nan")), ValueError, r"\[0, 1\]"),
    "no label": (lambda e: layers.tag(e, ""), ValueError, "not empty"),
    "no text": (lambda e: layers.note(e, ""), ValueError, "text"),
    "a flag": (lambda e: layers.amendment(e, "is_last", True, 1), ValueError, "flags"),
    "a part of a flag": (lambda e: layers.amendment(e, "is_last/x", True, 1), ValueError, "flags"),
    "gaps": (lambda e: layers.amendment(e, "step_index", 5, 1), ValueError, "left out"),
    "no field": (lambda e: layers.amendment(e, "", 1, 1), ValueError, "field: expected"),
    "an object": (lambda e: layers.amendment(e, "x", object(), 1), UnsupportedTypeError, "cannot record object"),
    "user data": (lambda e: layers.tag(e, "x", user_data={1, 2}), UnsupportedTypeError, "cannot record set"),
    "a step below 0": (lambda e: layers.tag(e, "x", -1), ValueError, "from 0 on"),
    "no steps": (lambda e: layers.tag(e, "x", range(3, 3)), ValueError, "consecutive"),
    "every other step": (lambda e: layers.tag(e, "x", range(0, 4, 2)), ValueError, "consecutive"),
    "a bool for a step": (lambda e: layers.tag(e, "x", True), ValueError, "from 0 on"),
    "beyond a slice": (lambda e: layers.tag(e[2:4], "x", 2), ValueError, "2 steps"),
    "the return of a part": (lambda e: layers.episode_return(e[2:4], 1.0), ValueError, "whole episode"),
    "no id": (lambda e: layers.tag("x", "x"), ValueError, "UUID"),
}


@pytest.mark.parametrize("name", BAD_DRAFTS)
def test_what_makes_no_sense_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """Before any dataset is read."""
    make, kind, message = BAD_DRAFTS[name]
    with pytest.raises(kind, match=message):
        make(record(tmp_path / "d").episodes[0])


def test_what_the_dataset_does_not_have_is_refused(tmp_path: Path) -> None:
    """Episodes, steps, actions, annotations; and then nothing is written, not even what was right."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    good = layers.tag(episode, "good")
    wrong: list[tuple[layers.Draft, type[Exception], str]] = [
        (layers.tag(UNKNOWN, "x"), KeyError, "there is no episode"),
        (layers.tag(episode.id, "x", 6), IndexError, "steps 0 to 5"),
        (layers.reward(episode.id, 1.0, 5), IndexError, "no action on the last one"),
        (layers.rewards(episode, np.zeros(6)), IndexError, "steps 0 to 4"),
        (layers.retraction(UNKNOWN), KeyError, "no annotation"),
    ]
    for draft, kind, message in wrong:
        with pytest.raises(kind, match=message):
            dataset.annotate("h", [good, draft], source="me")
    with pytest.raises(ValueError, match="name of a layer"):
        dataset.annotate("../h", [good], source="me")
    with pytest.raises(ValueError, match="source: expected"):
        dataset.annotate("h", [good], source="")
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        dataset.annotate("h", [good], source="me", confidence=2)
    assert dataset.layers == ()


def test_buffers_may_be_used_again(tmp_path: Path) -> None:
    """An annotation has the value from the time at which it was added, not from the time at which it is written."""
    dataset = record(tmp_path / "d")
    buffer, about = np.zeros(2, np.float32), {"who": "me"}
    with dataset.annotator("h", source="me") as writer:
        for step in range(3):
            buffer[:], about["who"] = step, str(step)
            writer.add(layers.amendment(dataset.episodes[0], "observation", buffer, step, user_data=about))
            writer.add(layers.amendments(dataset.episodes[1], "observation", buffer[None], step))
    for episode in dataset.as_amended("h").episodes:
        assert episode["observation"][:3, 0].tolist() == [0.0, 1.0, 2.0]
    assert [each.user_data["who"] for each in dataset.layer("h").annotations(dataset.episodes[0])] == ["0", "1", "2"]


def test_no_steps_are_not_all_steps(tmp_path: Path) -> None:
    """A part of an episode without steps cannot be annotated."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    for part in (episode[0:0], episode[2:2], episode[6:]):
        with pytest.raises(ValueError, match="steps: expected some, got a part of an episode that has none"):
            layers.tag(part, "bad")
        with pytest.raises(ValueError, match="steps: expected some, got a part of an episode that has none"):
            layers.reward(part, 1.0, 0)


def test_data_that_changed_are_refused(tmp_path: Path) -> None:
    """An episode of the same id and other content is another episode, when writing and when reading."""
    dataset = record(tmp_path / "d")
    draft = layers.tag(dataset.episodes[0], "x")
    changed = layers.Draft(draft.kind, draft.episode, None, "x", digest=bytes(16))
    with pytest.raises(FormatError, match="open the dataset anew"):
        dataset.annotate("h", [changed], source="me")
    dataset.annotate("h", [draft], source="me")
    other = record(tmp_path / "other")
    (other.path / "layers").symlink_to(dataset.path / "layers")
    assert other.episodes[0].tags == ()  # another id
    found = dataset.layer("h").annotations()[0]

    class Changed:
        id, content_digest, rows = found.episode, bytes(16), range(6)

    with pytest.raises(FormatError, match="the data changed"):
        dataset.layer("h").annotations(Changed())


def test_all_annotations_are_read_back(tmp_path: Path) -> None:
    """Values of every kind, with types; source, confidence, steps; in order of time."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[1]
    values: list[Any] = [None, True, 1 << 80, -0.0, 1j, "ä\ud800", b"\0", [1, (2,)], {"a": {3: None}}, np.float16(0.5)]
    values += [np.arange(6, dtype=">i2").reshape(2, 3), np.array("x"), np.float32("nan")]
    drafts = [layers.amendment(episode, "any", value, 1, user_data=value) for value in values]
    dataset.annotate("h", drafts, source="me", confidence=0.25)
    found = dataset.layer("h").annotations(episode)
    assert [(repr(each.value), repr(each.user_data)) for each in found] == [(repr(one), repr(one)) for one in values]
    assert {(each.source, each.confidence, each.steps, each.digest) for each in found} == {
        ("me", 0.25, range(1, 2), episode.content_digest)
    }
    assert list(found) == sorted(found, key=lambda each: each.time_ns)
    assert episode.annotations("h") == episode.annotations() == found
    assert episode[2:].annotations() == ()


def test_retractions_are_for_good_and_kept_in_the_history(tmp_path: Path) -> None:
    """By any client, at any time, also annotations of another process; retractions cannot be retracted."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    first, second = dataset.annotate("h", [layers.tag(episode, "a"), layers.tag(episode, "b")], source="anna")
    (third,) = rlds_kit.open(dataset.path).annotate("h", [layers.retraction(first)], source="bob")
    assert [each.id for each in dataset.layer("h").annotations()] == [second]
    assert [each.id for each in dataset.layer("h").history(episode)] == [first, second, third]
    assert len(dataset.layer("h")) == 1
    with pytest.raises(KeyError, match="no annotation"):
        dataset.annotate("h", [layers.retraction(third)], source="anna")


def test_nothing_is_there_before_it_is_flushed(tmp_path: Path) -> None:
    """`flush` acknowledges; a writer without annotations leaves no file."""
    dataset = record(tmp_path / "d")
    with dataset.annotator("h", source="me") as writer:
        assert dataset.layers == ()
        writer.add(layers.tag(dataset.episodes[0], "x"))
        assert dataset.layers == ()
        writer.flush()
        assert len(rlds_kit.open(dataset.path).layer("h")) == 1
        writer.add(layers.tag(dataset.episodes[0], "y"))
    assert len(dataset.layer("h")) == 2
    with pytest.raises(KeyError, match="there are: h"):
        dataset.layer("g")


def test_threads_may_share_a_writer(tmp_path: Path) -> None:
    """Each annotation exists once."""
    dataset = record(tmp_path / "d")
    with dataset.annotator("h", source="me") as writer:

        def work(number: int) -> None:
            for each in range(50):
                writer.add(layers.note(dataset.episodes[0].id, f"{number} {each}"))
                writer.flush()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = [each.value for each in dataset.layer("h").annotations()]
    assert sorted(found) == sorted(f"{number} {each}" for number in range(4) for each in range(50))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_needs_a_writer_of_its_own(tmp_path: Path) -> None:
    """Two processes never write into one file."""
    dataset = record(tmp_path / "d")
    writer = dataset.annotator("h", source="me")
    writer.add(layers.tag(dataset.episodes[0], "parent"))
    writer.flush()
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def child() -> None:
        try:
            writer.add(layers.tag(dataset.episodes[0], "child"))
            writer.flush()
        except RecordingError as error:
            dataset.annotate("h", [layers.tag(dataset.episodes[0], "own")], source="me")
            results.put(str(error))

    process = context.Process(target=child)
    process.start()
    assert "parent process's" in results.get(timeout=60)
    process.join()
    writer.close()
    assert dataset.episodes[0].tags == ("own", "parent")


def test_what_could_not_be_written_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a new file; no annotation is lost or duplicated."""
    dataset = record(tmp_path / "d")
    writer = dataset.annotator("h", source="me")
    writer.add(layers.tag(dataset.episodes[0], "a"))
    writer.flush()
    writer.add(layers.tag(dataset.episodes[0], "b"))
    sync = LayerFileWriter.sync

    def fails(self: LayerFileWriter) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LayerFileWriter, "sync", fails)
    with pytest.raises(OSError, match="No space"):
        writer.flush()
    monkeypatch.setattr(LayerFileWriter, "sync", sync)
    writer.close()
    assert [each.value for each in dataset.layer("h").annotations()] == ["a", "b"]
    assert len(list((dataset.path / "layers" / "h").iterdir())) == 2


def test_episodes_that_are_being_recorded_can_be_annotated(tmp_path: Path) -> None:
    """Also ones that began after the dataset was opened, and steps that are not on disk yet; then they stay."""
    dataset = record(tmp_path / "d")
    policy = FlushPolicy(block_rows=4, interval=None)
    with Recorder(tmp_path / "d", SPEC, policy=policy) as recorder, dataset.annotator("h", source="anna") as writer:
        episode = recorder.start_episode()
        for step in range(8):
            acted = {"action": step, "reward": np.float64(0), "discount": np.float32(1)} if step else None
            episode.append({"observation": np.zeros(2, np.float32)}, acted)
        recorder.flush()
        writer.add(layers.reward(episode.id, 5.0, 2))
        writer.add(layers.reward(episode.id, 6.0, 11))
        writer.add(layers.reward(episode.id, 7.0, 500))
        writer.add(layers.reward(episode.id, 8.0, 12))  # which will be the last
        with pytest.raises(IndexError, match="being recorded"):
            writer.add(layers.reward(episode.id, 1.0))
        writer.flush()
        going = rlds_kit.open(tmp_path / "d", include_open=True)
        assert going.as_amended("h").episodes[-1]["reward"][:4].tolist() == [0.0, 0.0, 5.0, 0.0]
        for step in range(8, 13):
            acted = {"action": step, "reward": np.float64(0), "discount": np.float32(1)}
            episode.append({"observation": np.zeros(2, np.float32)}, acted)
        episode.end(EpisodeEnd.TRUNCATED)
    fresh = rlds_kit.open(tmp_path / "d")
    amended = fresh.as_amended("h").episodes[-1]
    assert amended["reward"].tolist() == [0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0]
    assert amended.mask("reward").tolist() == [True] * 12 + [False]
    rewards, said = fresh.layer("h").rewards(fresh.episodes[-1])
    assert np.flatnonzero(said).tolist() == [2, 11]
    assert rewards[[2, 11]].tolist() == [5.0, 6.0]
    assert {each.digest for each in fresh.layer("h").annotations()} == {b""}


def test_writers_of_several_processes(tmp_path: Path) -> None:
    """Each has its own file, and all annotations are in the layer."""
    dataset = record(tmp_path / "d")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_annotate, args=(dataset.path, number)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = dataset.layer("h").annotations()
    assert sorted(each.value for each in found) == sorted(
        f"{number} {each}" for number in range(2) for each in range(20)
    )
    assert len(list((dataset.path / "layers" / "h").iterdir())) == 2


def _annotate(path: Path, number: int) -> None:
    dataset = rlds_kit.open(path)
    with dataset.annotator("h", source=str(number)) as writer:
        for each in range(20):
            writer.add(layers.note(dataset.episodes[0], f"{number} {each}"))
            writer.flush()


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do."""
    dataset = record(tmp_path / "d")
    for module in ("layer_file", "message"):  # the header's and that of annotations
        monkeypatch.setattr(f"rlds_kit.layers.{module}.MAJOR_VERSION", 2)
    dataset.annotate("h", [layers.tag(dataset.episodes[0], "x")], source="me")
    monkeypatch.undo()
    with pytest.raises(FormatError, match="upgrade rlds_kit"):
        dataset.layer("h")


def test_a_dataset_that_is_gone_is_not_made_anew_by_annotating_it(tmp_path: Path) -> None:
    """The error names the directory, and nothing appears there."""
    dataset = record(tmp_path / "d")
    shutil.rmtree(tmp_path / "d")
    with pytest.raises(rlds_kit.NotADatasetError, match="expected the directory of a dataset; it is gone"):
        dataset.annotator("human", source="anna")
    assert not (tmp_path / "d").exists()
