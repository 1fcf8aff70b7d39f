"""Shards and descriptions that no writer made, every checksum right: errors that name the file, and no memory taken."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import xxhash

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.spec import value
from rlds_kit.storage import block
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify

pytestmark = pytest.mark.filterwarnings("ignore::rlds_kit.base.errors.DamageWarning")

ID: Final = b"e" * 16
HUGE: Final = 1 << 40
WIDE: Final = "<U1000000000"


def _header(spec: pb.Spec | None = None) -> pb.ShardHeader:
    nothing = value.encode({})
    return pb.ShardHeader(
        shard_id=bytes(16), spec=spec or pb.Spec(dict=pb.DictSpec()), metadata=nothing, environment=nothing
    )


def _column(payload: bytes = bytes(8), shape: tuple[int, ...] = (), **fields: Any) -> tuple[pb.Column, bytes]:
    known = {"path": "a", "kind": pb.INT, "count": 1, "decoded_length": len(payload), **fields}
    xxh3 = xxhash.xxh3_64_intdigest(payload)
    return pb.Column(length=len(payload), xxh3=xxh3, shape=shape, rank=len(shape), **known), payload


def _array(dtype: str, *shape: int) -> pb.Value:
    return pb.Value(array=pb.Array(dtype=dtype, shape=shape))


def _metadata(item: pb.Value) -> pb.Value:
    return pb.Value(dict=pb.Entries(key=[value.encode("a")], value=[item]))


def _end(rows: int) -> pb.EpisodeEnd:
    return pb.EpisodeEnd(episode_id=ID, ending=pb.TERMINATED, terminated=True, rows=rows, metadata=value.encode({}))


def _field(spec: pb.Spec) -> pb.Spec:
    return pb.Spec(dict=pb.DictSpec(key=["a"], value=[spec]))


FORGED: Final[dict[str, dict[str, Any]]] = {
    "a column of 2^40 rows": {"column": _column(count=HUGE)},
    "a block of 2^40 rows": {"column": _column(count=HUGE), "rows": HUGE},
    "2^40 rows of one value": {"column": _column(count=HUGE, filter=pb.REPEAT), "rows": HUGE},
    "rows that are no int64": {"rows": (1 << 64) - 2},
    "a wide dtype": {"column": _column(kind=pb.ARRAY, dtype=WIDE)},
    "a wide dtype and no value": {"column": _column(b"", kind=pb.ARRAY, dtype=WIDE, partial=True)},
    "a path of 3,000 levels": {"column": _column(path="/".join(["a"] * 3000))},
    "a path of 3,000 tuples": {"column": _column(path="a" + "/(0)" * 3000)},
    "metadata without a kind": {"metadata": pb.Value()},
    "metadata that are a number": {"metadata": value.encode(3)},
    "an array larger than its data": {"metadata": _metadata(_array("uint8", HUGE))},
    "an array of a wide dtype": {"metadata": _metadata(_array(WIDE, 1))},
    "an array that cannot be": {"metadata": _metadata(_array("uint8", 1 << 63))},
    "text that is none": {"metadata": _metadata(pb.Value(text=b"\xff"))},
    "a list as a key": {"metadata": pb.Value(dict=pb.Entries(key=[pb.Value(list=pb.Items())], value=[pb.Value()]))},
    "keys without values": {"metadata": pb.Value(dict=pb.Entries(key=[value.encode("a")]))},
    "an end after 2^40 rows": {"end": _end(HUGE)},
    "an end after 2^63 rows": {"end": _end(1 << 63)},
    "a spec of a wide dtype": {"spec": _field(pb.Spec(array=pb.ArraySpec(dtype=WIDE, shape=[4])))},
    "a spec of a large shape": {"spec": _field(pb.Spec(array=pb.ArraySpec(dtype="uint8", shape=[HUGE, HUGE])))},
}


def _forge(directory: Path, *, closed: bool, **parts: Any) -> Path:
    """A shard of one episode of one block, with these parts."""
    directory.mkdir()
    name = "episodes-20250101T000000000000Z-aaaaaaaaaaaa-00000.riegeli"
    writer, nothing = ShardWriter(directory / name, _header(parts.get("spec"))), value.encode(None)
    start = pb.EpisodeStart(episode_id=ID, metadata=parts.get("metadata", value.encode({})))
    for each in (start.seed, start.options):
        each.CopyFrom(nothing)
    start.provenance.CopyFrom(value.encode({}))
    writer.start(start)
    rows = parts.get("rows", 1)
    made = block.assemble(pb.BlockHeader(episode_id=ID, end_row=rows), [parts.get("column", _column())])
    writer.encoded_block(ID, range(rows), made)
    writer.end(parts.get("end", _end(rows)))
    (writer.close if closed else writer.abandon)()
    return directory


def _reads(directory: Path) -> Iterator[Callable[[], Any]]:
    """Calls everything that a dataset offers."""
    dataset = rlds_kit.open(directory)
    yield lambda: dataset.spec
    yield lambda: (dataset.metadata, dataset.environment, dataset.description)
    yield lambda: dataset.windows(1).gather([0])
    yield lambda: dataset.where(bool)
    if len(dataset.episodes):
        episode = dataset.episodes[0]
        yield lambda: episode.metadata
        yield lambda: (episode.seed, episode.options, episode.provenance, episode.run_metadata, episode.started)
        yield lambda: (episode.end, episode.terminated, episode.fields)
        yield lambda: episode["a"]
        yield lambda: episode.mask("a")
        yield lambda: episode["is_last"]
        yield lambda: episode.steps[0]
        yield lambda: next(iter(episode.steps))


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("name", FORGED)
def test_forged_shard_ends_in_errors_of_ours(tmp_path: Path, name: str, closed: bool) -> None:
    """Whatever is read of it, and `verify` names a problem, and `repair` copies what makes sense."""
    directory = _forge(tmp_path / "d", closed=closed, **FORGED[name])
    refused = 0
    for read in _reads(directory):
        try:
            read()
        except (KeyError, IndexError):
            continue  # there is no such field, or step, since its block is left out
        except RldsKitError as error:
            refused += 1
            where = ".riegeli" in str(error) or "episode 0" in str(error)
            if not where:
                raise AssertionError(f"{error} does not say where") from error
    problems = verify(directory).problems
    assert problems
    assert refused or rlds_kit.open(directory).damage
    assert all(str(each) for each in problems)
    repair(directory, tmp_path / "copy")
    assert all(episode.id for episode in rlds_kit.open(tmp_path / "copy").episodes)


def _array_json(dtype: str, shape: str) -> str:
    return f'{{"spec": {{"a": {{"kind": "array", "dtype": "{dtype}", "shape": {shape}}}}}}}'


DESCRIPTIONS: Final = {
    "lists 100,000 deep": "[" * 100_000 + "]" * 100_000,
    "objects 900 deep": '{"spec":' * 900 + "{}" + "}" * 900,
    "specs 400 deep": '{"spec": {"a": ' + '{"kind": "optional", "spec":' * 400 + '{"kind": "any"}' + "}" * 402,
    "a lone surrogate": r'{"name": "\ud800"}',
    "a lone surrogate as a key": r'{"spec": {"\ud800": {"kind": "any"}}}',
    "a wide dtype": _array_json(WIDE, "[4]"),
    "a shape that is no integer": _array_json("uint8", "[1e99]"),
    "a shape that is none": _array_json("uint8", "4"),
    "a dict without fields": '{"spec": {"kind": "dict", "fields": 3}}',
    "a number of 5,000 digits": '{"version": ' + "9" * 5000 + "}",
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_forged_description_is_refused_and_keeps_no_shard_from_being_read(tmp_path: Path, name: str) -> None:
    """`verify` reports it, `repair` makes a new one, and the steps can be read."""
    with Recorder(tmp_path / "d", specs.Dict({})) as recorder:
        episode = recorder.start_episode()
        episode.append({"a": 1})
        episode.end(EpisodeEnd.TERMINATED)
    (tmp_path / "d" / "dataset.json").write_text(DESCRIPTIONS[name], encoding="utf-8")
    dataset = rlds_kit.open(tmp_path / "d")
    assert dataset.episodes[0].steps[0]["a"] == 1
    assert [problem.rule for problem in verify(dataset.path).problems] == ["dataset-json"]
    repair(dataset.path, tmp_path / "copy")
    assert verify(tmp_path / "copy").ok
    with pytest.raises(RldsKitError, match=r"dataset\.json"):
        Recorder(tmp_path / "d", specs.Dict({}))
