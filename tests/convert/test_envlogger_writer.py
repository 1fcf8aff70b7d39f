"""EnvLogger's directories that are written here: its own C++ reader opens them, and nothing is lost unsaid."""

import functools
import json
import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.convert import formats
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.envlogger import writer as envlogger_writer
from rlds_kit.convert.envlogger.encode import DEEPEST, encode
from rlds_kit.convert.envlogger.recording import decode, open_recording
from rlds_kit.convert.envlogger_storage_pb2 import Data
from rlds_kit.convert.episode_content import content_of, same
from rlds_kit.convert.formats import FORMATS
from rlds_kit.convert.protocol import ConversionError, ForeignEpisode, Loss
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.compare import diff
from tests.convert import envlogger_peer
from tests.convert.test_envlogger import CASES, GOLDEN, truth_of

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


def peer_reads(python: Path, *paths: Path) -> Any:  # JSON
    """What EnvLogger's own reader finds in directories."""
    done = subprocess.run(
        [python, envlogger_peer.__file__, *paths], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def there_and_back(source: Path, root: Path) -> tuple[Path, Path, Path]:
    """Conversions to ours, from there to EnvLogger's, and from there to ours again."""
    names = [root / folder / source.name for folder in ("ours", "theirs", "again")]
    convert(source, names[0])
    report = convert(names[0], names[1], "envlogger")
    assert report.losses == ()
    convert(names[1], names[2])
    return names[0], names[1], names[2]


@pytest.mark.parametrize("case", CASES)
def test_golden_case_comes_back_equal(case: str, tmp_path: Path) -> None:
    """`diff` finds nothing between what EnvLogger's C++ code wrote and what is read from the copy."""
    ours, theirs, again = there_and_back(GOLDEN / case, tmp_path)
    assert diff(rlds_kit.open(ours), rlds_kit.open(again), match="order").equal
    pairs = zip(open_recording(GOLDEN / case), open_recording(theirs), strict=True)
    for one, other in pairs:
        assert same(one.metadata, other.metadata)
        assert [envlogger_peer.spelled(each) for each in one.records] == [
            envlogger_peer.spelled(each) for each in other.records
        ]


@pytest.mark.thorough
def test_envlogger_reads_every_golden_copy(envlogger_python: Path, tmp_path: Path) -> None:
    """Its C++ reader gives every value that was recorded, and the specs, metadata and custom data of its own files."""
    copies = [there_and_back(GOLDEN / case, tmp_path)[1] for case in CASES]
    own = peer_reads(envlogger_python, *(GOLDEN / case for case in CASES))
    for case, one, other in zip(CASES, own, peer_reads(envlogger_python, *copies), strict=True):
        values = [
            [{k: v for k, v in step.items() if k != "custom_data"} for step in each] for each in other["episodes"]
        ]
        assert values == truth_of(case)["episodes"]
        del other["metadata"]["rlds_kit"]
        assert one == other


def record(path: Path, **fields: Any) -> Path:
    """A dataset of ours of one episode, with what EnvLogger has no place for."""
    declared = specs.Dict({"observation": specs.Array((2,), np.float32), "action": specs.Array((), np.int64)})
    defaults: dict[str, Any] = {"metadata": {"who": "ada"}, "seed": [1, 2**70], "options": {}}
    info, acted = fields.pop("info", {}), fields.pop("acted", {"torque": 2.0})
    ended = {"discount": 0.0} | fields.pop("ended", {"terminated": True, "truncated": True})
    reward = fields.pop("reward", 0.5)
    with (
        EpisodeWriter(path, declared, record_time=True, environment={"id": "Arm-v1"}) as writer,
        writer.episode(**{**defaults, "provenance": {"robot": "r2"}, **fields}) as episode,
    ):
        episode.start(np.zeros(2, np.float32), note="a", info=info)
        episode.step(1, reward, np.ones(2, np.float32), acted=acted, info={"lives": 3}, discount=1.0)
        episode.step(2, 1.5, np.ones(2, np.float32), info={"lives": 3, "words": ["é", b"\0"]}, **ended)
    return path


@pytest.mark.parametrize(
    "ended",
    [
        {},
        {"terminated": True},
        {"truncated": True},
        {"terminated": True, "truncated": True},
        {"terminated": True, "discount": 0.25},
        {"truncated": True, "discount": 0.0},
    ],
)
def test_ours_comes_back_equal(ended: dict[str, Any], envlogger_python: Path, tmp_path: Path) -> None:
    """Seed, options, provenance, times, info, fields of actions and every end: no loss, and EnvLogger reads it too."""
    source = record(tmp_path / "a" / "set", ended=ended)
    assert convert(source, tmp_path / "b" / "set", "envlogger").losses == ()
    convert(tmp_path / "b" / "set", tmp_path / "c" / "set")
    one, other = rlds_kit.open(source).episodes[0], rlds_kit.open(tmp_path / "c" / "set").episodes[0]
    assert (one.end, one.terminated, one.truncated) == (other.end, other.terminated, other.truncated)
    fields = diff(rlds_kit.open(source), rlds_kit.open(tmp_path / "c" / "set"), match="order").fields
    kinds = {each.field: (each.kind, each.max_difference) for each in fields}
    assert kinds == dict.fromkeys(("reward", "discount", "torque"), ("type", 0.0))  # Python's numbers are NumPy's then
    for name in ("seed", "options", "metadata"):
        assert same(getattr(one, name), getattr(other, name))
    assert other.provenance["robot"] == "r2"
    assert rlds_kit.open(source).spec.fields.items() <= rlds_kit.open(tmp_path / "c" / "set").spec.fields.items()
    (found,) = peer_reads(envlogger_python, tmp_path / "b" / "set")
    (steps,) = found["episodes"]
    expected = [0, 1, 2 if {"terminated", "truncated"} & ended.keys() else 1]
    assert [step["step_type"] for step in steps] == expected
    assert steps[0]["custom_data"]["note"] == "a"
    assert found["episode_metadata"][0]["who"] == "ada"


def test_specs_are_those_of_dm_env(envlogger_python: Path, tmp_path: Path) -> None:
    """Where all four are known, EnvLogger's reader has them; they are not metadata of the dataset."""
    number = specs.Array((), np.float64, minimum=0, maximum=1)
    fields: dict[str, specs.Spec] = {
        "observation": specs.Dict({"x": number}),
        "action": specs.Array((), np.int32, num_values=3),
        "reward": number,
    }
    with (
        EpisodeWriter(tmp_path / "a", specs.Dict({**fields, "discount": number})) as writer,
        writer.episode() as episode,
    ):
        episode.start({"x": 0.5})
        episode.step(np.int32(1), 0.5, {"x": 0.25}, discount=1.0)
    convert(tmp_path / "a", tmp_path / "b", "envlogger")
    (found,) = peer_reads(envlogger_python, tmp_path / "b")
    assert "BoundedArray(shape=(), dtype=dtype('float64')" in found["specs"][0]
    convert(tmp_path / "b", tmp_path / "c")
    assert rlds_kit.open(tmp_path / "c").spec == rlds_kit.open(tmp_path / "a").spec
    assert set(rlds_kit.open(tmp_path / "c").metadata) == {"source"}


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"info": {"half": np.float16(1)}}, {"info/half": 1}),
        ({"info": {"wave": 1j, "x": 1}}, {"info/wave": 1}),
        ({"info": {"none": np.zeros((0, 3))}}, {"info/none": 1}),
        ({"info": {"big": np.zeros(2, ">f4")}}, {"info/big": 1}),
        ({"info": {"words": np.array(["a", "bc"])}}, {"info/words": 1}),
        (
            {"info": {"list": [1, {"half": np.float16(1)}, [np.float16(2)]]}},
            {"info/list/1/half": 1, "info/list/2/0": 1},
        ),
        ({"info": {"text": "\ud800"}}, {"info/text": 1}),
        ({"acted": {"torque": np.float16(1)}}, {"torque": 1}),
        ({"reward": None}, {}),
        ({"metadata": {"half": np.float16(1)}}, {"metadata/half": 1}),
        ({"metadata": {"rlds_kit": 1}}, {"metadata/rlds_kit": 1}),
        ({"seed": np.float16(1)}, {"seed": 1}),
        ({"options": {"a": {"b": np.zeros(0)}}}, {"options/a/b": 1}),
        ({"provenance": {"wave": 1j}}, {"provenance/wave": 1}),
    ],
)
def test_what_the_codec_cannot_hold_is_refused_or_counted(
    fields: dict[str, Any], lost: dict[str, int], tmp_path: Path
) -> None:
    """Without `allow_loss` nothing is written; with it, the report has each lost value, and all others are written."""
    source = record(tmp_path / "ours", **fields)
    if lost:
        with pytest.raises(ConversionError, match="allow-loss"):
            convert(source, tmp_path / "theirs", "envlogger")
        assert not (tmp_path / "theirs").exists()
    report = convert(source, tmp_path / "theirs", "envlogger", allow_loss=True)
    assert {loss.field: loss.values for loss in report.losses} == lost
    assert (report.episodes, report.steps) == (1, 3)


def test_observation_that_cannot_be_held_costs_the_episode(tmp_path: Path) -> None:
    """Nothing is put in its place."""
    with EpisodeWriter(tmp_path / "a") as writer, writer.episode() as episode:
        episode.start(np.float16(0))
        episode.step(1, 0.0, np.float16(1))
    report = convert(tmp_path / "a", tmp_path / "b", "envlogger", allow_loss=True)
    assert report.episodes == 0
    assert Loss("observation", "EnvLogger has no float16", 2) in report.losses
    assert [loss.values for loss in report.losses if loss.field == "episode"] == [2]


def test_missing_final_observation_costs_the_last_action(tmp_path: Path) -> None:
    """It is not invented: the last action goes, and the episode did not end where it stops now."""
    with EpisodeWriter(tmp_path / "a", record_time=False) as writer, writer.episode() as episode:
        episode.start(0.0)
        episode.step(1, 1.0, 0.5, discount=1.0)
        episode.step(2, 2.0, terminated=True, discount=0.0)
    report = convert(tmp_path / "a", tmp_path / "b", "envlogger", allow_loss=True)
    assert {loss.field for loss in report.losses} == {"action", "reward", "discount", "end"}
    (written,) = open_recording(tmp_path / "b")
    assert [found.step_type for found in written.records] == [0, 1]


@pytest.mark.parametrize(
    "fields",
    [
        {"acted": {"torque": 1.0}},
        {"info": {"lives": "none"}},
        {"ended": {"discount": 0.5}},
        {"ended": {"terminated": True, "truncated": True}},
        {"metadata": {"none": None, "list": [1, "a", {}]}},
        {"seed": 5, "options": {"low": 0.5}},
    ],
)
def test_the_format_stores_it(fields: dict[str, Any], tmp_path: Path) -> None:
    """Other fields, changing ones, discounts, ends, metadata of episodes and seeds come through without loss."""
    assert convert(record(tmp_path / "a", **fields), tmp_path / "b", "envlogger").losses == ()


def test_missing_discounts_are_those_of_dm_env(tmp_path: Path) -> None:
    """EnvLogger's readers see from them which last step is a terminal one."""
    rows = np.arange(6, dtype=np.float32)
    arrays: dict[str, Any] = dict.fromkeys(("observations", "actions", "rewards"), rows)
    np.savez(tmp_path / "a.npz", **arrays, next_observations=rows + 1, terminals=rows == 2, timeouts=rows == 5)
    convert(tmp_path / "a.npz", tmp_path / "b", "envlogger")
    found = [[record.discount for record in episode.records[1:]] for episode in open_recording(tmp_path / "b")]
    assert found == [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]


def test_many_episodes_are_several_shards(
    envlogger_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, and EnvLogger finds all of them."""
    monkeypatch.setattr(envlogger_writer, "EPISODES_PER_SHARD", 2)
    with EpisodeWriter(tmp_path / "a") as writer:
        for number in range(5):
            with writer.episode(metadata={"number": number}) as episode:
                episode.start(number)
                episode.step(0, 1.0, number, truncated=True)
    convert(tmp_path / "a", tmp_path / "b", "envlogger")
    assert len([path for path in (tmp_path / "b").iterdir() if path.is_dir()]) == 3
    (found,) = peer_reads(envlogger_python, tmp_path / "b")
    assert [each["number"] for each in found["episode_metadata"]] == [0, 1, 2, 3, 4]
    assert [len(each) for each in found["episodes"]] == [2] * 5


def test_end_that_the_steps_do_not_reach_is_not_believed(tmp_path: Path) -> None:
    """A copy that was cut later is an interrupted episode, whatever its metadata say."""
    source = record(tmp_path / "a")
    convert(source, tmp_path / "b", "envlogger")
    reader = FORMATS["envlogger"].open(tmp_path / "b")
    (whole,) = reader
    assert (whole.end, whole.terminated, whole.truncated) == (EpisodeEnd.TERMINATED, True, True)
    from rlds_kit.convert.envlogger.reader import episode_of

    (episode,) = open_recording(tmp_path / "b")
    cut = episode_of(episode.records[:2], episode.metadata)
    assert (cut.end, cut.terminated, cut.truncated) == (EpisodeEnd.INTERRUPTED, False, False)


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=True),
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.binary(max_size=4),
    *(
        st.lists(st.integers(0, 1), min_size=1, max_size=4).map(functools.partial(np.array, dtype=dtype))
        for dtype in DTYPES
    ),
    *(st.integers(0, 1).map(np.dtype(dtype).type) for dtype in DTYPES),
)
keys = st.one_of(st.text(st.characters(codec="utf-8"), max_size=3), st.integers(-3, 3))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
@settings(max_examples=300)
def test_encoded_values_are_decoded_to_the_same(value: Any) -> None:
    """Types, shapes and bits; empty lists, tuples and dicts too."""
    losses: list[Loss] = []
    data = encode(value, "x", losses)
    assert losses == []
    assert data is not None
    assert same(decode(Data.FromString(data.SerializeToString())), value)


@given(
    st.lists(st.tuples(values, values, st.dictionaries(st.text("abc/é", max_size=2), values, max_size=2)), max_size=3)
)
@settings(max_examples=25)
def test_generated_episodes_come_back_equal(rows: list[tuple[Any, Any, Any]]) -> None:
    """For any value that the codec can store, in every field, the content of the episode is preserved."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        with EpisodeWriter(path / "a") as writer, writer.episode(metadata={"rows": rows}, seed=3) as episode:
            episode.start({"x": 0}, info={})
            for observation, action, info in rows:
                episode.step(action, 1.0, {"x": observation}, discount=1.0, info=info)
        assert convert(path / "a", path / "b", "envlogger").losses == ()
        convert(path / "b", path / "c")
        one, other = (list(formats.named("rlds_kit").open(path / each)) for each in "ac")
        assert [content_of(each) for each in one] == [content_of(each) for each in other]


@pytest.mark.parametrize("bits", [0x7FA00001, 0xFFC12345, 0x80000000])
def test_nan_payloads_and_negative_zero_are_written(bits: int) -> None:
    """Float32 bits, also in arrays without dimensions."""
    for value in (np.uint32(bits).view(np.float32), np.array(bits, np.uint32).view(np.float32)):
        data = encode(value, "x", [])
        assert data is not None
        found = decode(data)
        assert (type(found), found.tobytes()) == (type(value), value.tobytes())


def test_values_that_protobuf_could_not_read_again_are_lost() -> None:
    """It reads no more than 100 messages in each other."""
    value: Any = 1
    for _ in range(DEEPEST):
        value = {"a": value}
    data = encode(value, "x", [])
    assert data is not None
    step = Data(tuple=Data.Tuple(values=[Data(tuple=Data.Tuple(values=[data]))]))
    assert same(decode(Data.FromString(step.SerializeToString())), ((value,),))
    losses: list[Loss] = []
    encode({"a": value, "b": 2}, "x", losses)
    assert [loss.reason for loss in losses] == [f"is in more than {DEEPEST} dicts, lists and tuples"]


def test_same_episode_is_the_same_content_before_and_after(tmp_path: Path) -> None:
    """What `fit` returns is what is read."""
    convert(record(tmp_path / "a"), tmp_path / "b", "envlogger")
    one, two = (list(FORMATS["envlogger"].open(tmp_path / "b")) for _ in range(2))
    assert [content_of(each) for each in one] == [content_of(each) for each in two]
    assert all(isinstance(each, ForeignEpisode) for each in one)
    assert math.isfinite(FORMATS["envlogger"].open(tmp_path / "b").size)
