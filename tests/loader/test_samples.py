"""Samples as a sequence: by number, in slices, many at once, from many threads."""

import itertools
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.loader.pool import converted
from rlds_kit.loader.samples import Samples
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.recorder import Recorder
from tests.loader.recording import Plan, numbered, plain, plans, recorded, select_all
from tests.loader.truth import flat
from tests.storage.truth import same

LENGTHS = (9, 1, 20, 8, 12)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Five episodes in three shards."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS)


def _same_samples(some: list[Any], others: list[Any]) -> bool:
    """Whether samples, without a leading dimension, are the same."""
    return len(some) == len(others) and all(
        same(_flat(one), _flat(other)) for one, other in zip(some, others, strict=True)
    )


def _flat(nest: Any, path: str = "") -> dict[str, Any]:
    items = nest.items() if isinstance(nest, dict) else enumerate(nest) if isinstance(nest, tuple) else None
    if items is None:
        return {path: nest}
    return {key: value for name, item in items for key, value in _flat(item, f"{path}/{name}").items()}


def test_samples_are_a_sequence(dataset: Dataset) -> None:
    """Length, index, negative index, iteration, and reversed."""
    samples = dataset.select("observation").windows(2)
    assert len(samples) == sum(length - 1 for length in LENGTHS)
    firsts = [int(sample["observation"][0]) for sample in samples]
    assert [int(samples[number]["observation"][0]) for number in range(len(samples))] == firsts
    assert [int(samples[number - len(samples)]["observation"][0]) for number in range(len(samples))] == firsts
    assert [int(sample["observation"][0]) for sample in reversed(samples)] == firsts[::-1]
    assert samples[np.int64(3)]["observation"].tolist() == [3, 4]  # type: ignore[call-overload]  # an index all the same


@pytest.mark.parametrize("cut", [slice(1, 5), slice(None, None, -7), slice(-3, None), slice(5, 1), slice(0, 999, 9)])
def test_slices_are_lists(dataset: Dataset, cut: slice) -> None:
    samples = dataset.windows(3)
    assert _same_samples(samples[cut], [samples[number] for number in range(len(samples))[cut]])


def test_one_sample_has_no_leading_dimension(dataset: Dataset) -> None:
    """Fields are `[length, ...]` of a window, and `[...]` of a transition."""
    window = dataset.windows(3)[0]
    assert (window.pop("episode"), window.pop("step")) == (0, 0)
    assert {path: array.shape for path, array in flat(window).items()} == {
        "observation": (3,),
        "image": (3, 16, 16),
        "action": (3,),
        "reward": (3,),
        **dict.fromkeys(("is_first", "is_last", "is_terminal", "mask"), (3,)),
        **dict.fromkeys(("valid/observation", "valid/image", "valid/action", "valid/reward"), (3,)),
    }
    transition = dataset.transitions()[0]
    assert transition["image"].shape == (16, 16)
    assert (transition["observation"], transition["next_observation"], transition["is_first"]) == (0, 1, True)


@given(plan=plans(max_episodes=3, max_length=20), data=st.data())
@settings(max_examples=25)
def test_gather_is_what_the_samples_are_one_by_one(plan: Plan, data: st.DataObject) -> None:
    """In any order, repeated, counted from the end, and whatever was recorded."""
    with recorded(plan) as dataset:
        view = select_all(dataset, plan.kinds)
        samples = data.draw(st.sampled_from([view.windows(2, pad="zero"), view.transitions(2)]))
        numbers = st.integers(-len(samples), len(samples) - 1)
        chosen = data.draw(st.lists(numbers, max_size=8)) if len(samples) else []
        batch = samples.gather(chosen)
        assert all(len(array) == len(chosen) for array in flat(batch).values())
        split = samples.__getitems__(chosen)
        assert _same_samples(split, [samples[number] for number in chosen])


@pytest.mark.parametrize("numbers", [[0, 44], [44], [45, -46], [-47], np.array([10**15])])
def test_there_is_no_other_sample(dataset: Dataset, numbers: Any) -> None:
    """An index out of range is an IndexError that says how many there are."""
    samples = dataset.windows(2)
    assert len(samples) == 45
    numbers = [*numbers, 45]
    with pytest.raises(IndexError, match="there are 45 samples, there is no sample"):
        samples.gather(numbers)
    for number in (45, -46, 10**30):
        with pytest.raises(IndexError, match="there are 45 samples"):
            samples[number]


@pytest.mark.parametrize("numbers", [[1.5], np.array([True, False]), ["0"], [None], np.array([1.0])])
def test_numbers_of_samples_are_integers(dataset: Dataset, numbers: Any) -> None:
    """A mask, or a number that would be cut, is not taken for something else."""
    with pytest.raises(TypeError, match="expected integers"):
        dataset.windows(2).gather(numbers)


@pytest.mark.parametrize("index", [1.0, "observation", None])
def test_an_index_is_an_integer(dataset: Dataset, index: Any) -> None:
    """A field's name belongs to a batch, not to the samples."""
    with pytest.raises(TypeError, match="expected the number of a sample to be an integer"):
        dataset.windows(2)[index]


@pytest.mark.parametrize("empty", [[], np.array([], np.int64), np.array([]), ()])
def test_gathering_nothing_gives_empty_arrays(dataset: Dataset, empty: Any) -> None:
    """Of the shapes and dtypes that any batch has."""
    kinds: list[Samples] = [
        dataset.windows(3),
        dataset.windows(3, pad="zero"),
        dataset.chunks({"image": [0, 1], "action": [0], "is_last": [0]}),
        dataset.transitions(3),
    ]
    for samples in kinds:
        some, none = flat(samples.gather([0, 1])), flat(samples.gather(empty))
        assert {path: (array.dtype, (0, *array.shape[1:])) for path, array in some.items()} == {
            path: (array.dtype, array.shape) for path, array in none.items()
        }


def test_an_empty_view_has_the_same_fields(dataset: Dataset) -> None:
    """Where no episode is left, dtypes and shapes still are."""
    none = dataset.where(lambda _: False).transitions()
    assert len(none) == 0
    assert list(none) == []
    expected = {path: array.dtype for path, array in flat(dataset.transitions().gather([0])).items()}
    assert {path: array.dtype for path, array in flat(none.gather([])).items()} == expected


def test_where_a_sample_is_from(dataset: Dataset) -> None:
    """Every sample says which episode of the view it is of, and its first step, or the one that it is around."""
    view = dataset.take([2, 0, 3])
    steps = [[int(number) for number in episode["observation"]] for episode in view.episodes]
    for samples, offset in (
        (view.windows(3, 2), 0),
        (view.chunks({"observation": [-1, 0]}), 1),
        (view.transitions(), 0),
    ):
        batch = samples.gather(range(len(samples)))
        first = batch["observation"].reshape(len(samples), -1)[:, offset].tolist()
        places = zip(batch["episode"].tolist(), batch["step"].tolist(), strict=True)
        assert [steps[episode][step] for episode, step in places] == first
        assert batch["episode"].dtype == batch["step"].dtype == np.int64


def test_a_view_has_samples_of_its_episodes(dataset: Dataset) -> None:
    """`where` and `take` choose episodes, in their order."""
    starts = np.cumsum((0, *LENGTHS)).tolist()
    taken = dataset.take([4, 0]).select("observation").windows(1)
    numbers = taken.gather(range(len(taken)))["observation"][:, 0].tolist()
    assert numbers == [*range(starts[4], starts[5]), *range(9)]
    chosen = dataset.where(lambda metadata: metadata["first"] == starts[2]).windows(20)
    assert len(chosen) == 1
    assert chosen[0]["observation"].tolist() == list(range(10, 30))


def test_dtypes_are_as_recorded() -> None:
    """Every observation and action comes in the very dtype, byte order included, also in batches made of pieces."""
    for name in ("bfloat16", "big-endian", "image", "fixed text", "scalar"):
        with recorded(plain(3, observation=name, action="continuous", reward="float32")) as dataset:
            batch = next(iter(dataset.windows(2).batches(2, memory=1)))
            for field in ("observation", "action", "reward"):
                recorded_dtype = dataset.episodes[0][field].dtype
                assert batch[field].dtype == recorded_dtype
                assert batch[field].dtype.byteorder == recorded_dtype.byteorder


def test_values_of_objects_are_exactly_as_given() -> None:
    """Of fields whose values are of several kinds each value has its own type, whatever is read beside it."""
    with recorded(plain(30, 30, info="several types", block_rows=3)) as dataset:
        given_values = [step["info"] for episode in dataset.episodes for step in episode.steps]
        samples = dataset.select("info").windows(1)
        for size in (1, 7, 60):
            batches = samples.batches(size, memory=size * 200)
            read = [value for batch in batches for value in batch["info"][:, 0]]
            assert all(same(one, other) for one, other in zip(read, given_values, strict=True))


def test_an_undefined_object_is_none() -> None:
    """Wherever the column it is missing from begins and ends; zero would be a value."""
    with recorded(plain(40, 40, info="optional", block_rows=3)) as dataset:
        batch = dataset.select("info/bonus").windows(1).gather(range(80))
        defined = batch["valid"]["info"]["bonus"][:, 0]
        bonus = batch["info"]["bonus"][:, 0]
        assert [value is not None for value in bonus] == defined.tolist()
        assert 0 < defined.sum() < 80


def test_eight_threads_gather_at_once(dataset: Dataset) -> None:
    """Samples can be requested from any thread."""
    samples = dataset.windows(4, pad="repeat")
    numbers = [np.random.default_rng(seed).integers(0, len(samples), 20) for seed in range(8)]
    expected = [flat(samples.gather(each)) for each in numbers]
    fresh = dataset.windows(4, pad="repeat")
    wrong: list[int] = []
    start = threading.Barrier(8)

    def gather(seed: int) -> None:
        start.wait()
        found = [flat(fresh.gather(numbers[seed])) for _ in range(15)]
        wrong.extend(seed for each in found if not same(each, expected[seed]))

    threads = [threading.Thread(target=gather, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_samples_are_cheap_to_pickle(dataset: Dataset) -> None:
    """Also after they were used: nothing that was read travels."""
    samples = dataset.windows(3)
    before = len(pickle.dumps(samples))
    samples.gather(range(len(samples)))
    after = len(pickle.dumps(samples))
    assert before < 20_000
    assert after < before + 3_000
    arrived = pickle.loads(pickle.dumps(samples))  # noqa: S301  our own
    assert len(arrived) == len(samples)
    assert same(flat(arrived.gather(range(5))), flat(samples.gather(range(5))))


def test_repr_says_what_they_are(dataset: Dataset) -> None:
    """How many, of what, from where."""
    assert repr(dataset.windows(3)) == (
        f"<{len(dataset.windows(3))} samples of {dataset.path}: Windows(length=3, stride=1, pad='none')>"
    )


@pytest.mark.parametrize("block_rows", [1, 3, 64])
@pytest.mark.parametrize("observation", ["image", "large image"])
def test_samples_cross_blocks(block_rows: int, observation: str) -> None:
    """However steps were cut into blocks, and however many of a block are wanted."""
    with recorded(plain(50, 30, observation=observation, block_rows=block_rows)) as dataset:
        truth = np.concatenate([episode["observation"] for episode in dataset.episodes])
        samples = dataset.chunks({"observation": [0, 5]})
        starts = [*range(45), *range(50, 75)]
        dice = np.random.default_rng(0)
        for count in (1, 3, 20, 70):
            chosen = dice.choice(70, count, replace=False)
            rows = np.array(starts)[chosen]
            batch = samples.gather(chosen)
            assert np.array_equal(batch["observation"], np.stack([truth[rows], truth[rows + 5]], 1))


def test_a_value_of_another_dtype_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    """Actions are recorded as they are given, so a loader may find one that does not fit its spec."""
    dataset = _odd_actions(tmp_path, [np.array([2**24 + 1, 2])] * 3)  # no float represents every int64
    with pytest.raises(rlds_kit.SpecError, match=r"action of dtype float32 .* has dtype int64 .*'action': 'int64'"):
        dataset.transitions().gather(range(3))
    read = dataset.transitions(dtypes={"action": "int64"}).gather(range(3))["action"]
    assert read.tolist() == [[2**24 + 1, 2]] * 3
    rounded = dataset.transitions(dtypes={"action": "float32"}).gather(range(3))["action"]
    assert rounded.tolist() == [[2.0**24, 2.0]] * 3
    with pytest.raises(rlds_kit.SpecError, match="expected action of dtype float32"):
        list(dataset.transitions().batches(2))
    assert dataset.select("observation").transitions().gather(range(3))["observation"].tolist() == [0, 1, 2]


def test_a_wider_dtype_widens_the_field(tmp_path: Path) -> None:
    """What was declared as float32 and came as float64 is read as float64, whatever its values; `dtypes` rounds."""
    dataset = _odd_actions(tmp_path, [np.array([0.5, 2.0], np.float32), *[np.array([0.1, 0.2])] * 2])
    read = dataset.transitions().gather(range(3))["action"]
    assert read.dtype == np.float64
    assert read.tolist() == [[0.5, 2.0], [0.1, 0.2], [0.1, 0.2]]
    rounded = dataset.transitions(dtypes={"action": "float32"}).gather(range(3))["action"]
    assert rounded.tolist() == np.array([[0.5, 2.0], [0.1, 0.2], [0.1, 0.2]], np.float32).tolist()


def test_none_in_place_of_an_array_is_an_object(tmp_path: Path) -> None:
    """There is no array of it, and a dtype is refused."""
    dataset = _odd_actions(tmp_path, [np.ones(2, np.float32), None, np.ones(2, np.float32)])
    read = dataset.transitions().gather(range(3))["action"]
    assert (read.dtype, read[1]) == (object, None)
    assert read[0].tolist() == read[2].tolist() == [1.0, 1.0]
    with pytest.raises((KeyError, rlds_kit.SpecError), match="action"):
        dataset.transitions(dtypes={"action": "float32"}).gather(range(3))


@pytest.mark.parametrize(
    ("given_values", "dtype"),
    [
        ([1.0, 300.0], "uint8"),
        ([1.0, -1.0], "uint8"),
        ([1.0, 0.5], "int64"),
        ([1.0, np.nan], "int32"),
        ([2.0, 0.0], "bool"),
        ([1.0, 65536.0], "float16"),
    ],
)
def test_a_conversion_never_makes_another_number(tmp_path: Path, given_values: list[float], dtype: str) -> None:
    """Digits may be lost, as of a float64 in float32; what has no place in a dtype is an error."""
    dataset = _odd_actions(tmp_path, [np.array(given_values, np.float32)] * 2)
    with pytest.raises(rlds_kit.SpecError, match=f"action has values that {dtype} cannot hold"):
        dataset.transitions(dtypes={"action": dtype}).gather(range(2))
    rounded = dataset.transitions(dtypes={"action": "bfloat16"}).gather(range(2))["action"]
    assert same(rounded, np.array([given_values] * 2, np.float32).astype("bfloat16"))


@pytest.mark.parametrize(
    ("recorded_as", "number", "dtype"),
    [
        (np.int8, -1, "uint8"),
        (np.uint8, 255, "int8"),
        (np.int64, -1, "uint64"),
        (np.uint64, 2**64 - 1, "int64"),
        (np.float64, 1e300, "float32"),
        (np.float64, -1e300, "bfloat16"),
        (np.float64, 2.0**63, "int64"),
        (np.complex64, 1 + 1j, "float32"),
        (np.complex64, 1 + 1j, "int32"),
    ],
)
def test_a_conversion_neither_wraps_round_nor_overflows(recorded_as: Any, number: complex, dtype: str) -> None:
    """What comes back unchanged from a dtype of the same size may have been another number there."""
    with pytest.raises(rlds_kit.SpecError, match=f"action has values that {dtype} cannot hold"):
        converted("action", np.array([recorded_as(1), recorded_as(number)]), np.dtype(dtype))
    assert converted("action", np.array([recorded_as(1)]), np.dtype(dtype)).astype(float).tolist() == [1]


def test_a_made_discount_is_converted_like_any_field(tmp_path: Path) -> None:
    """Where no discounts were selected it is `gamma`, which is no integer."""
    samples = numbered(tmp_path, (4,)).select("observation").transitions(gamma=0.5, dtypes={"discount": "int32"})
    with pytest.raises(rlds_kit.SpecError, match="discount has values that int32 cannot hold"):
        samples.gather([0])


def test_one_dtype_for_all_fields_is_refused(tmp_path: Path) -> None:
    """The error shows how to name a field."""
    with pytest.raises(TypeError, match=r"""expected dtypes by field, such as {"reward": np.float32}, got 'float32'"""):
        numbered(tmp_path, (4,)).transitions(dtypes="float32")  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    "actions",
    [
        [np.ones(3, np.float32)] * 3,
        [np.ones(1, np.float32)] * 3,
        [np.ones(2, np.float32), np.ones(3, np.float32), np.ones(2, np.float32)],
        ["left"] * 3,
        [np.ones(2, np.float32), {"arm": 1.0}, np.ones(2, np.float32)],
    ],
)
@pytest.mark.parametrize("dtypes", [None, {"action": "float32"}])
def test_a_value_of_another_shape_or_kind_is_an_error(tmp_path: Path, actions: list[Any], dtypes: Any) -> None:
    """No value is stretched to fit, and no dtype would help: the error names `select`."""
    dataset = _odd_actions(tmp_path, actions)
    with pytest.raises(rlds_kit.SpecError, match=r"expected action of dtype float32 and shape \(2,\), but .*`select`"):
        dataset.transitions(dtypes=dtypes).gather(range(3))


def _odd_actions(directory: Path, actions: list[Any]) -> Dataset:
    spec = specs.Dict({"observation": specs.Array((), np.int64), "action": specs.Array((2,), np.float32)})
    with Recorder(directory, spec) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 0})
        for number, action in enumerate(actions, 1):
            episode.append({"observation": number}, {"action": action})
        episode.end(EpisodeEnd.TRUNCATED)
    return rlds_kit.open(directory)


def test_data_recorded_without_a_spec(tmp_path: Path) -> None:
    """Observation, action, reward and discount are served as they turned up; other dynamic fields when selected."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.float32(0), note="a")
        for number in range(1, 4):
            episode.step(number, float(number), np.float32(number), note="b", discount=0.5)
    dataset = rlds_kit.open(tmp_path)
    batch = dataset.transitions(2).gather(range(3))
    assert batch["action"].tolist() == [1, 2, 3]
    assert batch["reward"].tolist() == [2, 3.5, 3]
    assert batch["next_observation"].dtype == np.float32
    assert "note" not in batch
    assert list(dataset.select("note").windows(2).gather([0])["note"][0]) == ["a", "b"]


def test_fields_with_slashes_in_their_names(tmp_path: Path) -> None:
    """A field's own name comes before a path, in `select`, offsets and dtypes alike."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        first: dict[str, Any] = {"a/b": 1, "(0)": 2}
        second: dict[str, Any] = {"a/b": 3, "(0)": 4}
        episode.start(0, **first)
        episode.step(0, 0.0, 1, **second)
    dataset = rlds_kit.open(tmp_path).select("a/b", "(0)")
    batch = dataset.windows(2, dtypes={"a/b": "float32"}).gather([0])
    assert (batch["a/b"].tolist(), batch["a/b"].dtype) == ([[1, 3]], np.float32)
    assert batch["(0)"].tolist() == [[2, 4]]
    assert dataset.chunks({"a/b": [1, 0]}).gather([0])["a/b"].tolist() == [[3, 1]]
    assert list(itertools.chain(*batch["valid"]["(0)"].tolist())) == [True, True]
