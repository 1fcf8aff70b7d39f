"""Writes the golden dataset of format version 1, `tests/data/v1`: run once, committed, never changed after a release.

`PYTHONPATH=. python tests/data/make_v1.py` writes it and its truth.

The dataset has every kind, dtype, codec and filter (but `PREDICT`, `PREDICT_SPLIT` and `XOR_RUNS`, see
`make_v1_predict.py`, `make_v1_split.py` and `make_v1_runs.py`), and every way in which an episode can end; the script
fails if one of them is missing. UUIDs and times are fixed, so the same code with the same zstd writes the same bytes.
The truth is made from what is given to the recorder, not from what is read back.
"""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import uuid
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import ml_dtypes
import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.riegeli import RecordReader
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder

HOME: Final = Path(__file__).parent / "v1"
NUMERIC: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
TORN: Final = 100
"""Bytes that a power cut takes from the end of the killed writer's shard: part of its last chunk."""

LONG: Final = 4096

Typed = list[Any]
"""A value in JSON: its kind, then what that kind needs."""


def typed(value: Any) -> Typed:  # whatever can be recorded
    """A value as the truth states it, bit for bit and type for type.

    >>> typed({"a": (np.float32(1), None)})
    ['dict', [[['text', 'a'], ['tuple', [['scalar', 'float32', [], '0000803f'], ['none']]]]]]
    """
    match value:
        case None:
            return ["none"]
        case np.ndarray():
            return ["array", *_array(value)]
        case np.str_():
            return ["numpy_text", str(value)]
        case np.bytes_():
            return ["numpy_bytes", bytes(value).hex()]
        case np.generic():
            return ["scalar", *_array(np.asarray(value))]
        case bool():
            return ["bool", value]
        case int():
            return ["int", str(value)]
        case float():
            return ["float", struct.pack("<d", value).hex()]
        case complex():
            return ["complex", struct.pack("<dd", value.real, value.imag).hex()]
        case str():
            return ["text", value]
        case bytes():
            return ["bytes", value.hex()]
        case dict():
            return ["dict", sorted(([typed(key), typed(item)] for key, item in value.items()), key=json.dumps)]
        case list():
            return ["list", [typed(item) for item in value]]
        case tuple():
            return ["tuple", [typed(item) for item in value]]
    raise TypeError(f"cannot state {value!r}")


def _array(array: np.ndarray) -> tuple[str, list[int], str]:
    """Name of the dtype, shape, and the bytes in C order with the least significant byte first."""
    swapped = array.dtype.byteorder == ">"
    name = array.dtype.str if array.dtype.kind in "US" else (">" if swapped else "") + array.dtype.name
    data = array.astype(array.dtype.newbyteorder("<")) if swapped else array
    return name, list(array.shape), stated(data.tobytes())


def stated(data: bytes) -> str:
    """Bytes as the truth states them: in hex, long ones by their SHA-256."""
    return data.hex() if len(data) <= LONG else f"sha256:{hashlib.sha256(data).hexdigest()}"


PIXELS: Final = (6, 8, 3)
DECLARED: Final = specs.Dict(
    {
        "observation": specs.Dict(
            {
                "pixels": specs.Array(PIXELS, "uint8", "pixels", 0, 255),
                "position": specs.Array((3,), "float32", minimum=[-1.0, -2.0, np.nan], maximum=np.inf),
                "pair": specs.Tuple((specs.Array((), "int64", num_values=4), specs.Text("word", 1, 8, "abcdefgh"))),
                "items": specs.List((specs.Array((None, 2), "int16"), specs.Bytes("blob"))),
            }
        ),
        "action": specs.Array((), "int64", "joystick", num_values=6),
        "reward": specs.Array((), "float64"),
        "discount": specs.Array((), "float64", minimum=0, maximum=1),
        "others": specs.Dict(
            {
                "sequence": specs.Sequence(specs.Array((2,), "float32")),
                "stacked": specs.Sequence(specs.Array((2,), "float32"), stacked=True),
                "optional": specs.Optional(specs.Array((), "uint8")),
                "one_of": specs.OneOf((specs.Text(), specs.Array((), "int64"))),
                "graph": specs.Graph(specs.Array((2,), "float32"), specs.Array((), "int64")),
                "any": specs.Any("anything"),
            }
        ),
    }
)


class Episode:
    """An episode that is recorded, and the truth about it."""

    def __init__(self, recorder: Recorder, **about: Any) -> None:
        self._recorder: EpisodeRecorder = recorder.start_episode(**about)
        self._metadata = dict(about.get("metadata", {}))
        self._rows: list[dict[str, Any]] = []
        self.truth: dict[str, Any] = {
            "id": self._recorder.id.hex,
            "end": "INCOMPLETE",
            "terminated": False,
            "truncated": False,
            "seed": typed(about.get("seed")),
            "options": typed(about.get("options")),
        }
        self._state_metadata()

    def row(self, observed: Mapping[str, Any], acted: Mapping[str, Any] | None = None) -> None:
        """Adds a row; `acted` belongs to the row before it."""
        self._recorder.append(observed, acted)
        self._rows.append(dict(observed))
        if acted:
            self._rows[-2] |= acted
        self._state_rows()

    def end(self, ending: EpisodeEnd, *, acted: Mapping[str, Any] | None = None, **how: Any) -> None:
        """Ends the episode; `acted` is the action of a last row without observation."""
        self._recorder.end(ending, acted=acted, **how)
        if acted:
            self._rows[-1] |= acted
            self._rows.append({})
        self.truth["end"] = ending.name
        self.truth["terminated"] = how.get("terminated", ending is EpisodeEnd.TERMINATED)
        self.truth["truncated"] = how.get("truncated", ending is EpisodeEnd.TRUNCATED)
        self._metadata |= how.get("metadata", {})
        self._state_metadata()
        self._state_rows()

    def discard(self) -> None:
        """Keeps nothing."""
        self._recorder.discard()

    def _state_metadata(self) -> None:
        self.truth["metadata"] = typed(self._metadata)

    def _state_rows(self) -> None:
        self.truth["rows"] = [{name: typed(item) for name, item in row.items()} for row in self._rows]


def observation(row: int) -> dict[str, Any]:
    """An observation: a dot that wanders over a picture, and what else is declared."""
    pixels = np.zeros(PIXELS, np.uint8)
    pixels[row % 6, row % 8] = (255, row, 7)
    return {
        "pixels": pixels,
        "position": np.array([row / 7, -0.0, np.float32(np.nan)], np.float32),
        "pair": (np.int64(row % 4), "abcdefgh"[: row % 8 + 1]),
        "items": [np.arange(row % 3 * 2, dtype=np.int16).reshape(-1, 2), bytes(range(row % 5))],
    }


def acted(row: int) -> dict[str, Any]:
    """What was done in the row before."""
    return {"action": np.int64(row % 6), "reward": float(row) / 3, "discount": 1.0}


def numbers(name: str, row: int) -> np.ndarray:
    """A little array of any dtype, with values that change from row to row."""
    dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    plain = np.arange(row, row + 4).reshape(2, 2)
    if dtype.kind == "c":
        return (plain + 1j * plain).astype(dtype)
    return (plain % 2 == 0) if dtype.kind == "b" else plain.astype(dtype)


def specials(name: str) -> np.ndarray:
    """NaNs with payloads (quiet and signalling), both zeros and both infinities, by their bits."""
    bits = {
        "float16": [0x7E01, 0x7C01, 0xFE00, 0x8000, 0x0000, 0x7C00, 0xFC00],
        "float32": [0x7FC00001, 0x7F800001, 0xFFC00000, 0x80000000, 0, 0x7F800000, 0xFF800000],
        "float64": [(0x7FF8 << 48) + 1, (0x7FF0 << 48) + 1, 0xFFF8 << 48, 0x8000 << 48, 0, 0x7FF0 << 48, 0xFFF0 << 48],
    }[name]
    return np.array(bits, f"uint{name[5:]}").view(name)


def kinds(row: int) -> dict[str, Any]:
    """Fields of every kind and dtype."""
    arrays = {name: numbers(name, row) for name in (*NUMERIC, "bfloat16", ">i2", ">f8", ">c8")}
    return {
        "arrays": arrays,
        "scalars": {name: numbers(name, row)[0, 0] for name in (*NUMERIC, "bfloat16")},
        "specials": {name: specials(name) for name in ("float16", "float32", "float64")},
        "fixed_text": {
            "U": np.array([f"ä{row}", ""]),
            "S": np.array([b"a\0b", b""]),
            ">U": np.array(["ab"], ">U3"),
            "0-d": np.array("ab", "<U5"),
        },
        "0-d": {"little": np.array(row, np.int32), "big": np.array(row, ">i4")},
        "python": {
            "bool": row % 2 == 0,
            "int": -row,
            "big": (-1) ** row << 63 + row,
            "float": float("nan") if row == 1 else row / 3,
            "complex": complex(-0.0, row),
            "text": f"{row} ünï\U0001f600\ud800",
            "bytes": bytes(range(row)),
            "none": None,
            "numpy_text": np.str_(f"n{row}"),
            "numpy_bytes": np.bytes_(b"\0n%d" % row),
        },
        "trees": [
            row,
            (None, True, 2**80, {1: "a", "b": [np.float16(row), np.arange(row, dtype=np.uint8)]}),
            1j,
            b"\0",
        ],
    }


def changing(row: int) -> dict[str, Any]:
    """An info whose keys, shapes and types change from row to row, with keys that paths must escape."""
    info: dict[str, Any] = {
        "": row,
        "a/b": {"~": row, "~0": row, "(0)": row, "[1]": row},
        "ragged": np.full((row % 3, 2), row, np.float32),
        "ragged_bytes": np.full(row, row, np.uint8),
        "type": (row, str(row), None, row / 2)[row % 4],
        "rank": np.zeros((1,) * (row % 3)),
        "container": ({}, {"key": row}, [], (row,), {row: None}, {"\ud800": row})[row % 6],
        "nothing": np.empty((0, 3), np.int32),
    }
    if row % 3 == 1:
        info["sometimes"] = np.uint8(row)
    if row == 4:
        info["once"] = "here"
    return info


class Signals:
    """Series that each suit one filter."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        self._noise = random.integers(0, 256, (40, 44, 40), np.uint8)
        self._counts = random.integers(0, 200, (64, 40))
        self._floats = random.normal(size=(64, 40)).astype(np.float32)
        self._picture = random.integers(0, 256, 400, np.uint8)
        self._change = random.integers(1, 256, 400, np.uint8)

    def row(self, row: int) -> dict[str, Any]:
        """One row of each."""
        moving = self._picture.copy()
        moving[row] = 0
        return {
            "identity": np.array(["", "abc"][row % 2], "<U3"),
            "xor": self._picture ^ (self._change if row % 2 else 0),
            "sparse_xor": moving,
            "shuffle_int": self._counts[row],
            "shuffle_float": self._floats[row],
            "xor_shuffle": np.linspace(1, 2, 40) + (np.arange(40) == row),
            "delta_shuffle": np.arange(40) * 1_000_003 + 977 * row,
            "delta_shuffle_big": (np.arange(40) * 1_003 + 97 * row).astype(">u4"),
            "repeat": np.arange(40, dtype=np.float32),
            "noise": self._noise if row == 2 else None,  # long enough for a Riegeli block header to fall into its chunk
        }


def record(directory: Path) -> list[Episode]:
    """The first run: two closed shards, every ending but INCOMPLETE, interleaved episodes, one that is discarded."""
    environment = {"id": "Golden-v1", "kwargs": {"size": 3}, "versions": {"none": "0"}}
    about = {"name": "golden", "description": "Every kind of value.", "citation": "none", "licence": "Apache-2.0"}
    policy = FlushPolicy(block_rows=6, interval=None)
    with Recorder(
        directory,
        DECLARED,
        policy=policy,
        metadata={"run": 1},
        environment=environment,
        about=about,
        max_shard_episodes=5,
    ) as recorder:
        first = Episode(recorder, metadata={"name": "kinds"}, seed=7, options={"level": (1, "two")})
        second = Episode(recorder, metadata={"name": "changing"}, seed=[np.int64(1), 2])
        unwanted = Episode(recorder, metadata={"name": "unwanted"})
        for row in range(13):
            done = acted(row) if row else None
            first.row({"observation": observation(row), **kinds(row % 7)}, done)
            second.row({"observation": observation(row), "info": changing(row), "/": row}, done)
            if row < 8:
                unwanted.row({"observation": observation(row)}, done)
        unwanted.discard()
        first.end(EpisodeEnd.TERMINATED, metadata={"score": 12.5, "name": "all kinds"})
        second.end(EpisodeEnd.TERMINATED, terminated=True, truncated=True)
        gaps = Episode(recorder, metadata={"name": "gaps"})
        for row, index in enumerate((0, 1, 5, 6, 7, 11, 12, 13, 20)):
            joined = row and index - 1 in (0, 1, 5, 6, 7, 11, 12, 13)
            observed = {"observation": observation(index), "step_index": index, "time_ns": 1_000_003 * index}
            gaps.row(observed, acted(index) if joined else None)
        gaps.end(EpisodeEnd.TRUNCATED)
        missing = Episode(recorder, metadata={"name": "no final observation"}, provenance={"id": "Other-v1"})
        for row in range(4):
            missing.row({"observation": observation(row)}, acted(row) if row else None)
        missing.end(EpisodeEnd.TERMINATED, acted=acted(4))
        single = Episode(recorder)  # in the second shard
        single.row({"observation": observation(0), "others": others(0)})
        single.end(EpisodeEnd.INTERRUPTED)
        filters, signals = Episode(recorder, metadata={"name": "filters"}), Signals()
        for row in range(8):
            observed = {"observation": observation(row), "signals": signals.row(row), "others": others(row)}
            filters.row(observed, acted(row) if row else None)
        filters.end(EpisodeEnd.INTERRUPTED)
        empty = Episode(recorder, metadata={"name": "never had a row"})
        empty.end(EpisodeEnd.INTERRUPTED)
    return [first, second, gaps, missing, single, filters]


def others(row: int) -> dict[str, Any]:
    """The declared fields that are seldom seen."""
    point = np.array([row, 0.5], np.float32)
    return {
        "sequence": (point,) * (row % 3),
        "stacked": np.stack([point] * (row % 3 + 1)),
        "optional": np.uint8(row) if row % 2 else None,
        "one_of": (0, "zero") if row % 2 else (1, np.int64(row)),
        "graph": (np.stack([point, point]), np.array([row]), np.array([[0, 1]])),
        "any": {"anything": row},
    }


def record_and_die(directory: Path) -> None:
    """The second run: prints the truth about what is on disk, and dies. Its shard is never closed."""
    policy = FlushPolicy(block_rows=4, interval=None)
    recorder = Recorder(directory, DECLARED, policy=policy, metadata={"run": 2})
    whole = Episode(recorder, metadata={"name": "whole"}, seed=1)
    cut = Episode(recorder, metadata={"name": "cut"}, seed=2)
    for row in range(6):
        whole.row({"observation": observation(row)}, acted(row) if row else None)
        cut.row({"observation": observation(row), "info": {"lives": 3}}, acted(row) if row else None)
    whole.end(EpisodeEnd.TERMINATED)
    recorder.flush()
    truth = [json.loads(json.dumps(episode.truth)) for episode in (whole, cut)]
    for row in range(6, 9):
        cut.row({"observation": observation(row), "info": {"lives": 2}}, acted(row))
    recorder.flush()  # the chunk that `main` tears
    sys.stdout.write(json.dumps(truth))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def fixed(run: int) -> Iterator[None]:
    """Makes UUIDs, times and file names the same each time. Each module has its own, for they run in two threads."""

    def uuids(module: int) -> SimpleNamespace:
        counter = itertools.count(1)
        return SimpleNamespace(
            uuid4=lambda: uuid.UUID(int=run << 112 | module << 96 | 1 << 63 | next(counter), version=4), UUID=uuid.UUID
        )

    def clock(module: int) -> SimpleNamespace:
        counter = itertools.count(1_750_000_000_000_000_000 + run * 10**12 + module, 10**9)
        return SimpleNamespace(
            time_ns=lambda: next(counter), gmtime=lambda _: None, strftime=lambda *_: f"20250615T15{run:02}00"
        )

    names = ("recorder", "shard_set", "directory")
    with contextlib.ExitStack() as stack:
        for number, name in enumerate(names, 1):
            stack.enter_context(mock.patch(f"rlds_kit.storage.{name}.uuid", uuids(number)))
            stack.enter_context(mock.patch(f"rlds_kit.storage.{name}.time", clock(number)))
        yield


def main() -> None:
    """Writes the dataset and the truth."""
    shutil.rmtree(HOME, ignore_errors=True)
    directory = HOME / "dataset"
    with fixed(1):
        truth = [episode.truth for episode in record(directory)]
    closed = set(directory.glob("*.riegeli"))
    child = subprocess.run([sys.executable, __file__, "--die", directory], capture_output=True, check=False)
    if child.returncode != -signal.SIGKILL:
        raise SystemExit(f"the writer should have been killed: {child.stderr.decode()}")
    truth += json.loads(child.stdout)
    (torn,) = set(directory.glob("*.riegeli")) - closed
    os.truncate(torn, torn.stat().st_size - TORN)
    lines = [json.dumps(episode, separators=(",", ":")) for episode in truth]
    (HOME / "truth.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
    check_coverage(directory, *(HOME.with_name(name) / "dataset" for name in ("v1_predict", "v1_split")))


def check_coverage(*directories: Path) -> None:
    """Fails when something that the format has is in none of the datasets."""
    seen: dict[str, set[str]] = {name: set() for name in ("Kind", "Filter", "Codec", "Ending", "Spec", "Record")}
    flags = set()
    for path in itertools.chain.from_iterable(directory.glob("*.riegeli") for directory in directories):
        with path.open("rb") as file, warnings.catch_warnings(action="ignore"), RecordReader(file) as reader:
            for data in itertools.takewhile(lambda data: data[:1] == b"\x08", reader):  # up to the footer
                record = pb.Record.FromString(data)
                seen["Record"].add(str(record.WhichOneof("kind")))
                seen["Ending"].add(pb.Ending.Name(record.end.ending))
                for spec in _specs(record.shard.spec):
                    seen["Spec"].add(str(spec.WhichOneof("kind")))
                for column in pb.BlockHeader.FromString(record.block.header).columns:
                    seen["Kind"].add(pb.Kind.Name(column.kind))
                    seen["Filter"].add(pb.Filter.Name(column.filter))
                    seen["Codec"].add(pb.Codec.Name(column.codec))
                    flags.add((column.partial, column.ragged))
    for name, enum in (("Kind", pb.Kind), ("Filter", pb.Filter), ("Codec", pb.Codec), ("Ending", pb.Ending)):
        if missing := set(enum.keys()) - seen[name]:
            raise SystemExit(f"{name}: {missing} are in no dataset")
    for name, message in (("Spec", pb.Spec), ("Record", pb.Record)):
        kinds_of_it = {field.name for field in message.DESCRIPTOR.oneofs_by_name["kind"].fields}
        if missing := kinds_of_it - seen[name]:
            raise SystemExit(f"{name}: {missing} are in no dataset")
    if len(flags) != 4:
        raise SystemExit(f"only these of partial and ragged are in a dataset: {flags}")


def _specs(spec: pb.Spec) -> Iterator[pb.Spec]:
    """A spec and all below it."""
    yield spec
    for _, content in spec.ListFields():
        for _, below in content.ListFields():
            parts = below if isinstance(below, list) or hasattr(below, "add") else [below]
            for part in parts:
                if isinstance(part, pb.Spec):
                    yield from _specs(part)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--die"]:
        with fixed(2):
            record_and_die(Path(sys.argv[2]))
    main()
