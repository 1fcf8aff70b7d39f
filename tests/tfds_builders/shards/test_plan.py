"""Plans: the content of every shard of a build."""

import pickle
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders.shards import BuildError, ShardSpec, plan
from rlds_kit.tfds_builders.shards.located_episodes import located
from tests.tfds_builders.shards.recorded import EPISODES, record


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> rlds_kit.Dataset:
    """What is planned."""
    return rlds_kit.open(record(tmp_path_factory.mktemp("recorded")))


def _ids(specs: list[ShardSpec]) -> list[object]:
    return [ref.id for spec in specs for ref in spec.episodes]


@pytest.mark.parametrize("format_", ["riegeli", "tfrecord", "array_record"])
def test_plan_is_the_same_every_time(format_: str, dataset: rlds_kit.Dataset) -> None:
    """Opened anew and planned anew, names, ids and times are equal: nothing comes from a clock or from chance."""
    one = plan(dataset, "out", format_, shards=4)  # type: ignore[arg-type]  # one of the three
    other = plan(rlds_kit.open(dataset.path), "out", format_, shards=4)  # type: ignore[arg-type]
    assert one == other
    assert one[0].digest == other[0].digest


def test_specs_are_picklable(dataset: rlds_kit.Dataset) -> None:
    specs = plan(dataset, "out", "tfrecord", shards=4)
    assert pickle.loads(pickle.dumps(specs)) == specs  # noqa: S301  our own


def test_order_is_that_of_the_dataset(dataset: rlds_kit.Dataset) -> None:
    """Every episode once, in order."""
    assert _ids(plan(dataset, "out", "tfrecord", shards=4)) == [episode.id for episode in dataset.episodes]


def test_shuffle_is_a_permutation_that_the_seed_decides(dataset: rlds_kit.Dataset) -> None:
    """Another seed gives another order of the same episodes."""
    orders = [_ids(plan(dataset, "out", "tfrecord", shuffle_seed=seed)) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert set(orders[0]) == set(orders[2]) == {episode.id for episode in dataset.episodes}


def test_views_are_planned_as_they_are(dataset: rlds_kit.Dataset) -> None:
    """`take` and `where` leave episodes out."""
    assert _ids(plan(dataset.take([5, 2]), "out", "tfrecord")) == [dataset.episodes[5].id, dataset.episodes[2].id]


def test_shards_of_our_own_format_do_not_mix_runs(dataset: rlds_kit.Dataset) -> None:
    """A shard's header has the metadata of one run, so there are at least as many shards as runs."""
    (one, other) = plan(dataset, "out", "riegeli", shards=1)
    runs = {episode.id: episode.run_metadata["run"] for episode in dataset.episodes}
    assert {runs[ref.id] for ref in one.episodes} == {0}
    assert {runs[ref.id] for ref in other.episodes} == {1}


def test_number_of_shards_follows_from_their_size(dataset: rlds_kit.Dataset) -> None:
    """A smaller target makes more shards, up to one for each episode."""
    counts = [len(plan(dataset, "out", "tfrecord", target_bytes=size)) for size in (10**9, 20_000, 1)]
    assert counts[0] == 1 < counts[1] < counts[2] == EPISODES


def test_names_are_those_of_tfds(dataset: rlds_kit.Dataset) -> None:
    """Dataset, split, format, number and count."""
    names = [spec.file for spec in plan(dataset, "out", "array_record", shards=2, name="pong")]
    assert names == ["pong-train.array_record-00000-of-00002", "pong-train.array_record-00001-of-00002"]


def test_stored_bytes_add_up_to_the_shards(dataset: rlds_kit.Dataset) -> None:
    """What episodes weigh is all of the files but their heads."""
    size = sum(path.stat().st_size for path in dataset.path.glob("*.riegeli"))
    assert 0.9 * size < sum(each.stored_bytes for each in located(dataset)) < size


def test_too_many_shards_are_refused(dataset: rlds_kit.Dataset) -> None:
    """Empty shards are useless."""
    with pytest.raises(BuildError, match="expected at most 9 shards, one for each episode, got 10"):
        plan(dataset, "out", "riegeli", shards=10)


@pytest.mark.parametrize("arguments", [{"shards": 0}, {"target_bytes": 0}])
def test_sizes_must_be_positive(arguments: dict[str, int], dataset: rlds_kit.Dataset) -> None:
    """The message names the argument."""
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name}: expected a number above 0"):
        plan(dataset, "out", "riegeli", **arguments)  # type: ignore[arg-type]  # both are numbers


def test_unknown_format_is_refused(dataset: rlds_kit.Dataset) -> None:
    """The message lists what there is."""
    with pytest.raises(ValueError, match="expected one of tfrecord, array_record, riegeli, got 'parquet'"):
        plan(dataset, "out", "parquet")  # type: ignore[arg-type]  # wrong on purpose


def test_selected_fields_are_refused_where_whole_episodes_are_copied(dataset: rlds_kit.Dataset) -> None:
    """Copied blocks have all fields."""
    with pytest.raises(ValueError, match="fields were selected"):
        plan(dataset.select("reward"), "out", "riegeli")


def test_dataset_without_episodes_is_refused(tmp_path: Path) -> None:
    """There is nothing to build."""
    EpisodeWriter(tmp_path / "empty").close()
    with pytest.raises(BuildError, match="there are none"):
        plan(rlds_kit.open(tmp_path / "empty"), "out", "riegeli")


def test_open_episode_is_refused(tmp_path: Path) -> None:
    """It is not whole yet."""
    with EpisodeWriter(tmp_path / "open", record_time=False) as writer, writer.episode() as episode:
        episode.start(0)
        writer.flush()
        with pytest.raises(BuildError, match="is being recorded"):
            plan(rlds_kit.open(tmp_path / "open", include_open=True), "out", "riegeli")
