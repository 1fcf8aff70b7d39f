"""Damaged and malicious datasets: opening gives a clear error or a correct result, and nothing else.

No code of a download is run, no file outside its directory is read, and a few bytes cannot exhaust the memory.
"""

import bz2
import json
import pickle
import random
import sqlite3
import struct
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from rlds_kit import riegeli
from rlds_kit.base.errors import FormatError, RldsKitError, SpecError
from rlds_kit.convert import formats
from rlds_kit.convert.crowdplay import trajectories
from rlds_kit.convert.image_size import MOST_PIXELS, announced_size, require_size
from rlds_kit.convert.tfds.directory import INFO
from rlds_kit.convert.tfds.features import FILE
from rlds_kit.convert.tfds.tf_record import crc32c, masked, records
from rlds_kit.riegeli.array_record import read_footer, write_footer
from tests.convert.crowdplay_sample import SESSIONS, make_sample
from tests.convert.mutated import mutated, read_mutations
from tests.convert.tfds_writing import FLAGS, steps_of, write

F = tfds.features
CASES = 300


@pytest.fixture
def prepared(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A dataset of TFDS with values of every encoding, in a given file format."""
    observation = {
        "plain": F.Tensor(shape=(2,), dtype=np.float32),
        "bytes": F.Tensor(shape=(2, 2), dtype=np.int16, encoding="bytes"),
        "zlib": F.Tensor(shape=(None, None), dtype=np.uint8, encoding="zlib"),
        "image": F.Image(shape=(None, None, 3)),
        "ragged": F.Sequence(F.Sequence(np.int32)),
        "text": F.Text(),
    }
    features = {
        "steps": F.Dataset({"observation": observation, "action": np.int32, "reward": np.float32, **FLAGS}),
        "id": np.int64,
    }
    values = {
        "plain": np.ones(2, np.float32),
        "bytes": np.ones((2, 2), np.int16),
        "zlib": np.arange(12, dtype=np.uint8).reshape(3, 4),
        "image": np.arange(48, dtype=np.uint8).reshape(4, 4, 3),
        "ragged": [[1, 2], [3]],
        "text": "über",
    }
    made: list[dict[str, Any]] = [
        {"steps": [{"observation": values, "action": 1, "reward": 1.0, **flags} for flags in steps_of(3)], "id": number}
        for number in range(3)
    ]
    return write(tmp_path, features, {"train": made}, file_format=getattr(request, "param", "tfrecord"))


def sealed_tfrecord(path: Path) -> Callable[[bytes, random.Random], bytes]:
    """Mutates what is in records, and gives them checksums that fit."""
    good = list(records(path))

    def mutate(_: bytes, chance: random.Random) -> bytes:
        return b"".join(map(tf_record, [mutated(good[0], chance), *good[1:]]))

    return mutate


def tf_record(data: bytes) -> bytes:
    """A record as TFRecord has it."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(crc32c(length))) + data + struct.pack("<I", masked(crc32c(data)))


def sealed_array_record(path: Path) -> Callable[[bytes, random.Random], bytes]:
    """Mutates what is in records, and writes an ArrayRecord file of them."""
    with path.open("rb") as file:
        footer = read_footer(file)
        assert footer is not None
        with riegeli.RecordReader(file) as reader:
            good = [reader.read_record() or b"" for _ in range(footer.num_records)]
    beside = path.with_name("resealed")

    def mutate(_: bytes, chance: random.Random) -> bytes:
        made = [mutated(good[0], chance), *good[1:]]
        with riegeli.RecordWriter(beside, "uncompressed") as writer:
            write_footer(writer, [(writer.write_chunk([data]), len(data), 1) for data in made], "group_size:1")
        return beside.read_bytes()

    return mutate


SEALED = {"tfrecord": sealed_tfrecord, "array_record": sealed_array_record}


@pytest.mark.parametrize("prepared", ["tfrecord", "array_record"], indirect=True)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_mutated_datasets_of_tfds(prepared: Path, sweep: Callable[[int], int]) -> None:
    """Files, records with right checksums, features and descriptions: everything is a clear error or read."""
    (file,) = (path for path in prepared.iterdir() if "-train." in path.name)
    sealed = SEALED["array_record" if "array_record" in file.name else "tfrecord"](file)
    cases = sweep(CASES)
    # Which mutations can be read depends on the image's bytes, which differ from machine to machine.
    assert list(read_mutations(prepared, "tfds", {file: lambda data, _: data}, 1)) == ["read"]
    found = Counter(read_mutations(prepared, "tfds", {file: sealed}, cases))
    assert found["FormatError"] > cases // 6
    found += Counter(read_mutations(prepared, "tfds", {file: mutated}, cases // 3))
    found += Counter(read_mutations(prepared, "tfds", {prepared / FILE: mutated, prepared / INFO: mutated}, cases // 2))
    assert found["DamagedError"] > cases // 15
    assert found.total() >= 5 * cases // 3


def test_mutated_datasets_of_crowdplay(tmp_path: Path, sweep: Callable[[int], int]) -> None:
    """The database, the compressed trajectories, and the pickles in them."""
    root = tmp_path / "crowdplay"
    make_sample(root, SESSIONS[:1])
    small = next(root.glob("*.bz2"))

    def packed(data: bytes, chance: random.Random) -> bytes:
        return bz2.compress(mutated(bz2.decompress(data), chance), 1)

    def in_pages(data: bytes, chance: random.Random) -> bytes:
        return data[:100] + mutated(data[100:], chance)

    cases = sweep(CASES)
    found = Counter(read_mutations(root, "crowdplay", {small: packed}, cases // 2))
    found += Counter(read_mutations(root, "crowdplay", {small: mutated}, cases // 4))
    found += Counter(read_mutations(root, "crowdplay", {root / "dataset.sqlite": in_pages}, cases // 2))
    assert found["RefusedPickleError"] > cases // 6
    assert found["FormatError"] > cases // 15
    assert found.total() >= 5 * cases // 6


def rewrite(path: Path, change: Callable[[Any], None]) -> None:
    """Changes a JSON file."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "{DATASET}/../../{SPLIT}", "a\\b", ".."])
def test_files_outside_the_directory_are_not_read(prepared: Path, name: str) -> None:
    """A description names files of its own directory only."""
    rewrite(prepared / INFO, lambda info: info["splits"][0].update(filepathTemplate=name))
    with pytest.raises(FormatError, match="expected files of the directory itself"):
        formats.named("tfds").open(prepared)


@pytest.mark.parametrize("lengths", [["-1"], [str(1 << 62)], ["many"]])
def test_absurd_numbers_of_episodes_are_refused(prepared: Path, lengths: list[str]) -> None:
    """Before anything is counted up to them."""
    rewrite(prepared / INFO, lambda info: info["splits"][0].update(shardLengths=lengths))
    with pytest.raises(FormatError, match=INFO):
        formats.named("tfds").open(prepared)


def test_features_nested_without_end_are_refused(prepared: Path) -> None:
    """As JSON, and as features."""
    (prepared / FILE).write_text("[" * 100_000)
    with pytest.raises(FormatError, match="expected the features"):
        formats.named("tfds").open(prepared)


def test_absurd_shapes_are_refused(prepared: Path) -> None:
    """Of a feature that no step may ever have."""
    text = (prepared / FILE).read_text().replace('"dimensions": ["2"]', f'"dimensions": ["{1 << 40}"]')
    content = json.loads(text)
    inner = json.dumps(content).replace('["2"]', f'["{1 << 40}"]')
    (prepared / FILE).write_text(inner)
    with pytest.raises((FormatError, SpecError), match="expected a shape"):
        formats.named("tfds").open(prepared)


def peak_of(call: Callable[[], object]) -> int:
    """The maximum memory of a call, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("prepared", ["tfrecord"], indirect=True)
def test_zlib_bomb_is_refused(prepared: Path) -> None:
    """Decompression never gives more bytes than the shape requires."""
    (file,) = (path for path in prepared.iterdir() if "-train." in path.name)
    first, *rest = records(file)
    small = zlib.compress(np.arange(12, dtype=np.uint8).tobytes())
    assert small in first
    bomb = zlib.compress(bytes(1 << 26), 9)
    changed = grown(first, small, bomb)
    file.write_bytes(b"".join(map(tf_record, [changed, *rest])))

    def read() -> None:
        with pytest.raises(FormatError, match="when they were unpacked"):
            list(formats.named("tfds").open(prepared))

    assert peak_of(read) < 1 << 24


def grown(example: bytes, old: bytes, new: bytes) -> bytes:
    """An Example with one more value in the place of another."""
    message = tf.train.Example.FromString(example)
    for feature in message.features.feature.values():
        if feature.HasField("bytes_list"):
            values = feature.bytes_list.value
            values[:] = [new if value == old else value for value in values]
    return bytes(message.SerializeToString())


def test_images_that_announce_too_much_are_refused() -> None:
    """From their headers, before a decoder sees them."""
    huge = (1 << 20).to_bytes(4, "big")
    png = b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + huge + huge
    assert announced_size(png) == (1 << 20, 1 << 20)
    with pytest.raises(FormatError, match=f"at most {MOST_PIXELS} pixels"):
        require_size(png, None, None)
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x11\x08\xff\xff\x00\x10"
    assert announced_size(jpeg) == (0xFFFF, 16)
    with pytest.raises(FormatError, match="height and width"):
        require_size(jpeg, 16, 16)
    assert announced_size(b"\xff\xd8\xff") is announced_size(png[:20]) is announced_size(b"GIF") is None


def crowdplay_with(root: Path, statements: str) -> Path:
    """A dataset of CrowdPlay whose database was changed."""
    make_sample(root, SESSIONS[:1])
    with sqlite3.connect(root / "dataset.sqlite") as base:
        base.executescript(statements)
    base.close()
    return root


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x > 0)"


@pytest.mark.parametrize(
    "view",
    [
        "SELECT count(*) AS environment_id, 1 AS agent_id, 1 AS permanent_user_id FROM n",
        "SELECT x AS environment_id, 1 AS agent_id, 1 AS permanent_user_id FROM n",
    ],
    ids=["counts for ever", "has rows without end"],
)
def test_view_in_the_place_of_a_table_is_refused(tmp_path: Path, view: str) -> None:
    """A view may be anything; it is looked at before anything of it is read."""
    root = crowdplay_with(tmp_path, f"DROP TABLE users; CREATE VIEW users AS {ENDLESS} {view};")
    with pytest.raises(FormatError, match=r"dataset.sqlite: expected the table users of CrowdPlay, got view"):
        formats.named("crowdplay").open(root)


def test_virtual_table_is_refused(tmp_path: Path) -> None:
    """It has what its module makes of it."""
    columns = "environment_id, agent_id, permanent_user_id"
    root = crowdplay_with(tmp_path, f"DROP TABLE users; CREATE VIRTUAL TABLE users USING fts4({columns});")
    with pytest.raises(FormatError, match="expected the table users"):
        formats.named("crowdplay").open(root)


def test_episode_of_many_sessions_is_refused(tmp_path: Path) -> None:
    """As many rows as there are episodes times sessions would come of a file of both."""
    root = crowdplay_with(
        tmp_path,
        """
        CREATE TABLE many AS SELECT * FROM environments UNION ALL SELECT * FROM environments;
        DROP TABLE environments;
        ALTER TABLE many RENAME TO environments;
        """,
    )
    with pytest.raises(FormatError, match="expected one session of episode"):
        formats.named("crowdplay").open(root)


def test_database_that_works_for_ever_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many operations of SQLite."""
    monkeypatch.setattr("rlds_kit.convert.crowdplay.trajectories._MOST_SQLITE_CALLS", 0)
    monkeypatch.setattr("rlds_kit.convert.crowdplay.trajectories._SQLITE_STEPS", 10)
    root = crowdplay_with(tmp_path, "")
    with pytest.raises(FormatError, match="not a database of CrowdPlay: interrupted"):
        formats.named("crowdplay").open(root)


def test_database_of_huge_values_is_refused(tmp_path: Path) -> None:
    """SQLite makes no value larger than a keyword may be."""
    root = crowdplay_with(tmp_path, "UPDATE episodekeyworddata SET value = zeroblob(70000000) WHERE agent_id = 'all'")
    with pytest.raises(FormatError, match="too big"):
        formats.named("crowdplay").open(root)


class Touch:
    """Attacks of pickles on programs that load them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self._path,)


@pytest.mark.parametrize("place", ["trajectory", "keyword"])
def test_pickles_run_nothing(tmp_path: Path, place: str) -> None:
    """Neither in trajectories nor in the database."""
    root, mark = tmp_path / "crowdplay", tmp_path / "mark"
    make_sample(root, SESSIONS[:1])
    evil = pickle.dumps(Touch(mark), 4)
    if place == "trajectory":
        next(root.glob("*.bz2")).write_bytes(bz2.compress(evil))
    else:
        with sqlite3.connect(root / "dataset.sqlite") as base:
            base.execute("UPDATE environmentkeyworddata SET value = ?", (evil,))
        base.close()
    with pytest.raises(RldsKitError, match="which is not data"):
        list(formats.named("crowdplay").open(root))
    assert not mark.exists()


def test_a_small_trajectory_may_take_a_gigabyte_and_a_large_one_more() -> None:
    """Limits grow with the size of the file, up to the default."""
    sizes = (100, 100_000, 1 << 40)
    assert [trajectories._limits_of(size).total_bytes for size in sizes] == [1 << 30, 2_000_000_000, 1 << 34]


def test_small_trajectory_does_not_take_all_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file may be when it is unpacked is more for a large one."""
    monkeypatch.setattr("rlds_kit.convert.crowdplay.trajectories._SMALL_BYTES", 1 << 20)
    root = tmp_path / "crowdplay"
    make_sample(root, SESSIONS[:1])
    bomb = bz2.compress(pickle.dumps([bytes(1 << 25) for _ in range(4)], 4))
    for path in root.glob("*.bz2"):
        path.write_bytes(bomb)

    def read() -> None:
        with pytest.raises(FormatError, match=r"has more than \d+ bytes"):
            list(formats.named("crowdplay").open(root))

    assert len(bomb) * 20_000 < 1 << 25
    assert peak_of(read) < 1 << 25


def test_trajectories_outside_the_directory_are_not_read(tmp_path: Path) -> None:
    """An id is a name and no path."""
    root = crowdplay_with(tmp_path, "UPDATE episodes SET episode_id = '../' || episode_id")
    with pytest.raises(FormatError, match="expected an id"):
        formats.named("crowdplay").open(root)
