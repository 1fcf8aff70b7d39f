"""Slices of splits, against those of TFDS itself."""

import pytest
import tensorflow_datasets as tfds
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.convert.tfds.splits import Stretch, stretches

BOUND = st.one_of(st.just(""), st.integers(-30, 30).map(str))
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def of_tfds(split: str, lengths: list[int]) -> list[tuple[int, int]]:
    """The bounds of the parts of a split according to TFDS."""
    template = tfds.core.ShardedFileTemplate(data_dir="/x", dataset_name="d", split="train", filetype_suffix="tfrecord")
    info = tfds.core.SplitInfo(name="train", shard_lengths=lengths, num_bytes=0, filename_template=template)
    splits = tfds.core.SplitDict([info])
    found = []
    for part in splits[split].file_instructions:
        first = sum(lengths[: int(part.filename.split("-")[-3])])
        found.append((first + part.skip, first + part.skip + (part.examples_in_shard if part.take < 0 else part.take)))
    return found


@given(BOUND, BOUND, st.sampled_from(["", "%", "shard"]), LENGTHS)
def test_slices_are_those_of_tfds(low: str, high: str, unit: str, lengths: list[int]) -> None:
    """For any bounds that TFDS takes, in episodes, percent or shards, the same episodes."""
    split = f"train[{low and low + unit}:{high and high + unit}]"
    if not (low or high):
        return
    try:
        theirs = {number for begin, end in of_tfds(split, lengths) for number in range(begin, end)}
    except (ValueError, AssertionError):
        return
    (ours,) = stretches(split, {"train": lengths})
    if ours.begin < ours.end:  # TFDS makes something of slices that end before they begin; here they are empty
        assert set(range(ours.begin, ours.end)) == theirs


def test_sums() -> None:
    """Several parts, and all episodes, in the requested order."""
    lengths = {"train": [2, 3], "test": [4]}
    assert stretches("test+train[1:]", lengths) == [Stretch("test", 0, 4), Stretch("train", 1, 5)]
    assert stretches("all", lengths) == [Stretch("train", 0, 5), Stretch("test", 0, 4)]
    assert stretches("train[1shard]", lengths) == [Stretch("train", 2, 5)]
    assert stretches("train[3:1]", lengths) == [Stretch("train", 3, 3)]


@pytest.mark.parametrize(
    ("split", "match"),
    [
        ("valid", "there is no 'valid'; there are train, all"),
        ("train[", "expected a name such as train"),
        ("", "expected a name such as train"),
        ("train[1:2:3]", "expected a slice such as train"),
        ("train[a:]", "expected a slice such as train"),
        ("train[1]", "expected two bounds"),
        ("train[1.5:]", "whole number of episodes or shards, or a percentage, got 1.5"),
        ("train[._:]", "expected a slice such as"),
        ("train[:99]", "reaches beyond the 4 episodes of train"),
        ("all[:1]", "there is no 'all'"),
    ],
)
def test_other_text_is_refused(split: str, match: str) -> None:
    """The message says what is possible."""
    with pytest.raises(ValueError, match=match):
        stretches(split, {"train": [4]})
