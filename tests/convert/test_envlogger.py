"""EnvLogger directories written by Google's own C++ code, against what the environment really emitted."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.envlogger import recording as envlogger
from rlds_kit.convert.envlogger.recording import Record, Recording, decode, decode_datum, open_recording
from rlds_kit.convert.envlogger_storage_pb2 import Data, Datum
from rlds_kit.riegeli import DamagedError, RecordReader, RecordWriter

GOLDEN = Path(__file__).parent.parent / "data" / "envlogger"
CASES = sorted(path.name.removesuffix(".truth.json.gz") for path in GOLDEN.glob("*.truth.json.gz"))
STEP_FIELDS = ("step_type", "reward", "discount", "observation", "action")


def truth_of(case: str) -> dict[str, Any]:  # JSON
    """Return what was recorded."""
    with gzip.open(GOLDEN / f"{case}.truth.json.gz", "rt", encoding="utf-8") as file:
        truth: dict[str, Any] = json.load(file)
        return truth


def spelled(value: object) -> object:
    """Return `value` the way the truth spells it: dtype, shape and bytes of arrays, the hex form of floats."""
    match value:
        case dict():
            return {key: spelled(item) for key, item in value.items()}
        case tuple() | list():
            return [spelled(item) for item in value]
        case float():  # numpy.float64 too: EnvLogger stores Python floats as such
            return {"__float__": float(value).hex()}
        case np.ndarray() | np.generic():
            return {"__dtype__": str(value.dtype), "__shape__": list(value.shape), "__hex__": value.tobytes().hex()}
        case bytes():
            return {"__bytes__": value.hex()}
    return value


def spelled_step(record: Record) -> dict[str, object]:
    """Return the expected values of a step."""
    return {name: spelled(getattr(record, name)) for name in STEP_FIELDS}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    """The name of a golden directory."""
    return str(request.param)


def test_golden_cases_are_there() -> None:
    """Chunk types, codecs, shards and missing metadata are all among the golden directories."""
    assert len(CASES) == 10


def test_every_value_of_every_step(case: str) -> None:
    """Each value of each step has the dtype, the shape and the bytes that the environment emitted."""
    episodes = list(open_recording(GOLDEN / case))
    assert [[spelled_step(record) for record in episode.records] for episode in episodes] == truth_of(case)["episodes"]


def test_step_metadata(case: str) -> None:
    """What `step_fn` returned stands beside each step, with its types."""
    for number, episode in enumerate(open_recording(GOLDEN / case)):
        for step, record in enumerate(episode.records):
            if case == "no_metadata":
                assert record.custom_data is None
                continue
            timestamp, placed = record.custom_data["timestamp"], record.custom_data["tag:placed"]
            assert (type(timestamp), timestamp) == (np.int64, 1000 * number + step)
            assert placed is (step % 3 == 0)


def test_episode_metadata(case: str) -> None:
    """What `episode_fn` returned belongs to its episode, with its types."""
    for number, episode in enumerate(open_recording(GOLDEN / case)):
        if case == "no_metadata":
            assert episode.metadata is None
            continue
        assert episode.metadata == {"episode_id": f"ep-{number}", "score": len(episode.records) - 1}
        assert type(episode.metadata["score"]) is np.float64


def test_dataset_metadata(case: str) -> None:
    """The metadata of the directory come back beside the specs that EnvLogger adds."""
    metadata = dict(open_recording(GOLDEN / case).metadata)
    specs = metadata.pop("environment_specs")
    assert spelled(metadata) == truth_of(case)["metadata"]
    assert specs["action_spec"]["dtype"] == "float32"


def test_lengths_and_shards(case: str) -> None:
    """The index alone determines the numbers of episodes and steps."""
    recording, truth = open_recording(GOLDEN / case), truth_of(case)
    assert len(recording) == len(truth["lengths"])
    steps = [len(shard.steps_of(episode)) for shard in recording.shards for episode in range(len(shard.episode_index))]
    assert steps == truth["lengths"]
    assert len(recording.shards) == (3 if case == "shards_of_two" else 1)


def test_step_offsets_are_the_positions_of_the_steps(case: str) -> None:
    """Every position that EnvLogger's C++ writer stored is the position that our reader counts."""
    for shard in open_recording(GOLDEN / case).shards:
        with RecordReader(shard.path / "steps.riegeli") as reader:
            assert [reader.last_position for _ in reader] == shard.step_offsets.tolist()


def test_iterations_are_independent() -> None:
    """Two iterations over one recording do not share a cursor."""
    recording = open_recording(GOLDEN / "shards_of_two")
    pairs = list(zip(recording, recording, strict=True))
    assert [one.metadata for one, _ in pairs] == [two.metadata for _, two in pairs]


def copy_of(case: str, path: Path) -> Path:
    """Return a copy of a golden directory that may be damaged."""
    shutil.copytree(GOLDEN / case, path / case)
    return path / case


def test_directory_without_metadata_file(tmp_path: Path) -> None:
    """A directory that EnvLogger did not write is an error that names the missing file."""
    with pytest.raises(FileNotFoundError, match=r"metadata\.riegeli"):
        open_recording(tmp_path)


def test_shard_of_a_writer_that_died_at_once(tmp_path: Path) -> None:
    """Four files of no bytes are a shard without episodes."""
    root = copy_of("shards_of_two", tmp_path)
    last = sorted(root.iterdir())[-2]
    for file in last.iterdir():
        file.write_bytes(b"")
    recording = open_recording(root)
    assert [len(shard.episode_index) for shard in recording.shards] == [2, 2, 0]
    assert len(list(recording)) == 4


def rewrite(path: Path, *arrays: Datum) -> None:
    """Replace an index file."""
    with RecordWriter(path, "uncompressed") as writer:
        for array in arrays:
            writer.write_record(array.SerializeToString())


def int64_datum(values: list[int], *shape: int) -> Datum:
    """Return an array of int64."""
    dims = [Datum.Shape.Dim(size=size) for size in shape]
    return Datum(shape=Datum.Shape(dim=dims), values=Datum.Values(int64_values=values))


def only_shard(root: Path) -> Path:
    """Return the directory of the one shard."""
    return next(path for path in root.iterdir() if path.is_dir())


@pytest.mark.parametrize(
    "index",
    [
        int64_datum([3, -1], 2),  # not pairs
        int64_datum([5, -1, 0, -1], 2, 2),  # backwards
        int64_datum([0, -1, 13, -1], 2, 2),  # beyond the last step
        int64_datum([-1, -1], 1, 2),  # before the first
        Datum(values=Datum.Values(int8_values=b"ab")),  # not int64
    ],
)
def test_nonsense_in_the_index_is_refused(index: Datum, tmp_path: Path) -> None:
    """An episode index that is no list of steps in order is an error that names the file."""
    root = copy_of("simple_none", tmp_path)
    rewrite(only_shard(root) / "episode_index.riegeli", index)
    with pytest.raises(FormatError, match=str(only_shard(root).name)):
        open_recording(root)


def test_index_parts_are_joined(tmp_path: Path) -> None:
    """An index written by several flushes is one index; flushes without steps add nothing."""
    root = copy_of("simple_none", tmp_path)
    before = open_recording(root).shards[0].step_offsets
    parts = (int64_datum(before[:5].tolist(), 5), Datum(), int64_datum(before[5:].tolist(), len(before) - 5))
    rewrite(only_shard(root) / "step_offsets.riegeli", *parts)
    assert open_recording(root).shards[0].step_offsets.tolist() == before.tolist()


@pytest.mark.parametrize("shift", [1, 1_000_000])
def test_offsets_that_hit_no_step_are_refused(shift: int, tmp_path: Path) -> None:
    """A position where no record begins is damage, not the next record or an unrelated error."""
    root = copy_of("simple_none", tmp_path)
    offsets = open_recording(root).shards[0].step_offsets.copy()
    offsets[11] += shift
    rewrite(only_shard(root) / "step_offsets.riegeli", int64_datum(offsets.tolist(), len(offsets)))
    with pytest.raises(DamagedError, match="not there"):
        list(open_recording(root))


def test_steps_out_of_order_are_refused(tmp_path: Path) -> None:
    """A position that names another step again is an error before any step is read."""
    root = copy_of("simple_none", tmp_path)
    offsets = open_recording(root).shards[0].step_offsets.copy()
    offsets[7] = offsets[8]
    rewrite(only_shard(root) / "step_offsets.riegeli", int64_datum(offsets.tolist(), len(offsets)))
    with pytest.raises(FormatError, match="order of the file"):
        open_recording(root)


def test_steps_of_another_shape_are_refused(tmp_path: Path) -> None:
    """A record that is no step is an error that shows it."""
    root = copy_of("simple_none", tmp_path)
    shard = only_shard(root)
    with RecordWriter(shard / "steps.riegeli", "uncompressed") as writer:
        offset = writer.write_record(Data(array=Data.Array(values=[Data(), Data()])).SerializeToString())
    rewrite(shard / "step_offsets.riegeli", int64_datum([offset], 1))
    rewrite(shard / "episode_index.riegeli", int64_datum([0, -1], 1, 2))
    with pytest.raises(FormatError, match=r"\[None, None\]"):
        list(open_recording(root))


def test_scalars_and_arrays_without_dimensions_differ() -> None:
    """The marker dimension means a scalar; no dimension means an array of shape ()."""
    values = Datum.Values(float_values=[np.float32(1.5).tobytes()])
    scalar = decode_datum(Datum(shape=Datum.Shape(dim=[Datum.Shape.Dim(size=-438)]), values=values))
    array = decode_datum(Datum(values=values))
    assert (type(scalar), scalar) == (np.float32, 1.5)
    assert isinstance(array, np.ndarray)
    assert (array.shape, array.dtype) == ((), np.float32)


@pytest.mark.parametrize("bits", [0x7FA00001, 0xFFC12345, 0x80000000])
def test_nan_payloads_and_negative_zero_survive(bits: int) -> None:
    """Float32 bits come back as they are, signalling NaNs too."""
    raw = bits.to_bytes(4, "little")
    datum = Datum(shape=Datum.Shape(dim=[Datum.Shape.Dim(size=2)]), values=Datum.Values(float_values=[raw + raw]))
    assert decode_datum(datum).tobytes() == raw + raw


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (Datum.Values(int8_values=b"\xff"), np.int8(-1)),
        (Datum.Values(int16_values=b"\xff\xfe"), np.int16(-2)),
        (Datum.Values(uint8_values=b"\xff"), np.uint8(255)),
        (Datum.Values(uint16_values=b"\x01\x02"), np.uint16(258)),
        (Datum.Values(int32_values=[-5]), np.int32(-5)),
        (Datum.Values(uint32_values=[2**32 - 1]), np.uint32(2**32 - 1)),
        (Datum.Values(uint64_values=[2**64 - 1]), np.uint64(2**64 - 1)),
        (Datum.Values(float_values_buffer=b"\x3f\xc0\x00\x00"), np.float32(1.5)),
        (Datum.Values(double_values=[np.float64(0.1).tobytes()]), np.float64(0.1)),
        (Datum.Values(bool_values=[True]), True),
        (Datum.Values(string_values=["é"]), "é"),
        (Datum.Values(bytes_values=[b"\0"]), b"\0"),
        (Datum.Values(bigint_values=[b"\xff\x00"]), -256),
        (Datum.Values(bigint_values=[(10**30).to_bytes(14, "big")]), 10**30),
    ],
)
def test_scalars_of_every_kind(values: Datum.Values, expected: object) -> None:
    """Each kind of element comes back as a scalar of its own type."""
    found = decode_datum(Datum(shape=Datum.Shape(dim=[Datum.Shape.Dim(size=-438)]), values=values))
    assert (type(found), found) == (type(expected), expected)


def test_arrays_of_text_have_dtype_object() -> None:
    """Strings and bytes of different lengths keep their lengths."""
    shape = Datum.Shape(dim=[Datum.Shape.Dim(size=2), Datum.Shape.Dim(size=1)])
    array = decode_datum(Datum(shape=shape, values=Datum.Values(string_values=["a", "long"])))
    assert (array.dtype, array.tolist()) == (np.dtype(object), [["a"], ["long"]])


def test_dicts_with_other_keys() -> None:
    """Keys that are not strings are decoded like values."""
    key = Data(datum=Datum(shape=Datum.Shape(dim=[Datum.Shape.Dim(size=-438)]), values=Datum.Values(int64_values=[7])))
    pair = Data(tuple=Data.Tuple(values=[key, Data()]))
    data = Data(dict=Data.Dict(values={"named": Data()}, kvs=Data.Array(values=[pair])))
    assert decode(data) == {"named": None, np.int64(7): None}


@pytest.mark.parametrize(
    "datum",
    [
        Datum(values=Datum.Values(int8_values=b"a", int32_values=[1])),  # two kinds
        Datum(values=Datum.Values(int16_values=b"abc")),  # half an element
        int64_datum([1, 2, 3], 2, 2),  # does not fill its shape
        int64_datum([1, 2], -438),  # a scalar of two elements
        int64_datum([1, 2], -1),  # not a shape
        Datum(values=Datum.Values(bigint_values=[b"\1"])),  # EnvLogger has no arrays of Python integers
        Datum.FromString(b"\x12\x05\x0d\x00\x00\x80\x3f"),  # floats that are not packed
        int64_datum([1], *[1] * 65),  # more dimensions than NumPy has
        Datum(
            shape=Datum.Shape(dim=[Datum.Shape.Dim(size=size) for size in (1 << 40, 1 << 40, 0)]),
            values=Datum.Values(float_values=[b""]),
        ),  # no elements, and still too large
    ],
)
def test_data_that_envlogger_does_not_write_are_refused(datum: Datum) -> None:
    """A datum that contradicts itself is an error, not a value."""
    with pytest.raises(FormatError):
        decode_datum(datum)


_LIST = Data(array=Data.Array(values=[Data()]))


@pytest.mark.parametrize(
    "pair", [(), (Data(), Data(), Data()), (_LIST, Data()), (Data(tuple=Data.Tuple(values=[_LIST])), Data())]
)
def test_dict_entries_that_are_no_pairs_are_refused(pair: tuple[Data, ...]) -> None:
    """An entry with too few or too many parts, or with a key that cannot be one, is an error."""
    entry = Data(tuple=Data.Tuple(values=pair))
    with pytest.raises(FormatError, match="entry of a dict"):
        decode(Data(dict=Data.Dict(kvs=Data.Array(values=[entry]))))


@pytest.mark.parametrize("file", ["steps.riegeli", "step_offsets.riegeli", "../metadata.riegeli"])
def test_records_that_are_no_messages_are_refused(file: str, tmp_path: Path) -> None:
    """A Riegeli file of something else is an error of ours, not of the protobuf library."""
    root = copy_of("simple_none", tmp_path)
    with RecordWriter(only_shard(root) / file, "uncompressed,chunk_size:4K") as writer:
        for _ in range(20):
            writer.write_record(b"\xff\xff\xff")
    if file == "steps.riegeli":
        rewrite(only_shard(root) / "step_offsets.riegeli", int64_datum(list(range(64, 76)), 12))
    with pytest.raises(FormatError):
        list(open_recording(root))


def test_nothing_of_envlogger_is_needed() -> None:
    """The messages live in a package of their own, so that EnvLogger's may be loaded beside them."""
    assert Data.DESCRIPTOR.full_name == "rlds_kit.convert.envlogger.Data"
    assert isinstance(open_recording(GOLDEN / CASES[0]), Recording)
    assert envlogger.__doc__ is not None
