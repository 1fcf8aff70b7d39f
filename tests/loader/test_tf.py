"""Episodes as `tf.data.Dataset`, against what `dataset.episodes` gives."""

import gc
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from hypothesis import given, settings

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd, SpecError
from rlds_kit import spec as specs
from rlds_kit.loader.step_arrays import StepArrays
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.stacking import spec_at
from tests.loader.recording import EpisodePlan, Plan, numbered, plain, plans, record, recorded
from tests.loader.truth import TrueEpisode, true_episodes
from tests.repetitions import repetitions
from tests.storage.truth import same

FLAGS = ("is_first", "is_last", "is_terminal")
ENDS = (
    EpisodePlan(9, EpisodeEnd.TERMINATED),
    EpisodePlan(1, EpisodeEnd.TRUNCATED),
    EpisodePlan(12, EpisodeEnd.TRUNCATED),
    EpisodePlan(5, EpisodeEnd.INTERRUPTED),
    EpisodePlan(6, EpisodeEnd.INCOMPLETE),
)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes whose observations count all steps, in blocks of four."""
    return numbered(tmp_path_factory.mktemp("counted"), (17, 1, 40, 8, 23, 2))


def _at_path(nest: Any, path: str) -> Any:
    for key in path.split("/"):
        nest = nest[int(key[1:-1])] if key.startswith("(") else nest[key.replace("~1", "/")]
    return nest


def _expected(value: Any, spec: specs.Spec) -> np.ndarray:
    """What TensorFlow should give for a recorded value, or for None where there is none."""
    if isinstance(spec, specs.Array):
        value = np.zeros([size or 0 for size in spec.shape], spec.dtype) if value is None else np.asarray(value)
        if value.dtype.kind == "U":
            return np.array([item.encode() for item in value.reshape(-1)], object).reshape(value.shape)
        return value.astype(value.dtype.newbyteorder("="))
    return np.array(b"" if value is None else value.encode(), object)


def _is_acted(truth: TrueEpisode, row: int) -> bool:
    parts = [leaf for path, leaf in truth.leaves.items() if path.split("/")[0] in ("action", "reward")]
    return any(leaf.defined[row] for leaf in parts)


def _assert_step(step: dict[str, Any], truth: TrueEpisode, row: int, spec: specs.Dict) -> None:
    for path, leaf in truth.leaves.items():
        value = leaf.values[row] if leaf.defined[row] else None
        if path == "step_index" and value is None:  # of a missing last observation, or of an episode without numbers
            value = leaf.values[row - 1] + 1 if row and leaf.defined[row - 1] else row
        found = spec_at(spec, path)
        assert found is not None
        got, wanted = np.asarray(_at_path(step, path)), _expected(value, found)
        if path.split("/")[0] == "discount" and value is None and _is_acted(truth, row):
            wanted = np.ones_like(wanted)  # zero would mean that the next step is terminal
        assert (got.tolist() == wanted.tolist()) if wanted.dtype == object else same(got, wanted), path
    for name in FLAGS:
        assert step[name] == truth.flags[name][row]


@pytest.mark.sweep
@given(plan=plans(max_episodes=3, max_length=12, info="none"))
@settings(max_examples=repetitions(40, least=16))
def test_steps_are_those_that_were_recorded(plan: Plan) -> None:
    """Every field of every step: nests, text, ragged arrays, gaps, missing final observations, whatever the end."""
    with recorded(plan) as dataset:
        names = [*plan.kinds, *(["step_index"] if "step_index" in dataset.spec.fields else [])]
        truths = true_episodes(dataset, names)
        episodes = dataset.as_tf_dataset(observation_valid=True)
        assert len(episodes) == len(truths)
        for episode, made, truth in zip(dataset.episodes, tfds.as_numpy(episodes), truths, strict=True):
            steps = list(made["steps"])
            assert len(steps) == truth.length
            assert made["episode_id"] == str(episode.id).encode()
            assert episode.end is not None
            assert made["end"] == episode.end.value.encode()
            observed = episode.mask("observation") if "observation" in episode.fields else np.ones(len(steps), bool)
            for row, step in enumerate(steps):
                _assert_step(step, truth, row, dataset.spec)
                assert step["observation_valid"] == observed[row]


@given(plan=plans(max_episodes=3, max_length=12, info="none").filter(lambda plan: plan.observation != "ragged"))
@settings(max_examples=15)
def test_dense_steps_are_the_steps_stacked(plan: Plan) -> None:
    """Both forms of an episode have the same values, dtypes and shapes."""
    with recorded(plan) as dataset:
        nested = dataset.as_tf_dataset(observation_valid=True)
        dense = dataset.as_dense_tf_dataset(observation_valid=True)
        assert len(nested) == len(dense) == len(dataset.episodes)
        for one, other in zip(nested, dense, strict=True):
            assert one.keys() == other.keys()
            stacked = one["steps"].batch(1000).get_single_element()
            tf.nest.assert_same_structure(stacked, other["steps"])
            for each, its in zip(tf.nest.flatten(stacked), tf.nest.flatten(other["steps"]), strict=True):
                assert each.dtype == its.dtype
                assert each.shape == its.shape
                assert same(each.numpy(), its.numpy())


def test_element_spec_says_dtypes_and_shapes() -> None:
    """Of nests, text, bytes and arrays of unknown dimensions; what is not known is None."""
    with recorded(plain(3, observation="ragged")) as dataset:
        element = dataset.as_tf_dataset().element_spec
        assert element["steps"].element_spec["observation"] == tf.TensorSpec([None, 2], tf.int32)
        assert element["episode_id"] == tf.TensorSpec([], tf.string)
    with recorded(plain(3, observation="dict")) as dataset:
        step = dataset.as_tf_dataset().element_spec["steps"].element_spec
        assert step["observation"]["pixels"] == tf.TensorSpec([4, 4], tf.uint8)
        assert step["observation"]["name"] == tf.TensorSpec([], tf.string)
        assert step["is_last"] == tf.TensorSpec([], tf.bool)


def test_values_without_elements_beside_ragged_ones(tmp_path: Path) -> None:
    """Neither kind disturbs the other."""
    spec = specs.Dict({"observation": specs.Array((None, 2), np.int8), "action": specs.Array((3, 0), np.float32)})
    with EpisodeWriter(tmp_path, spec, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.zeros((0, 2), np.int8))
        for rows in (2, 0, 1):
            episode.step(np.zeros((3, 0), np.float32), 0.5, np.full((rows, 2), rows, np.int8))
    (made,) = rlds_kit.open(tmp_path).as_tf_dataset()
    steps = list(tfds.as_numpy(made["steps"]))
    assert [step["observation"].tolist() for step in steps] == [[], [[2, 2], [2, 2]], [], [[1, 1]]]
    assert {step["action"].shape for step in steps} == {(3, 0)}


def test_an_empty_dataset_has_no_episodes(counted: Dataset) -> None:
    """Its elements are still known."""
    empty = counted.where(lambda _: False)
    assert list(empty.as_tf_dataset()) == []
    assert empty.as_dense_tf_dataset(metadata=["first"]).element_spec["steps"].keys() >= {"observation", "is_last"}


def test_an_open_episode_has_no_end_and_no_last_step() -> None:
    """As long as it is being recorded."""
    with recorded(Plan((EpisodePlan(5, EpisodeEnd.INCOMPLETE),)), include_open=True) as dataset:
        (episode,) = tfds.as_numpy(dataset.as_tf_dataset())
        assert episode["end"] == b""
        assert not any(step["is_last"] for step in episode["steps"])


def test_ends_are_distinguished() -> None:
    with recorded(Plan(ENDS)) as dataset:
        ends = [episode["end"].decode() for episode in tfds.as_numpy(dataset.as_dense_tf_dataset())]
        assert ends == [episode.end.value for episode in dataset.episodes if episode.end]
        assert set(ends) == {"terminated", "truncated", "interrupted", "incomplete"}


def test_cardinality_is_known_outside_and_inside_a_graph(counted: Dataset) -> None:
    """Of the episodes and of each one's steps."""
    episodes = counted.as_tf_dataset()
    assert len(episodes) == 6
    assert [len(episode["steps"]) for episode in episodes] == [17, 1, 40, 8, 23, 2]
    inside = episodes.map(lambda episode: episode["steps"].cardinality())
    assert list(inside.as_numpy_iterator()) == [17, 1, 40, 8, 23, 2]


def _reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows of every call that reads steps, from now on."""
    found: list[int] = []
    flat = StepArrays.flat

    def counting(self: StepArrays, number: int, rows: range) -> list[np.ndarray]:
        found.append(len(rows))
        return flat(self, number, rows)

    monkeypatch.setattr(StepArrays, "flat", counting)
    return found


@pytest.mark.parametrize("is_dense", [False, True])
def test_a_light_episode_is_read_with_one_call(
    counted: Dataset, monkeypatch: pytest.MonkeyPatch, is_dense: bool
) -> None:
    """Of Python by TensorFlow, with its facts and its steps; no other call reads its steps later."""
    calls, numpy_function = list[Any](), tf.numpy_function

    def counting(function: Any, *arguments: Any, **options: Any) -> Any:
        def called(*values: Any) -> Any:
            calls.append(values)
            return function(*values)

        return numpy_function(called, *arguments, **options)

    monkeypatch.setattr(tf, "numpy_function", counting)
    made = list(counted.as_dense_tf_dataset() if is_dense else counted.as_tf_dataset())
    steps = [
        each["steps"]["observation"] if is_dense else [step["observation"] for step in each["steps"]] for each in made
    ]
    assert [int(number) for each in steps for number in each] == list(range(91))
    assert len(calls) == 6


def test_a_light_episode_is_read_when_its_steps_are_while_much_memory_is_in_use(
    counted: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So episodes in a shuffle buffer have no steps in memory; the number of steps is known before they are read."""
    monkeypatch.setattr("rlds_kit.loader.memory.LENT_BYTES", 0)
    reads = _reads(monkeypatch)
    episodes = list(counted.as_tf_dataset())
    assert [len(episode["steps"]) for episode in episodes] == [17, 1, 40, 8, 23, 2]
    assert sum(reads) == 0
    assert [int(step["observation"]) for episode in episodes for step in episode["steps"]] == list(range(91))
    assert sum(reads) == 91


def test_the_usual_pipelines_work(counted: Dataset) -> None:
    """Shuffled, mapped, flat-mapped, interleaved, filtered, and `tfds.as_numpy`."""
    episodes = counted.as_tf_dataset()
    flattened = episodes.flat_map(lambda episode: episode["steps"])
    assert [step["observation"] for step in tfds.as_numpy(flattened)] == list(range(91))
    shuffled = episodes.shuffle(6, seed=1).flat_map(lambda episode: episode["steps"])
    numbers = [step["observation"] for step in tfds.as_numpy(shuffled)]
    assert numbers != list(range(91))
    assert sorted(numbers) == list(range(91))
    woven = episodes.interleave(lambda episode: episode["steps"], cycle_length=3, num_parallel_calls=2)
    assert sorted(step["observation"] for step in tfds.as_numpy(woven)) == list(range(91))
    long_ones = episodes.filter(lambda episode: episode["steps"].cardinality() > 10)
    assert len(list(long_ones)) == 3
    doubled = episodes.map(
        lambda episode: {**episode, "steps": episode["steps"].map(lambda step: {**step, "action": step["action"] * 2})}
    )
    assert [int(step["action"]) for step in next(iter(doubled))["steps"].take(3)] == [0, 2, 4]


def test_steps_outlive_the_dataset_they_came_from(counted: Dataset) -> None:
    """Nothing that they need is collected with it."""

    def first_steps() -> Any:
        return next(iter(counted.as_tf_dataset()))["steps"]

    steps = first_steps()
    gc.collect()
    assert [int(step["observation"]) for step in steps] == list(range(17))


def test_every_iteration_begins_anew(counted: Dataset) -> None:
    """Of the episodes and of the steps; two iterators do not disturb each other."""
    steps = next(iter(counted.as_tf_dataset()))["steps"]
    both = list(zip(steps, steps.skip(1), strict=False))
    assert [(int(one["observation"]), int(other["observation"])) for one, other in both] == list(
        itertools.pairwise(range(17))
    )


# Choosing what to read.


def test_selected_fields_only_and_always_the_flags(counted: Dataset) -> None:
    """RLDS knows no step without flags, and they cost nothing."""
    element = counted.select("reward").as_dense_tf_dataset().element_spec
    assert element["steps"].keys() == {"reward", *FLAGS}


def test_dtypes_convert(counted: Dataset) -> None:
    """Fields in the dtype that training wants."""
    steps = next(iter(counted.as_dense_tf_dataset(dtypes={"reward": np.float32})))["steps"]
    assert steps["reward"].dtype == tf.float32
    assert steps["reward"].numpy().tolist() == [number / 2 for number in range(1, 17)] + [0]


def test_metadata_come_with_each_episode(counted: Dataset) -> None:
    for episodes in (counted.as_tf_dataset(metadata=["first"]), counted.as_dense_tf_dataset(metadata=["first"])):
        assert episodes.element_spec["first"] == tf.TensorSpec([], tf.int64)
        assert [int(episode["first"]) for episode in episodes] == [0, 17, 18, 58, 66, 89]


def test_text_metadata(tmp_path: Path) -> None:
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode(metadata={"task": "Tür öffnen"}) as one:
        one.start(0)
    (episode,) = rlds_kit.open(tmp_path).as_tf_dataset(metadata=["task"])
    assert episode["task"].numpy().decode() == "Tür öffnen"


# What cannot be.


def _with_info(tmp_path: Path, *infos: Any) -> Dataset:
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0, note=infos[0])
        for info in infos[1:]:
            episode.step(action=0, reward=0.0, observation=0, note=info)
    return rlds_kit.open(tmp_path).select("observation", "note")


@pytest.mark.parametrize("infos", [(None, 1), ({"a": 1}, 2), ([1, "x"], [2])])
def test_a_field_of_objects_is_refused_by_name(tmp_path: Path, infos: tuple[Any, ...]) -> None:
    """There is no tensor for it, and the error says how to leave it out."""
    dataset = _with_info(tmp_path, *infos)
    with pytest.raises(SpecError, match=r"note.*TensorFlow has no tensor.*select"):
        dataset.as_tf_dataset()


def test_ragged_steps_are_no_dense_tensor() -> None:
    """The error says what to use instead."""
    refused = pytest.raises(SpecError, match=r"the shape of observation changes.*as_tf_dataset.*select")
    with recorded(plain(3, observation="ragged")) as dataset, refused:
        dataset.as_dense_tf_dataset()


def test_a_missing_final_observation_is_an_error_unless_steps_say_so() -> None:
    """Zeros would pass for an observation."""
    plan = Plan((EpisodePlan(3), EpisodePlan(4, lacks_observation=True)))
    with recorded(plan) as dataset:
        for episodes in (dataset.as_tf_dataset(), dataset.as_dense_tf_dataset()):
            with pytest.raises(
                tf.errors.OpError, match=r"episode 1 has no observation at step 3.*observation_valid=True"
            ):
                list(episodes.flat_map(lambda episode: _as_dataset(episode["steps"])))
        valid = [
            episode["steps"]["observation_valid"].numpy().tolist()
            for episode in dataset.as_dense_tf_dataset(observation_valid=True)
        ]
        assert valid == [[True] * 3, [True] * 3 + [False]]


def _as_dataset(steps: Any) -> Any:
    return steps if isinstance(steps, tf.data.Dataset) else tf.data.Dataset.from_tensor_slices(steps)


def test_damage_is_named(tmp_path: Path) -> None:
    """TensorFlow's error contains the message of ours."""
    numbered(tmp_path, (30,))
    (shard,) = tmp_path.glob("*.riegeli")
    raw = bytearray(shard.read_bytes())
    for at in range(2000, 6000, 100):  # among the images, which are noise
        raw[at] ^= 0xFF
    shard.write_bytes(raw)
    with pytest.raises(tf.errors.OpError, match="DamagedError"):
        list(rlds_kit.open(tmp_path).as_dense_tf_dataset())


# Gaps.


def test_gaps_show_in_step_index() -> None:
    """An episode without numbers of its own counts from zero, as one without gaps does."""
    plan = Plan((EpisodePlan(6, gaps=frozenset((2, 4))), EpisodePlan(3)), is_scheduled=True)
    with recorded(plan) as dataset:
        for episode, made in zip(dataset.episodes, dataset.as_dense_tf_dataset(), strict=True):
            index = made["steps"]["step_index"].numpy()
            assert index.dtype == np.int64
            assert index.tolist() == episode["step_index"].tolist()
            acted = np.diff(index) == 1
            assert acted.tolist() == episode.mask("action")[:-1].tolist()


@pytest.mark.parametrize("stretch", [1, 2 << 20])
def test_a_missing_last_observation_is_no_gap(stretch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its step has no number of its own, and follows the one before, whether they are read together or not."""
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", stretch)
    plan = Plan((EpisodePlan(6, gaps=frozenset((2,)), lacks_observation=True),), is_scheduled=True, block_rows=5)
    with recorded(plan) as dataset:
        recorded_index = dataset.episodes[0]["step_index"].tolist()
        (made,) = dataset.as_tf_dataset(observation_valid=True)
        index = [int(step["step_index"]) for step in made["steps"]]
        assert index == [*recorded_index[:5], recorded_index[4] + 1]
        assert (np.diff(index) == 1).tolist() == dataset.episodes[0].mask("action")[:-1].tolist()


def test_episodes_without_numbers_of_steps_are_numbered(tmp_path: Path) -> None:
    """Where other episodes of the dataset have them."""
    for index in ({"step_index": 0}, {}):
        with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
            episode.start(0, **index)
            episode.step(0, 0.0, 0, **dict.fromkeys(index, 7))  # type: ignore[arg-type]  # it is no flag
    found = [
        episode["steps"]["step_index"].numpy().tolist()
        for episode in rlds_kit.open(tmp_path).select("observation").as_dense_tf_dataset()
    ]
    assert sorted(found) == [[0, 1], [0, 7]]


def test_numbers_go_on_from_stretch_to_stretch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", 1)
    plan = Plan((EpisodePlan(20), EpisodePlan(3, gaps=frozenset((1,)))), is_scheduled=True)
    without = Plan((EpisodePlan(20),))
    for each in (plan, without):
        with Recorder(tmp_path, each.declared, policy=FlushPolicy(block_rows=4, interval=None)) as recorder:
            record(recorder, each)
    episodes = {
        tuple(int(step["step_index"]) for step in episode["steps"])
        for episode in rlds_kit.open(tmp_path).as_tf_dataset()
        if len(episode["steps"]) == 20
    }
    assert episodes == {tuple(range(20))}


# Long episodes.


@pytest.mark.thorough  # 800 MB
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for the memory of this process")
def test_a_long_episode_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    """Iterating over 800 MB of one episode's steps uses only a part of that memory, which depends on the allocator."""
    frame = np.zeros((200, 200), np.uint8)
    spec = specs.Dict({"observation": specs.Array((200, 200), np.uint8)})
    with EpisodeWriter(tmp_path, spec, record_time=False) as writer:
        for length in (3, 20_000):
            with writer.episode() as episode:
                episode.start(frame)
                for number in range(length):
                    frame[0, 0] = number % 256
                    episode.step(action=0, reward=0.0, observation=frame)
    short, long = rlds_kit.open(tmp_path).select("observation").as_tf_dataset()
    assert len(list(short["steps"])) == 4  # now TensorFlow has its initial memory
    before, most = _resident_bytes(), 0
    for number, step in enumerate(long["steps"].skip(1)):
        assert int(step["observation"][0, 0]) == number % 256
        most = max(most, _resident_bytes())
    assert number == 19_999
    assert most - before < 250 << 20


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# With the transformations.


def test_transformations_take_both_forms() -> None:
    """Transitions of dense and of nested steps are those of the loader."""
    from rlds_kit import transformations as rlt

    plan = Plan((EpisodePlan(6, gaps=frozenset((2,))), EpisodePlan(4, EpisodeEnd.TRUNCATED)), is_scheduled=True)
    with recorded(plan) as dataset:
        truth = dataset.transitions().gather(range(len(dataset.transitions())))
        dense = dataset.as_dense_tf_dataset().map(lambda episode: rlt.transitions(episode["steps"])).unbatch()
        nested = dataset.as_tf_dataset().flat_map(lambda episode: rlt.transitions(episode["steps"]))
        for made in (dense, nested):
            (batch,) = tfds.as_numpy(made.batch(1000))
            for name in ("observation", "action", "reward", "next_observation", "next_is_terminal"):
                assert np.array_equal(batch[name], truth[name])
