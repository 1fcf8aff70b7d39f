"""Minari in Arrow and Parquet: what its own package wrote is read exactly, and what is written it reads exactly."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gymnasium import spaces
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.convert import decoded_size, formats
from rlds_kit.convert.arrow_files import read_arrow, read_parquet
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.minari.reader import MinariReader
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.spec.from_gymnasium import from_gymnasium
from rlds_kit.tools.compare import diff
from tests.convert import minari_samples as samples
from tests.convert.test_minari import SPACES
from tests.repetitions import repetitions

STORED = ("arrow", "parquet")
IMAGE = spaces.Box(0, 255, (40, 32, 3), np.uint8)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory of Minari's datasets."""
    return tmp_path / "minari"


@pytest.fixture
def minari(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Minari's own package."""
    return samples.minari_at(root, monkeypatch)


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kind", SPACES)
def test_every_space_is_read_as_minari_was_given_it(
    kind: str, stored: str, minari: Any, root: Path, tmp_path: Path
) -> None:
    """Observations, actions, rewards, flags, seed and options of each episode, bit for bit."""
    truth = samples.write(minari, "cart/y-v0", SPACES[kind], SPACES[kind], data_format=stored)
    report = convert(root / "cart" / "y-v0", tmp_path / "ours")
    assert (report.source_format, report.losses) == (f"minari-{stored}", ())
    for given_, episode in zip(truth, rlds_kit.open(tmp_path / "ours").episodes, strict=True):
        steps = list(episode.steps)
        assert samples.equal(tuple(step["observation"] for step in steps), tuple(given_["observations"]))
        assert samples.equal(tuple(step["action"] for step in steps[:-1]), tuple(given_["actions"]))
        assert episode["reward"][:-1].tolist() == given_["rewards"]
        assert (episode.terminated, episode.truncated) == (given_["terminations"][-1], given_["truncations"][-1])
        assert (episode.seed, episode.options) == (given_["seed"], given_["options"])


@pytest.mark.parametrize("stored", ["hdf5", *STORED])
@pytest.mark.parametrize("kind", [*SPACES, "image"])
def test_there_and_back_is_the_same_dataset(kind: str, stored: str, minari: Any, root: Path, tmp_path: Path) -> None:
    """Minari reads from the copy what it reads from its own dataset, and `diff` finds the two equal."""
    space, target = (SPACES | {"image": IMAGE})[kind], "minari" if stored == "hdf5" else f"minari-{stored}"
    samples.write(minari, "one/own-v0", space, space, infos=True, data_format=stored, env="CartPole-v1")
    convert(root / "one" / "own-v0", tmp_path / "ours")
    assert convert(tmp_path / "ours", root / "two" / "own-v0", target).losses == ()
    own, copy = samples.load(minari, "one/own-v0"), samples.load(minari, "two/own-v0")
    assert (own.observation_space, own.action_space) == (copy.observation_space, copy.action_space)
    assert (len(own), own.total_steps) == (len(copy), copy.total_steps)
    assert own.spec.env_spec == copy.spec.env_spec
    for one, other in zip(own, copy, strict=True):
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            assert samples.equal(tuple_of(getattr(one, name)), tuple_of(getattr(other, name)))
        assert repr(one.infos) == repr(other.infos)  # nests are arrays of dicts for Minari
    for one, other in zip(*(each.storage.get_episode_metadata(range(4)) for each in (own, copy)), strict=True):
        assert {name: other[name] for name in one} == one
    convert(root / "two" / "own-v0", tmp_path / "again")
    assert diff(rlds_kit.open(tmp_path / "ours"), rlds_kit.open(tmp_path / "again"), match="order").fields == ()


def tuple_of(value: Any) -> Any:
    """Lists of text as tuples."""
    if isinstance(value, dict):
        return {key: tuple_of(each) for key, each in value.items()}
    return tuple(map(tuple_of, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("target", ["minari", "minari-arrow", "minari-parquet"])
@pytest.mark.parametrize("stored", STORED)
def test_one_storage_becomes_another(stored: str, target: str, minari: Any, root: Path, tmp_path: Path) -> None:
    samples.write(minari, "own-v0", SPACES["dict"], SPACES["multi"], infos=True, data_format=stored)
    if target == f"minari-{stored}":
        with pytest.raises(ConversionError, match="already"):
            convert(root / "own-v0", root / "copy-v0", target)
        return
    convert(root / "own-v0", root / "copy-v0", target)
    own, copy = (samples.load(minari, name) for name in ("own-v0", "copy-v0"))
    assert (target.removeprefix("minari").removeprefix("-") or "hdf5") == copy.storage.FORMAT
    for one, other in zip(own, copy, strict=True):
        assert samples.equal(one.observations, other.observations)


@pytest.mark.parametrize("stored", STORED)
def test_jpeg_is_decoded_and_reported_as_lossy(stored: str, minari: Any, root: Path, tmp_path: Path) -> None:
    """The pixels are those that Minari itself decodes."""
    samples.write(minari, "own-v0", IMAGE, spaces.Discrete(2), jpeg=True, data_format=stored)
    assert convert(root / "own-v0", tmp_path / "ours").lossy_at_the_source == {"observation": "jpeg"}
    for one, episode in zip(samples.load(minari, "own-v0"), rlds_kit.open(tmp_path / "ours").episodes, strict=True):
        assert samples.equal(one.observations, episode["observation"])


def recorded(path: Path, observation: Any = 0.5, **fields: Any) -> Path:
    """A dataset of ours of one episode."""
    declared = specs.Dict({"observation": specs.infer(observation), "action": specs.Array((), np.int64)})
    info = fields.pop("info", {})
    with EpisodeWriter(path, declared, record_time=False) as writer, writer.episode(**fields) as episode:
        episode.start(observation, info=info)
        episode.step(1, 1.0, observation, info=info, terminated=True, discount=0.0)
    return path


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"metadata": {"weights": np.ones(2)}}, {"metadata/weights": 1}),
        ({"metadata": {"pair": (1, 2)}}, {"metadata/pair": 1}),
        ({"metadata": {"single": np.float32(0.1)}}, {"metadata/single": 1}),
        ({"metadata": {"deep": {"raw": b"x", "x": 1}}}, {"metadata/deep/raw": 1}),
        ({"options": {"a": {1: 2}, "b": 1}}, {"options/a/1": 1}),
        ({"info": {"wave": 1j}}, {"info/wave": 2}),
        ({"info": {"none": np.zeros((0,))}}, {"info/none": 2}),
        ({"metadata": {"list": [1, None, {"a": "é"}], "none": None, "big": 2**70, "nan": float("nan")}}, {}),
        ({"seed": 2**64 - 1, "info": {"half": np.float16(1), "flag": True, "image": np.ones((2, 3), np.uint8)}}, {}),
    ],
)
def test_what_it_cannot_hold_is_refused_or_counted(
    stored: str, fields: dict[str, Any], lost: dict[str, int], tmp_path: Path
) -> None:
    """Without `allow_loss` nothing is written; with it, the report has each lost value."""
    recorded(tmp_path / "ours", **fields)
    target = f"minari-{stored}"
    if lost:
        with pytest.raises(ConversionError, match="allow-loss"):
            convert(tmp_path / "ours", tmp_path / "m-v0", target)
    report = convert(tmp_path / "ours", tmp_path / "m-v0", target, allow_loss=True)
    assert {loss.field: loss.values for loss in report.losses} == lost
    (episode,) = formats.named(target).open(tmp_path / "m-v0")
    assert episode.metadata.keys() >= {
        name for name in fields.get("metadata", {}) if f"metadata/{name}" not in lost
    } - {"deep"}


@pytest.mark.parametrize("observation", [np.complex64(1j), np.zeros((2, 0)), np.zeros(2, ">f4")])
def test_observations_that_arrow_has_not_are_refused(observation: Any, tmp_path: Path) -> None:
    """By name of the field."""
    recorded(tmp_path / "ours", observation)
    with pytest.raises(ConversionError, match="observation"):
        convert(tmp_path / "ours", tmp_path / "m-v0", "minari-arrow", allow_loss=True)


def test_infos_of_actions_are_lost(tmp_path: Path) -> None:
    """A table has as many rows in every column; HDF5 has not."""
    declared = specs.Dict({"observation": specs.Array((), np.float64), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path / "a", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(1, 1.0, 0.5, acted={"step_info": {"x": 1}})
        episode.step(1, 1.0, 0.5, acted={"step_info": {"x": 2}})
    assert convert(tmp_path / "a", tmp_path / "h-v0", "minari").losses == ()
    report = convert(tmp_path / "a", tmp_path / "m-v0", "minari-parquet", allow_loss=True)
    assert [(loss.field, loss.values) for loss in report.losses] == [("step_info", 2)]


def leaf_spaces() -> st.SearchStrategy[spaces.Space[Any]]:
    """Small ones that Minari can store."""
    shapes = st.lists(st.integers(1, 3), max_size=2).map(tuple)
    dtypes = st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.uint16, np.int64])
    return st.one_of(
        st.builds(lambda shape, dtype: spaces.Box(0, 9, shape, dtype), shapes, dtypes),
        st.integers(1, 5).map(spaces.Discrete),
        st.integers(1, 4).map(spaces.MultiBinary),
        st.lists(st.integers(1, 4), min_size=1, max_size=3).map(spaces.MultiDiscrete),
        st.just(spaces.Text(4, charset="aé")),
    )


any_space = st.recursive(
    leaf_spaces(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(spaces.Dict),
    ),
    max_leaves=4,
)


@pytest.mark.sweep
@given(space=any_space, stored=st.sampled_from(["", "-arrow", "-parquet"]), seed=st.integers(0, 9))
@settings(max_examples=repetitions(40, least=16), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_generated_spaces_come_back_equal(
    space: spaces.Space[Any], stored: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From ours to each storage and back, `diff` finds nothing but what Minari adds."""
    path = tmp_path_factory.mktemp("generated")
    space.seed(seed)
    number = specs.Array((), np.float64)
    both = dict.fromkeys(("observation", "action"), from_gymnasium(space, "space"))
    declared = specs.Dict({**both, "reward": number, "discount": specs.Array((), np.float64, minimum=0, maximum=1)})
    with EpisodeWriter(path / "a", declared, record_time=False) as writer, writer.episode(seed=seed) as episode:
        episode.start(space.sample())
        for step in range(3):
            episode.step(space.sample(), np.float64(step), space.sample(), discount=np.float64(1))
    convert(path / "a", path / "m-v0", f"minari{stored}")
    convert(path / "m-v0", path / "b")
    report = diff(rlds_kit.open(path / "a"), rlds_kit.open(path / "b"), match="order")
    other = [each for each in report.fields if each.field.partition("/")[0] not in ("metadata", "run_metadata")]
    known = [
        each for each in other if each.kind == "type" and not each.max_difference
    ]  # a scalar or an array of NumPy's
    assert [each.first for each in other if each not in known] == []


_ROWS = ("actions", "rewards", "terminations", "truncations")


def table(path: Path, **columns: Any) -> Path:
    """A dataset with one episode of given columns."""
    rows = {"observations": [0, 1], "actions": [0, 0], "rewards": [0.5, 0.0], "terminations": [True, False]}
    directory = path / "d-v0" / "data"
    (directory / "0").mkdir(parents=True)
    space = '{"type": "Discrete", "dtype": "int64", "start": 0, "n": 3}'
    content = {"data_format": "parquet", "observation_space": space, "action_space": space, "dataset_id": "../../x-v0"}
    (directory / "metadata.json").write_text(json.dumps(content))
    (directory / "0" / "metadata.json").write_text('{"id": 0, "total_steps": 1}')
    made = pa.table(
        {name: each for name, each in {**rows, "truncations": [True, False], **columns}.items() if each is not None}
    )
    pq.write_table(made, directory / "0" / "part-0.parquet")
    return path / "d-v0"


def test_dataset_id_that_is_a_path_leads_nowhere(tmp_path: Path) -> None:
    """It is a name, and nothing is written but at the destination."""
    source = table(tmp_path / "in")
    before = set(tmp_path.rglob("*"))
    convert(source, tmp_path / "out" / "copy-v0", "rlds_kit")
    assert {
        path for path in set(tmp_path.rglob("*")) - before if tmp_path / "out" not in (path, *path.parents)
    } == set()
    convert(tmp_path / "out" / "copy-v0", tmp_path / "out" / "back-v0", "minari")
    content = json.loads((tmp_path / "out" / "back-v0" / "data" / "metadata.json").read_text())
    assert content["dataset_id"] == "back-v0"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"actions": None}, "one column each"),
        ({"actions": ["a", "b"]}, "numbers"),
        ({"actions": [None, 0]}, "nulls"),
        ({"observations": [None, 0]}, "nulls"),
        ({"terminations": [1, 0]}, "truth values"),
        ({"infos": [1, 2]}, "infos by name"),
        ({"rewards": pa.array([1, 2], pa.timestamp("s"))}, "expected numbers, text"),
        ({"observations": pa.array(["a", "b"]).dictionary_encode()}, "expected numbers, text"),
    ],
)
def test_other_columns_are_refused(columns: dict[str, Any], said: str, tmp_path: Path) -> None:
    """With an error that says what was expected."""
    with pytest.raises(FormatError, match=said):
        convert(table(tmp_path, **columns), tmp_path / "ours")


@pytest.mark.parametrize("stored", STORED)
def test_tables_without_rows_are_refused(stored: str, tmp_path: Path) -> None:
    """An episode has one observation or more."""
    source = table(tmp_path, observations=pa.array([], pa.int64()), **dict.fromkeys(_ROWS, pa.array([], pa.int64())))
    (file,) = source.rglob("*.parquet")
    if stored == "arrow":
        found = pq.read_table(file)
        file.unlink()
        pa.ipc.new_file(file.with_suffix(".arrow"), found.schema).close()
        path = source / "data" / "metadata.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"data_format": "arrow"}))
    with pytest.raises(FormatError, match="expected"):
        convert(source, tmp_path / "ours")


@pytest.mark.parametrize("content", [b"ARROW1\0\0", b"ARROW1\0\0" + bytes(8), b"ARROW1", b""])
def test_files_of_nothing_are_refused(content: bytes, tmp_path: Path) -> None:
    """The begin of an Arrow file is none."""
    path = tmp_path / "part.arrow"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="expected an Arrow IPC file"):
        read_arrow(path)


def test_another_message_is_not_taken_for_a_schema(tmp_path: Path) -> None:
    """One byte in a file; with it pyarrow itself would read from anywhere in memory."""
    path = tmp_path / "part.arrow"
    schema = pa.schema([("a", pa.int64())])
    with pa.ipc.new_file(path, schema) as writer:
        writer.write_table(pa.table({"a": [1]}, schema))
    data = bytearray(path.read_bytes())
    begin = 16  # after the magic number, and the marker and length of the message
    root = begin + int.from_bytes(data[begin : begin + 4], "little")
    fields = root - int.from_bytes(data[root : root + 4], "little", signed=True)
    data[root + int.from_bytes(data[fields + 6 : fields + 8], "little")] = 3  # kind of the header: a batch of records
    path.write_bytes(data)
    with pytest.raises(FormatError, match="does not begin with a schema"):
        read_arrow(path)


def test_infos_with_nulls_and_lists_are_kept(tmp_path: Path) -> None:
    """A null is None; lists of one length or several are lists."""
    infos = pa.StructArray.from_arrays([pa.array([None, 3]), pa.array([[1], [2, 3]])], names=["a", "b"])
    convert(table(tmp_path, infos=infos), tmp_path / "ours")
    steps = rlds_kit.open(tmp_path / "ours").episodes[0].steps
    assert [step["info"] for step in steps] == [{"a": None, "b": [1]}, {"a": 3, "b": [2, 3]}]


@pytest.mark.parametrize("harm", ["link", "two", "none", "directory"])
def test_files_elsewhere_are_not_read(harm: str, tmp_path: Path) -> None:
    """One file in the directory of an episode, and no links."""
    source = table(tmp_path)
    file = source / "data" / "0" / "part-0.parquet"
    if harm == "two":
        (file.parent / "part-1.parquet").write_bytes(file.read_bytes())
    elif harm == "directory":
        file.parent.rename(tmp_path / "elsewhere")
        file.parent.symlink_to(tmp_path / "elsewhere")
    else:
        file.rename(tmp_path / "secret.parquet")
        if harm == "link":
            file.symlink_to(tmp_path / "secret.parquet")
    with pytest.raises(FormatError, match="no links"):
        convert(source, tmp_path / "ours")


def test_bombs_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    """Compressed zeros in Parquet, and any compression in Arrow."""
    pq.write_table(pa.table({"x": np.zeros(1 << 27, np.uint8)}), tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    with pytest.raises(FormatError, match="claim"):
        read_parquet(tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(file, pa.schema([("x", pa.float64())]), options=options) as writer:
            writer.write_table(pa.table({"x": np.zeros(1 << 20)}))
    with pytest.raises(FormatError, match="not compressed"):
        read_arrow(tmp_path / "a.arrow")


def test_one_text_in_many_rows_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size stands nowhere in the file: what was decoded is counted, a few rows at a time."""
    monkeypatch.setattr(decoded_size, "LARGE", 1 << 24)
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(4096, np.int32)), pa.array(["x" * (1 << 16)]))
    pq.write_table(pa.table({"x": texts}), tmp_path / "a.parquet", compression="zstd", store_schema=False)
    with pytest.raises(FormatError, match="claim"):
        read_parquet(tmp_path / "a.parquet")


def test_missing_pyarrow_is_an_error_with_the_line_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core does not need it."""
    source = table(tmp_path)
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.compute"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtraError, match="compat"):
        MinariReader(source)
