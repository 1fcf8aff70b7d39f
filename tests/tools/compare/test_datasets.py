"""Comparing datasets."""

import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd, spec
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.compare import Report, diff
from rlds_kit.tools.upkeep.rechunk import rechunk
from tests.tools.compare.recording import opened, record
from tests.tools.compare.rewriting import rewrite
from tests.tools.upkeep import mending


def _found(report: Report) -> list[tuple[Any, ...]]:
    return [(each.field, each.kind, each.first.episode_a, each.first.step) for each in report.fields]


def test_copy_in_other_blocks_is_equal_by_digest_alone(tmp_path: Path) -> None:
    """Nothing is decoded, and the layout plays no part."""
    a = opened(tmp_path / "a")
    rechunk(a.path, tmp_path / "b", block_rows=64)
    report = diff(a, rlds_kit.open(tmp_path / "b"))
    assert (report.equal, report.match, report.pairs, report.by_digest) == (True, "id", 3, 3)


def test_same_run_again_is_equal_by_order(tmp_path: Path) -> None:
    """Ids and clock times play no part."""
    report = diff(opened(tmp_path / "a"), opened(tmp_path / "b", block_rows=5))
    assert (report.equal, report.match, report.by_digest) == (True, "order", 3)


def test_all_kinds_of_fields_are_equal_when_decoded(tmp_path: Path) -> None:
    """Optional, ragged, text and nested values in blocks of other lengths; without digests, as after a crash."""
    a = mending.record_and_die(tmp_path / "a")
    b = tmp_path / "b"
    shutil.copytree(a, b)
    report = diff(rlds_kit.open(a), rlds_kit.open(b))
    assert (report.equal, report.by_digest < report.pairs) == (True, True)


def test_long_episodes_are_equal_across_blocks_of_any_length(tmp_path: Path) -> None:
    """Stretches reach over the edges of blocks on either side."""
    a = mending.record(tmp_path / "a", lengths=(200,), interleaved=False)
    rechunk(a, tmp_path / "b", block_rows=37)
    rewritten = rewrite(tmp_path / "b", tmp_path / "c", metadata={"new": 1})
    assert _found(diff(rlds_kit.open(a), rewritten, fields=["observation", "action", "reward", "info"])) == []


@pytest.mark.parametrize(
    ("field", "row", "changed"),
    [("observation", 13, "observation"), ("reward", 17, "reward"), ("action", 9, "action"), ("info", 11, "info/new")],
)
def test_one_changed_value_is_found_at_its_step(tmp_path: Path, field: str, row: int, changed: str) -> None:
    """Episode, step and field are reported, and no other differences."""
    a = record(tmp_path / "a", game="MountainCar-v0")

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (1, row):
            values[field] = {"new": 1} if field == "info" else values[field] + 1

    report = diff(rlds_kit.open(a), rewrite(a, tmp_path / "b", change))
    assert [found[0] for found in _found(report)] == [changed]
    first = report.fields[0].first
    assert (first.episode_a, first.episode_b, first.step) == (1, 1, row)
    assert (report.differing, report.by_digest) == (1, 2)


def test_sizes_of_differences_are_added_up(tmp_path: Path) -> None:
    """How many steps, how many elements, and the largest difference of all."""
    a = record(tmp_path / "a", episodes=1)

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if step in (2, 5):
            values["observation"] = values["observation"] + np.array([0, step, step, 0], np.float32)

    (found,) = diff(rlds_kit.open(a), rewrite(a, tmp_path / "b", change)).fields
    assert (found.field, found.kind, found.count, found.values) == ("observation", "value", 2, 4)
    assert found.max_difference == pytest.approx(5, abs=1e-6)


def test_types_are_distinguished(tmp_path: Path) -> None:
    """The same number in another type is a difference, with nothing between the numbers."""
    a = record(tmp_path / "a", episodes=1)

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        values["action"] = int(values["action"])

    (found,) = diff(rlds_kit.open(a), rewrite(a, tmp_path / "b", change)).fields
    assert (found.field, found.kind, found.max_difference) == ("action", "type", 0)
    assert (found.first.a[:8], found.first.b) == ("np.int64", found.first.a[9:-1])


def test_metadata_seed_and_end_are_compared(tmp_path: Path) -> None:
    """What is known about an episode is part of it."""
    for name, seed, end in (("a", 1, EpisodeEnd.TRUNCATED), ("b", 2, EpisodeEnd.TERMINATED)):
        with EpisodeWriter(tmp_path / name, record_time=False) as writer:
            episode = writer.episode(metadata={"score": {"best": seed}}, seed=seed)
            episode.start(0)
            episode.end(end, terminated=end is EpisodeEnd.TERMINATED, truncated=end is EpisodeEnd.TRUNCATED)
    report = diff(rlds_kit.open(tmp_path / "a"), rlds_kit.open(tmp_path / "b"))
    assert {each.field for each in report.fields} == {"end", "terminated", "truncated", "metadata/score/best", "seed"}


def test_shorter_episode_differs_in_length(tmp_path: Path) -> None:
    """The steps that both have are compared nevertheless."""
    for name, steps in (("a", 5), ("b", 3)):
        with EpisodeWriter(tmp_path / name, record_time=False) as writer, writer.episode() as episode:
            episode.start(0)
            for step in range(steps):
                episode.step(step, float(step == 1 and steps == 3), step)
    report = diff(rlds_kit.open(tmp_path / "a"), rlds_kit.open(tmp_path / "b"))
    # On the last step of the shorter one there is no action.
    assert [(each.field, each.kind) for each in report.fields] == [
        ("length", "value"),
        ("reward", "value"),
        ("action", "missing"),
        ("reward", "missing"),
    ]


def test_spec_and_environment_are_compared(tmp_path: Path) -> None:
    """Bounds and ids are lost by some formats; versions are no difference."""
    for name, most in (("a", 5), ("b", None)):
        declared = spec.Dict({"observation": spec.Array((), np.int64, maximum=most)})
        environment = {"id": name, "versions": {"numpy": name}}
        with EpisodeWriter(tmp_path / name, declared, environment=environment, record_time=False) as writer:
            writer.episode().start(1)
    report = diff(rlds_kit.open(tmp_path / "a"), rlds_kit.open(tmp_path / "b"))
    assert [each.field for each in report.fields] == ["spec/observation/maximum", "environment/id"]


def test_episodes_of_one_side_are_listed(tmp_path: Path) -> None:
    """By id where ids are shared, whatever their places."""
    a = opened(tmp_path / "a")
    report = diff(a.take([0, 2]), a.take([2, 1]))
    assert (report.match, report.pairs, report.only_a, report.only_b) == ("id", 1, (0,), (1,))
    assert not report.equal


def test_other_order_is_a_difference_but_not_to_digests(tmp_path: Path) -> None:
    """Episodes that are paired by id stand in an order; a set of digests has none."""
    a = opened(tmp_path / "a")
    turned = a.take([2, 0, 1])
    assert (diff(a, turned).equal, diff(a, turned).reordered) == (False, 1)
    assert diff(a, turned, match="digest").equal
    assert not diff(a, turned, match="order").equal


def test_only_the_fields_that_are_named_are_compared(tmp_path: Path) -> None:
    """Also by path into a nest; other metadata is then no difference."""
    a = record(tmp_path / "a", episodes=1)

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        values["reward"] = 7.0

    other = rewrite(a, tmp_path / "b", change, metadata={"by": "hand"})
    assert diff(rlds_kit.open(a), other, fields=["observation", "action", "is_last"]).equal
    assert [each.field for each in diff(rlds_kit.open(a), other, fields=["reward"]).fields] == ["reward"]


def test_unknown_field_is_refused(tmp_path: Path) -> None:
    """Else a slip of the pen would make everything equal."""
    a = opened(tmp_path / "a")
    with pytest.raises(KeyError, match="there is no field 'rewards'"):
        diff(a, a, fields=["rewards"])


def test_views_are_compared_as_they_are(tmp_path: Path) -> None:
    """What `select` left out is no difference, unless only one side left it out."""
    a = opened(tmp_path / "a")

    def change(_episode: int, _step: int, row: dict[str, Any]) -> None:
        row["reward"] += 1

    b = rewrite(a.path, tmp_path / "b", change)
    assert not diff(a, b).equal
    assert diff(a.select("observation", "action", "is_last"), b.select("observation", "action")).equal
    assert {each.field for each in diff(a.select("reward"), b.select("reward")).fields} == {"reward"}
    halves = diff(a.select("reward"), a)
    assert {each.kind for each in halves.fields} == {"missing"}
    assert "reward" not in {each.field for each in halves.fields}
    assert {"observation", "spec/observation"} <= {each.field for each in halves.fields}
    assert diff(a.select(), b.select()).equal
    assert diff(a.select("reward"), b.select("reward"), fields=["action"]).equal


def test_limit_bounds_what_is_listed_and_not_what_is_counted(tmp_path: Path) -> None:
    """The first differences are listed in order."""
    a, b = (rlds_kit.open(mending.record(tmp_path / name, seed=seed)) for name, seed in (("a", 0), ("b", 1)))
    few, many = diff(a, b, limit=3), diff(a, b, limit=1000)
    assert (len(few.first), few.first, few.fields) == (3, many.first[:3], many.fields)
    assert len(many.first) == sum(each.count for each in many.fields)


def test_clocks_are_compared_where_they_are_named(tmp_path: Path) -> None:
    """Digests do not cover them, so equal digests do not prove equality then."""
    for name in ("a", "b"):
        with EpisodeWriter(tmp_path / name) as writer, writer.episode() as episode:
            episode.start(0)
            for step in range(50):
                episode.step(step, 0.0, step)
    a, b = rlds_kit.open(tmp_path / "a"), rlds_kit.open(tmp_path / "b")
    assert diff(a, b).equal
    assert [each.field for each in diff(a, b, fields=["time_ns"]).fields] == ["time_ns"]


def test_damage_is_an_error(tmp_path: Path) -> None:
    """What cannot be read is neither equal nor different."""
    a = mending.record(tmp_path / "a")
    b = mending.record(tmp_path / "b", seed=1)
    mending.damage(mending.shard(b), 2000)
    with pytest.raises(rlds_kit.DamagedError):
        diff(rlds_kit.open(a), rlds_kit.open(b), match="order")


def test_progress_ends_where_all_is_compared(tmp_path: Path) -> None:
    """Reported after each episode, never decreasing."""
    told: list[tuple[int, int]] = []
    a = opened(tmp_path / "a")
    diff(a, a, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert (len(told), told[-1][0]) == (3, told[-1][1])


def test_empty_datasets_are_equal(tmp_path: Path) -> None:
    """There is nothing that could differ."""
    for name in ("a", "b"):
        EpisodeWriter(tmp_path / name).close()
    a = rlds_kit.open(tmp_path / "a")
    assert diff(a, rlds_kit.open(tmp_path / "b"), progress=lambda done, total: None).equal


def test_memory_does_not_grow_with_episodes(tmp_path: Path) -> None:
    """An episode of 40 MB is compared a few blocks at a time."""
    frames = np.random.default_rng(0).integers(0, 256, (4, 100, 100), np.uint8)
    for name in ("a", "b"):
        with EpisodeWriter(tmp_path / name, record_time=False) as writer, writer.episode() as episode:
            episode.start(frames[0])
            for step in range(4000):
                episode.step(step, float(name == "b" and step == 3000), frames[step % 4])
    a, b = rlds_kit.open(tmp_path / "a"), rlds_kit.open(tmp_path / "b")
    tracemalloc.start()
    try:
        report = diff(a, b)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(each.field, each.first.step) for each in report.fields] == [("reward", 3000)]
    assert peak < 12 << 20
