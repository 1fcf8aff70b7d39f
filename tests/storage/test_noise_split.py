"""PREDICT_SPLIT: images come back, C and Python write and read the same, and what no filter makes is refused."""

import doctest
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder, filters, noise_split
from rlds_kit.storage.block_parts import cut
from rlds_kit.storage.column_layout import MOST_FILTERED, layout_of
from rlds_kit.storage.compression import NOISE_LEVEL
from rlds_kit.storage.filter_choice import SPLIT_PREDICTION, FilterChoice
from rlds_kit.storage.native import native
from rlds_kit.storage.predict import lines_of
from rlds_kit.storage.rows import Part, Stored
from tests import independent_reader
from tests.storage.image_columns import (
    as_rows,
    assert_a_contradiction_is_refused,
    assert_comes_back,
    assert_the_first_rows_are_decoded_alone,
    column_of,
)

SHAPES = st.sampled_from([(1,), (5,), (16,), (3, 3), (4, 4, 3), (3, 2, 16), (2, 70), (9, 16, 3), (32, 33)])
UNDO = (filters.unpredict_split, filters.unpredict_split_twin)


@st.composite
def numbers(draw: st.DrawFn) -> noise_split.Numbers:
    """Noise of any strength around zero, with some that are far off."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    count = draw(st.integers(0, 40) | st.sampled_from([63, 64, 65, 254, 255, 256, 257, 511, 700, 3000]))
    left = (random.standard_normal(count) * draw(st.sampled_from([0, 0.4, 1, 3, 10, 30, 200]))).round().astype(np.int64)
    if count:
        left[random.integers(0, count, draw(st.integers(0, 5)))] = random.integers(-128, 128)
    return left.astype(np.uint8)


@st.composite
def images(draw: st.DrawFn) -> np.ndarray:
    """uint8 of any shape: a picture with noise of any strength."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    shape: tuple[int, ...] = draw(SHAPES)
    noise = draw(st.sampled_from([0, 0.5, 2, 6, 20, 100]))
    frames = random.uniform(0, 255, shape) + noise * random.standard_normal((draw(st.integers(1, 6)), *shape))
    return frames.clip(0, 255).astype(np.uint8)


def _stored(frames: np.ndarray) -> Stored:
    return np.concatenate(filters.predict_split(as_rows(frames), frames.shape[1:]))


@given(numbers(), st.integers(0, noise_split.MOST_NOISE), st.data())
def test_numbers_come_back(left: noise_split.Numbers, noise: int, data: st.DataObject) -> None:
    """All or the first of them, for any number of noise bits; the input does not change."""
    before = left.copy()
    stored = noise_split.split_twin(left, noise)
    first = np.empty(data.draw(st.integers(0, left.size)), np.uint8)
    noise_split.unsplit(stored, left.size, first)
    assert first.tolist() == left[: first.size].tolist()
    assert left.tolist() == before.tolist()


@given(numbers())
def test_both_implementations_write_the_same(left: noise_split.Numbers) -> None:
    """The same bits of noise and the same exceptions, in parts that are as long as they must be."""
    parts = noise_split.split(left)
    stored = np.concatenate(parts)
    noise = int(stored[0])
    assert stored.tolist() == noise_split.split_twin(left, noise_split.noise_of(left)).tolist()
    assert [part.size for part in parts[1:]] == [2 * -(-left.size // 8), noise * -(-left.size // 8)]


@given(numbers(), st.integers(0, noise_split.MOST_NOISE))
def test_few_numbers_are_exceptions(left: noise_split.Numbers, noise: int) -> None:
    """So that no column is larger than readers expect at most, whatever is guessed from some of the numbers."""
    assert noise_split.split_twin(left, noise).size <= noise_split.at_most(left.size)


@pytest.mark.parametrize("deviation", [0.3, 0.5, 0.7, 1, 2, 3, 4, 6, 8, 16, 40])
def test_the_guess_is_a_good_one(deviation: float) -> None:
    """No other number of bits makes 5 % less of noise, be it weak or strong."""
    random = np.random.default_rng(0)
    left = (random.standard_normal(1 << 16) * deviation).round().astype(np.int64).astype(np.uint8)
    compress = zstandard.ZstdCompressor(level=NOISE_LEVEL).compress

    def size(noise: int) -> int:
        stored = noise_split.split_twin(left, noise)
        low = stored.size - int(stored[0]) * (left.size // 8)
        high = low - 2 * (left.size // 8)
        return sum(len(compress(part.tobytes())) for part in (stored[:high], stored[high:low], stored[low:]))

    assert size(noise_split.noise_of(left)) < 1.05 * min(map(size, range(noise_split.MOST_NOISE + 1)))


@given(images(), st.data())
def test_images_come_back(frames: np.ndarray, data: st.DataObject) -> None:
    """All or the first of them, from both implementations and from the reader that was written from the page alone."""
    shape, rows, stored = frames.shape[1:], as_rows(frames), _stored(frames)
    for undo in UNDO:
        begin = data.draw(st.integers(0, len(rows)))
        some = np.full((data.draw(st.integers(0, len(rows) - begin)), rows.shape[1]), 7, np.uint8)
        undo(stored, shape, some, Part(len(rows), begin))
        assert np.array_equal(some, rows[begin : begin + len(some)])
    independent = independent_reader.unfilter(pb.PREDICT_SPLIT, stored.tobytes(), len(rows), rows.shape[1], 1, shape)
    assert independent == frames.tobytes()


@pytest.mark.parametrize("offset", [0, 1, 16])
@pytest.mark.parametrize("width", [64, 65])
def test_rows_of_a_large_array_come_back(width: int, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are written past the cache, unless they or their memory are of odd sizes; what is beside them stays."""
    monkeypatch.setattr(filters, "array_bytes", lambda _: 1 << 40)  # larger than every cache
    frames = np.random.default_rng(0).integers(0, 30, (9, 50, width), np.uint8)
    array = np.full(4 << 20, 7, np.uint8)
    out = array[offset : offset + frames.size].reshape(9, -1)
    filters.unpredict_split(_stored(frames), frames.shape[1:], out, Part(9))
    assert np.array_equal(out, as_rows(frames))
    assert (array[:offset] == 7).all()
    assert (array[offset + frames.size :] == 7).all()


def test_rows_with_gaps_between_them_come_back() -> None:
    """Where memory is not in one piece."""
    frames = np.random.default_rng(0).integers(0, 30, (9, 5, 16), np.uint8)
    out = np.full((9, 100), 7, np.uint8)[:, :80]
    filters.unpredict_split(_stored(frames), (5, 16), out, Part(9))
    assert np.array_equal(out, as_rows(frames))


@pytest.mark.parametrize(("total", "begin"), [(9, -1), (9, 7), (9, 1 << 62), (2, 0), (1 << 62, 0), (9, (1 << 63) - 2)])
def test_rows_that_do_not_exist_are_refused(total: int, begin: int) -> None:
    """By the C code itself, which would read or write beyond memory."""
    if native is None:
        pytest.skip("the C extension is left out")
    stored = _stored(np.random.default_rng(0).integers(0, 30, (9, 5, 16), np.uint8))
    with pytest.raises(ValueError, match=r"rows|fit together"):
        native.unpredict_split(stored, total, np.empty((3, 80), np.uint8), begin, 3, *lines_of((5, 16)), 240)


@given(images(), st.data())
def test_changed_bytes_are_refused_alike(frames: np.ndarray, data: st.DataObject) -> None:
    """Or mean the same to both implementations."""
    stored = _stored(frames)
    for _ in range(data.draw(st.integers(0, 3))):
        stored[data.draw(st.integers(0, min(stored.size - 1, 60)))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        stored = stored[: data.draw(st.integers(0, stored.size))]
    results = list[Any]()
    for undo in UNDO:
        out = np.zeros_like(as_rows(frames))
        try:
            undo(stored, frames.shape[1:], out, Part(len(frames)))
            results.append(out.tolist())
        except ValueError:
            results.append("refused")
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("stored", "total"),
    [
        ([], 8),
        ([7, 8, 0, 0], 8),  # bits of noise
        ([0, 8, 0], 8),  # a field too short
        ([0, 7, 0, 0], 8),  # gaps that end before the numbers do
        ([0, 9, 0, 0], 8),  # after them
        ([0, 255, 255, 0, 0], 255),
        ([0, 3, 4, 0, 0], 8),  # an exception without a value
        ([0, 3, 4, 1, 1, 0, 0], 8),  # a value without an exception
        ([0, 3, 4, 0, 0, 0], 8),  # an exception that is none
        ([0, 3, 4, 64, 0, 0], 8),  # one of more bits than a byte has
    ],
)
def test_what_is_not_split_numbers_is_refused(stored: list[int], total: int) -> None:
    """By name of what is wrong in Python, and alike in C."""
    given = np.array([0, *stored], np.uint8)  # the mode of one line
    for undo in UNDO:
        with pytest.raises(ValueError, match=r"fit|end|exception"):
            undo(given, (total,), np.empty((1, total), np.uint8), Part(1))


@given(images(), st.data())
def test_a_column_of_images_comes_back(frames: np.ndarray, data: st.DataObject) -> None:
    """All of it, rows that are missing included, and in parts of blocks."""
    absent = data.draw(st.integers(0, 2))
    column = column_of(frames, [*range(len(frames) - 1), len(frames) - 1 + absent])
    begin = data.draw(st.integers(0, len(frames)))
    for piece in (column, *cut([column], set(), None, begin), *cut([column], set(), begin, None)):
        rows = as_rows(piece.values)
        if len(rows) * lines_of(frames.shape[1:]).height + noise_split.at_most(rows.size) > MOST_FILTERED * rows.size:
            continue
        assert_comes_back(piece, SPLIT_PREDICTION)


@given(st.integers(0, 40))
def test_the_first_rows_of_a_block_are_decoded_alone(until: int) -> None:
    """In place, where frames are large; what comes after them does not matter."""
    assert_the_first_rows_are_decoded_alone(until, SPLIT_PREDICTION)


@pytest.mark.parametrize("change", ["no such mode", "a byte too few", "a byte too many", "other elements"])
def test_a_large_column_that_contradicts_itself_is_refused(change: str) -> None:
    """Decoding in place validates its input, too."""
    frames = np.random.default_rng(0).integers(0, 256, (8, 64, 64), np.uint8)
    assert_a_contradiction_is_refused(change, frames, _stored(frames).tobytes(), SPLIT_PREDICTION)


def test_images_of_tiny_lines_are_not_split() -> None:
    """What a field was found to suit is not done to a column of it that readers would refuse for its size."""
    choose, random = FilterChoice(), np.random.default_rng(0)
    scene, noise = random.uniform(20, 230, (40, 40, 3)), random.normal(0, 4, (8, 40, 40, 3))
    large = column_encoder.encode(column_of((scene + noise).astype(np.uint8)), choose)
    tiny = column_of(np.repeat(np.array([3, 4], np.uint8), 100).reshape(2, 100, 1, 1))
    header, payload = column_encoder.encode(tiny, choose)
    assert (large[0].filter, header.filter) == (pb.PREDICT_SPLIT, pb.PREDICT)
    assert np.array_equal(columns.decode(layout_of(header, "here"), payload, "here").values, tiny.values)


def test_docstring_examples() -> None:
    assert doctest.testmod(noise_split).failed == 0
