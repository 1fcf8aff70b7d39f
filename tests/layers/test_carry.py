"""Every verb copies layers."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import layers
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.layers.carry import Moved, Piece, carry, layers_of
from rlds_kit.tools import edit
from rlds_kit.tools.compare import diff
from rlds_kit.tools.edit.cut import Cut, cut_id
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify
from tests.layers.recording import record, said
from tests.tools.upkeep.mending import damage

Verb: TypeAlias = Callable[[Path, Path], object]
WHOLE: dict[str, Verb] = {
    "merge": lambda source, copy: edit.merge([source], copy),
    "merge with itself": lambda source, copy: edit.merge([source, source], copy),
    "filter": lambda source, copy: edit.filter(source, copy, "True"),
    "trim": edit.trim,
    "delete": lambda source, copy: edit.delete(source, copy, []),
    "rechunk": lambda source, copy: rechunk(source, copy, block_rows=2),
    "repair": repair,
}


def annotated(directory: Path, lengths: tuple[int, ...] = (6, 9)) -> rlds_kit.Dataset:
    """A dataset with two layers, of which something was retracted."""
    dataset = record(directory, lengths)
    for number, episode in enumerate(dataset.episodes):
        drafts = [
            layers.tag(episode, f"tag {number}"),
            layers.tag(episode, "crash", range(1, 4)),
            layers.note(episode, "what a step", 2),
            layers.episode_return(episode, 7.0),
            layers.rewards(episode, np.arange(float(episode.length - 1))),
            layers.reward(episode, 3.0),
        ]
        ids = dataset.annotate("review", drafts, source="anna", confidence=0.5)
        dataset.annotate("review", [layers.retraction(ids[2])], source="bob")
        dataset.annotate("model", [layers.amendment(episode, "value", 0.5, range(episode.length))], source="critic")
    return dataset


@pytest.mark.parametrize("name", WHOLE)
def test_whole_episodes_keep_all_annotations(tmp_path: Path, name: str) -> None:
    """Ids, times, retractions; the copy is amended like the original."""
    source = annotated(tmp_path / "d")
    WHOLE[name](source.path, tmp_path / "copy")
    copy = rlds_kit.open(tmp_path / "copy")
    assert copy.layers == ("model", "review")
    for layer in copy.layers:
        assert said(copy.layer(layer).history()) == said(source.layer(layer).history())
    for one, other in zip(source.as_amended().episodes, copy.as_amended().episodes, strict=True):
        assert np.array_equal(one["reward"], other["reward"])
        assert np.array_equal(one["value"], other["value"])
    assert diff(source, copy).equal
    assert verify(copy.path).ok


def test_only_annotations_of_the_copied_episodes_are_copied(tmp_path: Path) -> None:
    """By `split`, `delete`, and `filter`, which can ask for tags."""
    source = annotated(tmp_path / "d", (4, 5, 6))
    edit.filter(source.path, tmp_path / "some", '"tag 1" in tags')
    some = rlds_kit.open(tmp_path / "some")
    assert [episode.metadata["number"] for episode in some.episodes] == [1]
    assert some.layer("review").episodes == [source.episodes[1].id]
    edit.delete(source.path, tmp_path / "rest", [source.episodes[1].id])
    rest = rlds_kit.open(tmp_path / "rest")
    edit.merge([tmp_path / "some", tmp_path / "rest"], tmp_path / "all")
    assert diff(source, rlds_kit.open(tmp_path / "all"), match="id").layers == ()
    parts = edit.split(source.path, tmp_path / "parts", {"a": 0.5, "b": 0.5})
    total = sum(len(rlds_kit.open(each.destination).layer("review")) for each in parts.values() if each.episodes)
    assert (total, len(rest.layer("review"))) == (15, 10)


def test_a_merge_has_what_either_knows(tmp_path: Path) -> None:
    """A retraction in one copy, and an annotation added in another, are both in the result."""
    source = annotated(tmp_path / "d")
    edit.merge([source.path], tmp_path / "copy")
    copy = rlds_kit.open(tmp_path / "copy")
    first = source.layer("review").annotations(source.episodes[0])[0]
    source.annotate("review", [layers.retraction(first.id)], source="anna")
    copy.annotate("review", [layers.tag(copy.episodes[1], "new")], source="bob")
    edit.merge([source.path, copy.path], tmp_path / "both")
    both = rlds_kit.open(tmp_path / "both")
    assert first not in both.layer("review").annotations()
    assert "new" in both.episodes[1].tags
    assert len(both.layer("review")) == len(source.layer("review")) + 1


@given(st.integers(0, 8), st.integers(1, 9))
@settings(max_examples=25)
def test_spans_are_cut_and_counted_anew(tmp_path_factory: pytest.TempPathFactory, begin: int, count: int) -> None:
    """A cut episode is amended as the steps of the original are; a return is not one of the cut."""
    folder = tmp_path_factory.mktemp("trim")
    source = annotated(folder / "d", (9, 9))
    end = min(begin + count, 9)
    report = edit.trim(source.path, folder / "copy", begin=begin, end=end)
    copy = rlds_kit.open(folder / "copy")
    for old, new in zip(source.as_amended().episodes, copy.as_amended().episodes, strict=True):
        whole = (begin, end) == (0, 9)
        assert new.id == (old.id if whole else cut_id(old.id, Cut(begin, end)))
        assert np.array_equal(new["value"], old[begin:end]["value"])
        assert np.array_equal(new["reward"][:-1], old[begin : end - 1]["reward"])
        was, now = source.layer("review"), copy.layer("review")
        assert now.tagged(new, "crash").tolist() == was.tagged(old, "crash")[begin:end].tolist()
        assert {*new.tags} == {*old[begin:end].tags}
        assert now.returns(new) == ({"anna": 7.0} if whole else {})
        assert layers.Kind.NOTE not in [each.kind for each in new.annotations()]
        assert {each.digest for each in new.annotations()} == {new.content_digest}
    assert verify(copy.path).ok
    assert bool(report.annotations_left_out) == ((begin, end) != (0, 9))


def test_trims_end_at_a_tag(tmp_path: Path) -> None:
    """The first step that has it is the last one."""
    source = annotated(tmp_path / "d")
    edit.trim(source.path, tmp_path / "copy", tag="crash")
    assert rlds_kit.open(tmp_path / "copy").lengths() == [2, 2]
    with pytest.raises(ValueError, match="no step has the tag"):
        edit.trim(source.path, tmp_path / "other", tag="tag 1")  # the whole episode's


def test_a_trim_is_the_same_every_time(tmp_path: Path) -> None:
    """So that a merge of two such copies has each annotation once; one of the original and a copy has both."""
    source = annotated(tmp_path / "d")
    for name in ("one", "two"):
        edit.trim(source.path, tmp_path / name, begin=1)
    one, two = (rlds_kit.open(tmp_path / name).layer("review") for name in ("one", "two"))
    assert said(one.history()) == said(two.history())
    edit.merge([tmp_path / "one", tmp_path / "two", source.path], tmp_path / "all")
    merged = rlds_kit.open(tmp_path / "all").layer("review")
    assert len(merged) == len(one) + len(source.layer("review"))


def test_repair_counts_the_steps_that_are_left(tmp_path: Path) -> None:
    """Where steps in the middle are lost, spans that reach over the gap become two."""
    source = record(tmp_path / "d", (12,))
    episode = source.episodes[0]
    source.annotate("h", [layers.tag(episode, "x", range(2, 10)), layers.note(episode, "gone", 5)], source="me")
    source.annotate("h", [layers.rewards(episode, np.arange(11.0))], source="me")
    (shard,) = source.path.glob("episodes-*")
    position = int(source._all[0][1].blocks[1])
    damage(shard, position + 60)
    repair(source.path, tmp_path / "copy")
    copy = rlds_kit.open(tmp_path / "copy")
    (mended,) = copy.episodes
    kept = [int(step) for step in mended["observation"][:, 1]]
    assert len(kept) < 12
    was, now = source.layer("h"), copy.layer("h")
    assert now.tagged(mended, "x").tolist() == [2 <= step < 10 for step in kept]
    assert layers.Kind.NOTE not in [each.kind for each in now.annotations(mended)]
    rewards, mask = now.rewards(mended)
    assert mask.any()
    assert rewards[mask].tolist() == [float(step) for step, has in zip(kept, mask, strict=True) if has]
    assert len(was.annotations()) == 3
    assert verify(copy.path).ok


def test_pieces_of_an_annotation_are_retracted_together(tmp_path: Path) -> None:
    source = record(tmp_path / "d", (9,))
    episode = source.episodes[0]
    (tag,) = source.annotate("h", [layers.tag(episode, "x", range(9))], source="me")
    source.annotate("h", [layers.retraction(tag)], source="me")
    moved = Moved(episode.content_digest, episode.id.bytes, bytes(16), (Piece(0, 3, 0), Piece(5, 9, 3)))
    assert carry([source.path], tmp_path, {episode.id.bytes: moved}).annotations == 4
    (layer,) = layers_of(tmp_path)
    assert (len(layer), len(layer.history())) == (0, 4)


def test_rechunk_records_lineage(tmp_path: Path) -> None:
    """As the other verbs do."""
    source = annotated(tmp_path / "d")
    rechunk(source.path, tmp_path / "copy", block_rows=2)
    lineage = rlds_kit.open(tmp_path / "copy").description["lineage"]
    assert (lineage["verb"], lineage["arguments"]["block_rows"]) == ("rechunk", 2)
    assert lineage["sources"] == [{"name": "d", "digest": source.content_digest.hex()}]


def test_differences_of_layers_are_reported(tmp_path: Path) -> None:
    """How many annotations only one side has; recorded data that are equal are not enough."""
    source = annotated(tmp_path / "d")
    edit.merge([source.path], tmp_path / "copy")
    copy = rlds_kit.open(tmp_path / "copy")
    copy.annotate("review", [layers.tag(copy.episodes[0], "new")], source="me")
    copy.annotate("other", [layers.tag(copy.episodes[0], "new"), layers.note(copy.episodes[1], "x")], source="me")
    report = diff(source, copy)
    assert not report.equal
    assert [(each.name, each.only_a, each.only_b) for each in report.layers] == [("other", 0, 2), ("review", 0, 1)]
    assert diff(source, copy, fields=["reward"]).equal


def test_conversions_say_that_layers_are_lost(tmp_path: Path) -> None:
    """Foreign formats cannot store them."""
    source = annotated(tmp_path / "d")
    with pytest.raises(ConversionError, match="would be lost"):
        convert(source.path, tmp_path / "other", "minari")
    report = convert(source.path, tmp_path / "other", "minari", allow_loss=True)
    assert [loss.values for loss in report.losses if loss.field == "layers"] == [2]


def test_changed_episodes_are_not_carried(tmp_path: Path) -> None:
    """Annotations of data that changed since are an error, not a guess."""
    source = annotated(tmp_path / "d")
    moved = {each.id.bytes: Moved(bytes(16), each.id.bytes, bytes(16)) for each in source.episodes}
    with pytest.raises(rlds_kit.FormatError, match="the data changed"):
        carry([source.path], tmp_path / "copy", moved)


@pytest.mark.parametrize("stacked", [True, False], ids=["a value for each step", "one value"])
def test_a_step_that_lost_its_action_has_no_reward(tmp_path: Path, *, stacked: bool) -> None:
    """The new last step of a trimmed episode: neither a reward of it, nor one of a span that ends there."""
    dataset = record(tmp_path / "d", (9,))
    (episode,) = dataset.episodes
    if stacked:
        dataset.annotate("review", [layers.rewards(episode, np.arange(8.0))], source="anna")
    else:
        dataset.annotate("review", [layers.reward(episode, float(row), row) for row in range(8)], source="anna")
    dataset.annotate("model", [layers.amendment(episode, "value", 0.5, range(9))], source="critic")
    edit.trim(dataset.path, tmp_path / "copy", begin=2, end=6)
    copy = rlds_kit.open(tmp_path / "copy")
    (trimmed,) = copy.episodes
    rewarded = [each.steps for each in copy.layer("review").history() if each.steps is not None]
    assert sorted(row for steps in rewarded for row in steps) == [0, 1, 2]
    rewards, mask = copy.layer("review").rewards(trimmed)
    assert (rewards.tolist(), mask.tolist()) == ([2, 3, 4, 0], [True, True, True, False])
    (value,) = copy.layer("model").history()
    assert value.steps == range(4), "what is no part of an action stays at the last step"
