"""Damaged and malicious LeRobot datasets: opening gives a clear error or a correct result."""

import base64
import io
import json
import re
import struct
import sys
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from rlds_kit.base.errors import FormatError
from rlds_kit.convert import formats
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.formats import FORMATS
from rlds_kit.convert.lerobot import extra as lerobot_extra
from rlds_kit.convert.lerobot import video_frames
from rlds_kit.convert.lerobot.info import read_info
from rlds_kit.convert.lerobot.reader import LeRobotReader
from rlds_kit.convert.lerobot.video_frames import VideoFrames
from rlds_kit.install import how_to_install
from tests.convert import lerobot_samples as samples
from tests.convert.mutations import read_mutated

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.side/chunk-000/file-000.mp4"


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """A copy of the golden dataset."""
    return samples.copy(tmp_path / "arm")


def read_all(path: Path) -> None:
    """Reads and decodes everything."""
    for episode in LeRobotReader(path):
        content_of(episode)


@pytest.mark.parametrize(
    "template",
    [
        "../{chunk_index:03d}/{file_index}.parquet",
        "/etc/{chunk_index}{file_index}",
        "data/{chunk_index.__class__}",
        "data/{chunk_index:999999999d}",
        "data/{chunk_index!r}",
        "data/{video_key}",
        "C:\\data",
        "data/\0",
        "",
        7,
        None,
    ],
)
def test_templates_of_paths_lead_nowhere_else(template: Any, arm: Path) -> None:
    """They are no format strings of Python, and stay below the dataset."""
    samples.edit_info(arm, data_path=template)
    with pytest.raises(FormatError, match="data_path"):
        read_all(arm)


@pytest.mark.parametrize(
    "changes",
    [
        {"fps": 0},
        {"fps": float("nan")},
        {"fps": True},
        {"fps": "10"},
        {"features": []},
        {"features": {"action": {"dtype": "float32", "shape": [1 << 40]}}},
        {"features": {"action": {"dtype": "float32", "shape": [1 << 20, 1 << 20]}}},
        {"features": {"action": {"dtype": "float32", "shape": [-1]}}},
        {"features": {"action": {"dtype": "float32", "shape": [True]}}},
        {"features": {"action": {"dtype": "image", "shape": [4, 4]}}},
        {"features": {"action": 3}},
        {"codebase_version": "v2.1"},
        {"codebase_version": None},
    ],
)
def test_absurd_infos_are_refused(changes: dict[str, Any], arm: Path) -> None:
    """Before anything is read by them."""
    samples.edit_info(arm, **changes)
    with pytest.raises(FormatError, match="expected"):
        read_info(arm)


def test_older_versions_are_refused_with_what_to_do(arm: Path) -> None:
    samples.edit_info(arm, codebase_version="v2.1")
    assert FORMATS["lerobot"].recognises(arm)
    with pytest.raises(FormatError, match="convert_dataset_v21_to_v30"):
        formats.recognised(arm).open(arm)


def _edit(path: Path, name: str, values: list[Any]) -> None:
    table = pq.read_table(path)
    place = table.schema.get_field_index(name)
    pq.write_table(
        table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type)), path
    )


@pytest.mark.parametrize(
    ("file", "column", "values", "message"),
    [
        (DATA, "episode_index", [0] * 15, "episode_index"),
        (DATA, "index", [7] * 15, "whose index"),
        (DATA, "task_index", [9] * 15, "a task"),
        (DATA, "next.reward", [None] * 15, "a value in every row"),
        (DATA, "grid", [[[1], [2]]] * 15, "lists of 2"),
        (DATA, "grid", [[[1, 2, 3], [4]]] * 15, "lists of 2"),
        (EPISODES, "episode_index", [0, 2, 1], "expected episode 1"),
        (EPISODES, "length", [4, 5, 7], "more rows"),
        (EPISODES, "length", [4, 0, 6], "one frame or more"),
        (EPISODES, "length", [4, 5, 1 << 39], "decompressed"),
        (EPISODES, "length", [-4, 5, 6], "a number for length"),
        (EPISODES, "dataset_from_index", [0, 1, 2], "one after the other"),
        (EPISODES, "data/file_index", [0, 0, 1], "there is none"),
        (EPISODES, "videos/observation.images.side/from_timestamp", [0.0, 0.4, float("nan")], "times of the video"),
        (EPISODES, "videos/observation.images.side/from_timestamp", [0.0, 0.4, 77.0], "a frame at"),
    ],
)
def test_contradictions_are_found(file: str, column: str, values: list[Any], message: str, arm: Path) -> None:
    """A frame of another episode is never taken for one of this."""
    _edit(arm / file, column, values)
    with pytest.raises(FormatError, match=message):
        read_all(arm)


def test_images_of_other_sizes_are_refused_before_they_are_decoded(arm: Path) -> None:
    """A PNG of a hundred bytes whose header claims four thousand million pixels."""
    header = struct.pack(">IIBBBBB", 1 << 16, 1 << 16, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    for data, message in ((bomb, "image"), (b"GIF89a" + bytes(60), "PNG or JPEG"), (b"", "PNG or JPEG")):
        _edit(arm / DATA, "observation.images.top", [{"bytes": data, "path": None}] * 15)
        with pytest.raises(FormatError, match=message):
            read_all(arm)


def test_images_that_are_not_embedded_are_refused(arm: Path) -> None:
    """A path in a file of data is not followed."""
    _edit(arm / DATA, "observation.images.top", [{"bytes": None, "path": "/etc/passwd"}] * 15)
    with pytest.raises(FormatError, match="embedded"):
        read_all(arm)


def test_jpeg_is_lossy_at_the_source(arm: Path) -> None:
    """It is decoded, and the loss is reported."""
    file = io.BytesIO()
    Image.new("RGB", (20, 16), (10, 20, 30)).save(file, "JPEG")
    _edit(arm / DATA, "observation.images.top", [{"bytes": file.getvalue(), "path": None}] * 15)
    reader = LeRobotReader(arm)
    assert reader.lossy["observation/images/top"] == "jpeg"
    assert next(iter(reader)).observed[0]["observation"]["images"]["top"].shape == (16, 20, 3)


def test_channels_may_be_declared_first(arm: Path) -> None:
    """As some datasets do; images are height, width, channels."""
    features = json.loads((arm / "meta/info.json").read_text())["features"]
    features["observation.images.top"] |= {"shape": [3, 16, 20], "names": ["channels", "height", "width"]}
    samples.edit_info(arm, features=features)
    top = next(iter(LeRobotReader(arm))).observed[0]["observation"]["images"]["top"]
    assert np.array_equal(top, samples.truth()[0]["observation.images.top"][0])


def test_parquet_that_claims_to_be_huge_is_refused(arm: Path) -> None:
    """Two gigabytes of zeros in a few bytes: nothing of it is decompressed."""
    path = arm / DATA
    values = pa.array(np.zeros(1 << 21))
    column = pa.FixedSizeListArray.from_arrays(values, 1 << 21)
    writer = pq.ParquetWriter(path, pa.schema([("action", column.type)]), compression="zstd", use_dictionary=False)
    with writer:
        writer.write_table(pa.table({"action": pa.chunked_array([column] * 70)}), row_group_size=1000)
    with pytest.raises(FormatError, match="decompressed"):
        read_all(arm)


def test_lists_and_episodes_that_claim_to_be_huge_are_refused(arm: Path) -> None:
    """What is declared is compared with the size of the file before anything is read."""
    features = json.loads((arm / "meta/info.json").read_text())["features"]
    samples.edit_info(arm, features=features | {"grid": {"dtype": "int64", "shape": [1 << 13, 1 << 13], "names": None}})
    with pytest.raises(FormatError, match="decompressed"):
        read_all(arm)
    samples.edit_info(arm, features=features | {"action": {"dtype": "float32", "shape": [3], "names": None}})
    with pytest.raises(FormatError, match="lists of 3 values, got 2"):
        read_all(arm)


def _encode(path: Path, codec: str, layout: str, size: tuple[int, int] = (48, 32), count: int = 15) -> None:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, layout
        for number in range(count):
            frame = av.VideoFrame.from_ndarray(np.full((size[1], size[0], 3), 10 * number, np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def test_videos_of_other_sizes_are_refused(arm: Path) -> None:
    """Before a frame is decoded."""
    _encode(arm / VIDEO, "libx264", "yuv420p", size=(4096, 2304), count=1)
    with pytest.raises(FormatError, match="frames of the shape"):
        read_all(arm)


@pytest.mark.parametrize("content", [b"", b"not a video", bytes(5000)])
def test_files_that_are_no_videos_are_refused(content: bytes, arm: Path) -> None:
    """With the error of ours."""
    (arm / VIDEO).write_bytes(content)
    with pytest.raises(FormatError, match="expected a video"):
        read_all(arm)


def test_lossless_video_is_not_lossy(tmp_path: Path) -> None:
    """FFV1 in red, green and blue keeps every pixel; in other colours it does not."""
    _encode(tmp_path / "kept.mkv", "ffv1", "bgr0")
    _encode(tmp_path / "lost.mkv", "ffv1", "yuv420p")
    assert video_frames.coding(tmp_path / "kept.mkv") is None
    assert video_frames.coding(tmp_path / "lost.mkv") == "video: ffv1, yuv420p"
    frames = VideoFrames(tmp_path / "kept.mkv", np.arange(15) / 10, 0.025, (32, 48, 3))
    assert [int(frame[0, 0, 0]) for frame in frames] == [10 * number for number in range(15)]
    assert frames[3].mean() == 30


def test_times_between_frames_are_refused(tmp_path: Path) -> None:
    """The nearest frame is not good enough."""
    _encode(tmp_path / "kept.mkv", "ffv1", "bgr0")
    frames = VideoFrames(tmp_path / "kept.mkv", np.array([0.149, 0.27]), 0.025, (32, 48, 3))
    for row in range(2):
        with pytest.raises(FormatError, match="within its own time"):
            frames[row]


def test_notes_of_ours_are_not_trusted(arm: Path, tmp_path: Path) -> None:
    """Wrong shapes, twice the same place, and bytes that are no message."""
    content: dict[str, Any] = {"version": 1, "about": {}, "implied": [], "spec": None}
    exact = {"exact": base64.b64encode(lerobot_extra.packed({"metadata": {}, "environment": {}})).decode()}
    field: dict[str, Any] = {"field": "action", "keys": [], "dtype": "<f4", "shape": [1 << 40]}
    bad: list[dict[str, Any]] = [
        {"fields": {"action": field}, **exact},
        {"fields": {"action": field | {"shape": [2]}, "grid": field | {"shape": [2, 2], "dtype": "<i8"}}, **exact},
        {"fields": {"action": field | {"dtype": "nonsense"}}, **exact},
        {"fields": {"action": 3}, **exact},
        {"fields": {}, "exact": "AAAA"},
        {"fields": {}, "exact": "not base64"},
        {"fields": {}},
        {"version": 2},
    ]
    for each in bad:
        (arm / lerobot_extra.FILE).write_text(json.dumps(content | each))
        with pytest.raises(FormatError, match="expected"):
            read_all(arm)
    (arm / lerobot_extra.FILE).unlink()
    table = pq.read_table(arm / EPISODES)
    pq.write_table(table.append_column("rlds_kit", pa.array([b"x"] * 3)), arm / EPISODES)
    with pytest.raises(FormatError, match="what rlds_kit writes"):
        read_all(arm)


@pytest.mark.parametrize("origin", ["theirs", "ours"])
def test_mutated_files_end_in_an_error_or_an_answer(origin: str, tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """Of every kind: Parquet, JSON and video, in a process of its own."""
    if origin == "theirs":
        path = samples.copy(tmp_path / "arm")
    else:
        from rlds_kit.convert.conversion import convert

        samples.record(tmp_path / "recorded")
        path = tmp_path / "arm"
        convert(tmp_path / "recorded", path, "lerobot")
    count = sweep(200)
    ended = read_mutated("lerobot", path, count)
    assert sum(ended.values()) == count
    assert min(ended.values()) > count // 20


@pytest.mark.parametrize(("module", "extra"), [("pyarrow", "compat"), ("av", "video")])
def test_missing_libraries_are_named_with_the_line_to_install_them(
    module: str, extra: str, arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=re.escape(how_to_install(extra))):
        read_all(arm)
