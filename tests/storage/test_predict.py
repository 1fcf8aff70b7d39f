"""PREDICT: images come back, C and Python write and read the same, and what no filter makes is refused."""

import doctest
import math
from typing import Any

import numpy as np
import pytest
import xxhash
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import FormatError
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder, predict
from rlds_kit.storage.block_parts import cut
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.compression import FAST_LEVEL
from rlds_kit.storage.filter_choice import PREDICTION, FilterChoice
from rlds_kit.storage.filters import APPLY
from rlds_kit.storage.predict import ABOVE, lines_of
from tests import independent_reader
from tests.storage.image_columns import (
    Always,
    as_rows,
    assert_a_contradiction_is_refused,
    assert_comes_back,
    assert_the_first_rows_are_decoded_alone,
    column_of,
)

SHAPES = st.lists(st.integers(1, 6), max_size=4).map(tuple) | st.sampled_from(
    [(3, 2, 16), (2, 3, 17), (70, 3), (2, 70)]
)


@st.composite
def images(draw: st.DrawFn) -> np.ndarray:
    """uint8 of any shape: noise, or a picture that moves over a torus, with or without noise."""
    shape: tuple[int, ...] = draw(SHAPES)
    count = draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    picture = random.integers(0, 256, shape, np.uint8)
    axes = tuple(range(len(shape)))
    moves = [draw(st.tuples(*[st.integers(-1, 1)] * len(shape))) for _ in range(count)]
    frames = np.stack([np.roll(picture, move, axes) if axes else picture for move in moves])
    noise = random.integers(0, draw(st.sampled_from([1, 4, 256])), frames.shape, np.uint8)
    return frames + noise


@given(images())
def test_images_come_back(frames: np.ndarray) -> None:
    """C undoes what Python did, and Python what C did, to other memory and in place, without changing the input."""
    shape, rows = frames.shape[1:], as_rows(frames.copy())
    for stored in (predict.predict(rows, shape), predict.predict_twin(rows, shape)):
        for undo in (predict.unpredict, predict.unpredict_twin):
            count = len(rows) * lines_of(shape).height
            left = stored[count:].reshape(rows.shape).copy()
            for out in (np.empty_like(rows), left):
                undo(stored[:count], left, shape, out)
                assert np.array_equal(out, as_rows(frames))
    assert np.array_equal(rows, as_rows(frames))


@given(images())
def test_both_implementations_write_the_same(frames: np.ndarray) -> None:
    """The same modes, so the same bytes."""
    rows, shape = as_rows(frames), frames.shape[1:]
    assert predict.predict(rows, shape).tolist() == predict.predict_twin(rows, shape).tolist()


@given(images(), st.data())
def test_any_modes_are_undone_alike(frames: np.ndarray, data: st.DataObject) -> None:
    """C, Python and the reader that was written from the page alone agree on arbitrary modes."""
    shape, lines = frames.shape[1:], lines_of(frames.shape[1:])
    count = len(frames) * lines.height
    modes = np.array(data.draw(st.lists(st.integers(0, ABOVE), min_size=count, max_size=count)), np.uint8)
    results = [np.empty_like(as_rows(frames)) for _ in range(2)]
    predict.unpredict(modes, as_rows(frames), shape, results[0])
    predict.unpredict_twin(modes, as_rows(frames), shape, results[1])
    stored = modes.tobytes() + frames.tobytes()
    independent = independent_reader.unfilter(pb.PREDICT, stored, len(frames), frames[0].size, 1, shape)
    assert results[0].tobytes() == results[1].tobytes() == independent


@given(images(), st.integers(ABOVE + 1, 255), st.integers(-1, 1), st.data())
def test_modes_that_do_not_exist_are_refused(frames: np.ndarray, mode: int, more: int, data: st.DataObject) -> None:
    """As are too many or too few, in both implementations."""
    shape = frames.shape[1:]
    modes = np.zeros(len(frames) * lines_of(shape).height + more, np.uint8)
    if not more:
        modes[data.draw(st.integers(0, len(modes) - 1))] = mode
    for undo in (predict.unpredict, predict.unpredict_twin):
        with pytest.raises(ValueError, match="line"):
            undo(modes, as_rows(frames), shape, np.empty_like(as_rows(frames)))


@given(images(), st.data())
def test_a_column_of_images_comes_back(frames: np.ndarray, data: st.DataObject) -> None:
    """All of it, rows that are missing included, its first rows alone, and in parts of blocks."""
    absent = data.draw(st.integers(0, 2))
    column = column_of(frames, [*range(len(frames) - 1), len(frames) - 1 + absent])
    begin = data.draw(st.integers(0, len(frames)))
    pieces = [column, *cut([column], set(), None, begin), *cut([column], set(), begin, None)]
    for piece in pieces:
        assert_comes_back(piece, PREDICTION)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0, 3), (4, 4, 0)])
def test_images_without_pixels_need_no_filter(shape: tuple[int, ...]) -> None:
    """They are stored as nothing."""
    header, payload = column_encoder.encode(column_of(np.zeros((3, *shape), np.uint8)), Always(PREDICTION))
    assert (header.filter, payload) == (pb.IDENTITY, b"")
    assert columns.decode(layout_of(header, "here"), payload, "here").values.shape == (3, *shape)


def test_no_rows_at_all() -> None:
    """A column none of whose rows has a value, as other writers may make it, decodes to nothing."""
    header = pb.Column(path="x", dtype="uint8", rank=2, shape=(4, 4), count=2, partial=True, filter=pb.PREDICT)
    header.decoded_length = header.length = 1
    payload = b"\0"
    header.xxh3 = xxhash.xxh3_64_intdigest(payload)
    assert columns.decode(layout_of(header, "here"), payload, "here").values.shape == (0, 4, 4)


@given(st.integers(0, 40))
def test_the_first_rows_of_a_block_are_decoded_alone(until: int) -> None:
    """In place, where frames are large; what comes after them does not matter."""
    assert_the_first_rows_are_decoded_alone(until, PREDICTION)


@pytest.mark.parametrize(
    "change", ["no such mode", "a byte too few", "a byte too many", "other elements", "bytes behind the frame"]
)
def test_a_large_column_that_contradicts_itself_is_refused(change: str) -> None:
    """Decoding in place validates its input, too."""
    frames = np.random.default_rng(0).integers(0, 256, (8, 64, 64), np.uint8)
    assert_a_contradiction_is_refused(
        change, frames, APPLY[pb.PREDICT](as_rows(frames), 1, (64, 64))[0].tobytes(), PREDICTION
    )


def test_images_that_announce_more_bytes_than_they_have_are_refused() -> None:
    """Before anything is decompressed, though what they bring is what they announce."""
    header, _ = column_encoder.encode(
        column_of(np.zeros((3, 100, 200), np.uint8) + np.arange(200, dtype=np.uint8)), Always(PREDICTION)
    )
    payload = zstandard.ZstdCompressor(level=FAST_LEVEL).compress(bytes(100_000))
    header.filter, header.codec, header.length, header.decoded_length = pb.PREDICT, pb.ZSTD, len(payload), 100_000
    header.xxh3 = xxhash.xxh3_64_intdigest(payload)
    with pytest.raises(FormatError, match="60300 bytes were expected, 100000 announced"):
        columns.decode_into(layout_of(header, "here"), payload, "here", np.zeros((3, 20_000), np.uint8))


def _camera(count: int, noise: float) -> np.ndarray:
    """A view that drifts over a smooth scene, with a sensor's noise."""
    random = np.random.default_rng(0)
    scene = np.kron(random.uniform(40, 215, (12, 12, 3)), np.ones((16, 16, 1)))
    for _ in range(3):
        scene = np.mean([np.roll(scene, shift, (0, 1)) for shift in ((0, 0), (7, 0), (0, 7), (7, 7))], axis=0)
    views = [scene[row // 2 : row // 2 + 64, row : row + 64] for row in range(count)]
    return np.stack([(view + noise * random.standard_normal(view.shape)).clip(0, 255) for view in views]).astype(
        np.uint8
    )


def test_a_camera_is_predicted() -> None:
    """It is chosen for noisy frames, and comes to little more than the noise: 4.05 bits a byte for a deviation of 4."""
    frames = _camera(16, 4)
    header, payload = column_encoder.encode(column_of(frames), FilterChoice())
    assert header.filter == pb.PREDICT_SPLIT
    assert len(payload) * 8 / frames.size < 4.65


@pytest.mark.parametrize(
    "frames", [np.arange(64 * 64 * 64, dtype=np.uint8).reshape(64, 64, 64), _camera(64, 0)[:, :1, 0, 0]]
)
def test_others_are_not_tried(frames: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """What compresses well anyway, or is no image, pays nothing for the filter."""

    def fail(*_: Any) -> None:
        raise AssertionError("tried")

    monkeypatch.setitem(APPLY, pb.PREDICT, fail)
    header, _ = column_encoder.encode(column_of(frames), FilterChoice())
    assert header.filter != pb.PREDICT


@pytest.mark.parametrize(
    ("shape", "lines"),
    [
        ((), (1, 1, 1)),
        ((5,), (1, 5, 1)),
        ((4, 5), (4, 5, 1)),
        ((4, 5, 1), (4, 5, 1)),
        ((4, 5, 16), (4, 80, 16)),
        ((4, 5, 17), (20, 17, 1)),
        ((2, 4, 5, 3), (8, 15, 3)),
    ],
)
def test_lines_of_a_shape(shape: tuple[int, ...], lines: tuple[int, int, int]) -> None:
    """A short last dimension of three or more is of channels."""
    assert lines_of(shape) == lines
    assert lines[0] * lines[1] == math.prod(shape)


def test_docstring_examples() -> None:
    assert doctest.testmod(predict).failed == 0
