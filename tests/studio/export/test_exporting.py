"""What an export contains, and what it leaves out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import layers, tfds_builders
from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.step import FLAGS
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.convert.rlds_kit_dataset import DatasetReader
from rlds_kit.logger import EpisodeWriter, GymnasiumLogger
from rlds_kit.studio.export.exporting import export, make
from rlds_kit.studio.export.internal import INTERNAL_FIELDS
from rlds_kit.studio.export.plan import make_plan, read_plan, write_plan
from rlds_kit.studio.export.rules import Chosen, Rules
from rlds_kit.tools.upkeep.episode_blocks import headers_of
from rlds_kit.tools.upkeep.source import read_source
from tests.studio.replay.datasets import frame, record, record_agents, record_odd


def play(directory: Path, lengths: tuple[int, ...] = (8, 5)) -> rlds_kit.Dataset:
    """Episodes as the studio records them."""
    facts = {"seats": {"player": {"driver": "human", "keys": {"KeyA": 1.0}, "shown_frame": 3, "user": "ann"}}}
    with EpisodeWriter(directory, SPEC, environment={"id": "Reach-v0", "user": "ann"}) as writer:
        for number, length in enumerate(lengths):
            about = {"session": "s", "user_id": "ann", "study": "Reach", "judgements": [[1, "player", "ann", 1.0]]}
            with writer.episode(metadata=about, seed=number) as episode:
                episode.start(frame(0), info={"lives": 3})
                for step in range(1, length):
                    last = step == length - 1
                    episode.step(
                        np.int64(step),
                        float(step),
                        frame(step),
                        discount=float(not last),
                        terminated=last,
                        acted={"play": facts},
                        info={"lives": 3},
                    )
    return rlds_kit.open(directory)


SPEC = rlds_kit.spec.Dict(
    {
        "observation": rlds_kit.spec.Array((24, 32, 3), "uint8"),
        "action": rlds_kit.spec.Array((), "int64"),
        "reward": rlds_kit.spec.Array((), "float64"),
        "discount": rlds_kit.spec.Array((), "float64"),
    }
)


def values(step: Any, *names: str) -> list[Any]:
    """Some fields of a step."""
    return [step[name] for name in names]


def test_r36_exported_steps_are_those_that_were_recorded(tmp_path: Path) -> None:
    """Bit for bit, with the episode's metadata."""
    dataset = play(tmp_path / "data")
    done = export(dataset, tmp_path / "out")
    made = rlds_kit.open(tmp_path / "out")
    assert (done.episodes, done.steps, len(made.episodes)) == (2, 13, 2)
    for number, (was, now) in enumerate(zip(dataset.episodes, made.episodes, strict=True)):
        for name in ("observation", "action", "reward", "discount", *FLAGS):
            assert was[name].tobytes() == now[name].tobytes()
            assert was[name].dtype == now[name].dtype
            assert was.mask(name).tolist() == now.mask(name).tolist()
        assert (now.end, now.terminated, now.seed) == (was.end, True, number)
        assert now.provenance["id"] == "Reach-v0"
        wanted = {"public_id": str(was.id), "episode_index": number, "num_steps": was.length - 1}
        assert now.metadata == {**wanted, "total_reward": sum(range(1, was.length))}


def test_r38_what_is_internal_is_stripped(tmp_path: Path) -> None:
    """The report names the fields before and after."""
    dataset = play(tmp_path / "data")
    done = export(dataset, tmp_path / "out")
    assert set(done.fields_before) - set(done.fields_after) == {"play", "info", "time_ns"}
    assert set(done.fields_after) == {"observation", "action", "reward", "discount"}
    assert not set(INTERNAL_FIELDS) & set(rlds_kit.open(tmp_path / "out").episodes[0].fields)
    kept = export(dataset, tmp_path / "whole", Rules(strip=False))
    assert kept.fields_after == kept.fields_before
    step = rlds_kit.open(tmp_path / "whole").episodes[0].steps[2]
    assert step["info"] == {"lives": 3}
    assert step["play"]["seats"]["player"]["keys"] == {"KeyA": 1.0}


@pytest.mark.parametrize("strip", [True, False])
def test_r16_who_played_never_leaves(strip: bool, tmp_path: Path) -> None:
    """The player's id is not in metadata, steps, provenance, names of files, or layers."""
    dataset = play(tmp_path / "data")
    dataset.annotate("review", [layers.note(dataset.episodes[0], "ann did well")], source="ann")
    export(dataset, tmp_path / "out", Rules(strip=strip))
    made = rlds_kit.open(tmp_path / "out")
    assert made.layers == ()
    for episode in made.episodes:
        told = json.dumps([episode.metadata, episode.provenance, episode.run_metadata, *episode.steps], default=str)
        assert "ann" not in told.replace("channel", "")
        assert "session" not in told


def test_r39_a_tag_ends_an_episode(tmp_path: Path) -> None:
    """The first step with the tag is the last, and is not terminal; the total reward is computed again."""
    dataset = play(tmp_path / "data", (8, 5, 6))
    first, second, _ = dataset.episodes
    said = [layers.tag(first, "goal", range(3, 6)), layers.tag(first, "won", 5), layers.tag(second, "goal")]
    dataset.annotate("review", said, source="ann")
    export(dataset, tmp_path / "out", Rules(end_tags=("won", "goal")))
    cut, whole, other = rlds_kit.open(tmp_path / "out").episodes
    assert (cut.length, whole.length, other.length) == (4, 5, 6)
    assert [step["is_last"] for step in cut.steps] == [False, False, False, True]
    assert not any(step["is_terminal"] for step in cut.steps)
    assert (cut.terminated, cut.truncated, cut.end) == (False, False, rlds_kit.EpisodeEnd.INTERRUPTED)
    assert cut.mask("action").tolist() == [True, True, True, False]
    assert cut["reward"][:3].tolist() == first["reward"][:3].tolist()
    assert (cut.metadata["num_steps"], cut.metadata["total_reward"]) == (3, 6.0)
    assert whole.terminated


def test_r40_tags_are_columns(tmp_path: Path) -> None:
    """Every step has, for every label of the selection, whether it has the label; so has every episode."""
    dataset = play(tmp_path / "data")
    first, second = dataset.episodes
    said = [layers.tag(first, "placed", range(2, 4)), layers.tag(second, "left/right", 0), layers.tag(second, "good")]
    gone = layers.tag(first, "wrong", 1)
    *_, wrong = dataset.annotate("review", [*said, gone], source="ann")
    dataset.annotate("review", [layers.retraction(wrong)], source="ann")
    done = export(dataset, tmp_path / "out")
    one, two = rlds_kit.open(tmp_path / "out").episodes
    assert one["tag:placed"].tolist() == [False, False, True, True, False, False, False, False]
    assert two["tag:left/right"].tolist() == [True, False, False, False, False]
    assert not two["tag:placed"].any()
    assert (one.metadata["tag:good"], two.metadata["tag:good"]) == (False, True)
    assert done.fields_after[-2:] == ("tag:left/right", "tag:placed")
    assert export(dataset, tmp_path / "bare", Rules(tag_columns=False)).fields_after == done.fields_after[:-2]


def test_r37_tfds_opens_an_export(tmp_path: Path) -> None:
    """With the columns of tags, and the metadata of episodes."""
    dataset = play(tmp_path / "data")
    said = [layers.tag(dataset.episodes[0], "placed", 3), layers.tag(dataset.episodes[1], "good")]
    dataset.annotate("review", said, source="ann")
    export(dataset, tmp_path / "out")
    builder = tfds_builders.builder_from_directory(tmp_path / "out")
    first, second = tfds.as_numpy(builder.as_dataset(split="train", shuffle_files=False))
    steps = list(first["steps"])
    assert [bool(step["tag:placed"]) for step in steps] == [False, False, False, True, False, False, False, False]
    assert np.array_equal(steps[4]["observation"], frame(4))
    assert (first["num_steps"], first["total_reward"], bool(second["tag:good"])) == (7, 28.0, True)
    assert first["public_id"].decode() == str(dataset.episodes[0].id)


@pytest.mark.parametrize("record_one", [record_odd, record_agents])
def test_any_types_are_exported(record_one: Any, tmp_path: Path) -> None:
    """Text, bytes, None, ragged and nested values; several agents."""
    record_one(tmp_path / "data")
    dataset = rlds_kit.open(tmp_path / "data")
    export(dataset, tmp_path / "out", Rules(strip=False))
    made = rlds_kit.open(tmp_path / "out")
    for was, now in zip(DatasetReader(dataset.path), DatasetReader(made.path), strict=True):
        np.testing.assert_equal([dict(row) for row in now.observed], [dict(row) for row in was.observed])
        np.testing.assert_equal([dict(row) for row in now.acted], [dict(row) for row in was.acted])


def test_observations_keep_names_that_people_have_too(tmp_path: Path) -> None:
    """Declared fields belong to the environment and are exported."""
    spec = rlds_kit.spec.Dict({"observation": rlds_kit.spec.Dict({"token": rlds_kit.spec.Array((), "int64")})})
    with EpisodeWriter(tmp_path / "data", spec) as writer, writer.episode() as episode:
        episode.start({"token": np.int64(7)})
        episode.step(0, 0.0, {"token": np.int64(8)}, terminated=True)
    export(rlds_kit.open(tmp_path / "data"), tmp_path / "out")
    assert rlds_kit.open(tmp_path / "out").episodes[0]["observation"]["token"].tolist() == [7, 8]


def test_gaps_and_missing_final_observations_stay(tmp_path: Path) -> None:
    """Undefined values stay undefined."""
    with EpisodeWriter(tmp_path / "data") as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(1, 1.0, 0.7)
        episode.step(1, 2.0, terminated=True)
    export(rlds_kit.open(tmp_path / "data"), tmp_path / "out")
    (made,) = rlds_kit.open(tmp_path / "out").episodes
    assert made.mask("observation").tolist() == [True, True, False]
    assert made["reward"][:2].tolist() == [1.0, 2.0]


def play_personal(directory: Path) -> rlds_kit.Dataset:
    """Personal entries at every place of metadata and of fields that are not declared."""
    infos: list[dict[Any, Any]] = [
        {"user": "ann"},
        {"lives": 3, "user": "ann", "deep": {"token": 1}},
        {},
        {"list": [1, {"user": "ann", "a": 2}], "x": np.float32(1.5)},
        {3: 4, "user": "ann"},
        {"lives": 2},
    ]
    metadata = {"user": "ann", "level": 3, "nest": [{"email": "ann"}]}
    with EpisodeWriter(directory, SPEC, environment={"id": "Reach-v0", "user": "ann"}) as writer:
        for number in range(2):
            with writer.episode(metadata=metadata, seed=number, options={"user": "ann", "k": 1}) as episode:
                episode.start(frame(0), info=infos[0])
                for step in range(1, 200):
                    acted = {"play": {"user": "ann"}, **({"extra": [{"user": "ann"}, step]} if step % 3 else {})}
                    last = step == 199
                    seen = frame(step % 20)
                    episode.step(np.int64(step), 1.0 * step, seen, terminated=last, info=infos[step % 6], acted=acted)
    return rlds_kit.open(directory)


@pytest.mark.parametrize(
    ("strip", "end_tags", "digests"),
    [
        (True, (), ("348bb2b1e03464fd255d10bf9f4df71c", "7a434b387932a7bfeaabcb1201a74d53")),
        (True, ("won",), ("e83d48390829a0f0da2fa31d11f74e22", "6bc0ab130405047e9d0a9f657df2525e")),
        (False, (), ("8e23e4cd50593a7aa48a1eff6f40a5d0", "0c0cc3a57ef8c967e29c1df1b0306539")),
        (False, ("won",), ("b9dfba65b6c112fa2e43b58488ae1e5e", "129eb337e66b132c201254038571dcc2")),
    ],
)
def test_exports_have_the_content_of_earlier_releases(
    strip: bool, end_tags: tuple[str, ...], digests: tuple[str, str], tmp_path: Path
) -> None:
    """The digests are from releases that recorded each exported value again."""
    dataset = play_personal(tmp_path / "data")
    tags = [layers.tag(each, "won", range(92, 94)) for each in dataset.episodes]
    dataset.annotate("review", [*tags, layers.tag(dataset.episodes[0], "a/b", 1)], source="ann")
    chosen = [Chosen(str(dataset.path), str(each.id), {"public_id": f"p{each.seed}"}) for each in dataset.episodes]
    done = make(make_plan(chosen, Rules(strip=strip, end_tags=end_tags)), tmp_path / "out")
    made = rlds_kit.open(tmp_path / "out")
    assert tuple(each.content_digest.hex() for each in made.episodes) == digests
    assert done.content_digest == made.content_digest.hex()
    assert "ann" not in json.dumps([[*each.steps, each.metadata, each.options] for each in made.episodes], default=str)


def hashes(directory: Path) -> set[tuple[str, int]]:
    """Path, and hash of the bytes, of each column of each block."""
    return {
        (column.path, column.xxh3)
        for episode in read_source(directory).episodes
        for _, _, header in headers_of(episode.shard.file(), episode.entry)
        for column in header.columns
    }


def test_columns_that_stay_as_they_are_keep_their_bytes(tmp_path: Path) -> None:
    """Only the columns of tags are encoded."""
    dataset = play(tmp_path / "data")
    dataset.annotate("review", [layers.tag(dataset.episodes[0], "placed", 3)], source="ann")
    export(dataset, tmp_path / "out")
    assert {path for path, _ in hashes(tmp_path / "out") - hashes(tmp_path / "data")} == {"tag:placed"}


@settings(max_examples=12)
@given(st.integers(2, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4)), max_size=3))
def test_r39_a_cut_is_the_manual_one(length: int, spans: list[tuple[int, int]]) -> None:
    import tempfile

    spans = [(first, min(first + count, length)) for first, count in spans if first < length]
    with tempfile.TemporaryDirectory() as name:
        dataset = play(Path(name) / "data", (length,))
        (episode,) = dataset.episodes
        if spans:
            dataset.annotate("review", [layers.tag(episode, "end", range(*span)) for span in spans], source="a")
        export(dataset, Path(name) / "out", Rules(end_tags=("end",)))
        (made,) = rlds_kit.open(Path(name) / "out").episodes
        kept = min([length - 1, *(first for first, _ in spans)]) + 1
        assert made.length == kept
        assert made["observation"].tobytes() == episode["observation"][:kept].tobytes()
        assert made.metadata["total_reward"] == sum(range(1, kept))
        assert made.terminated == (kept == length)
        has = np.zeros(length, np.bool_)
        for span in spans:
            has[slice(*span)] = True
        assert not spans or made["tag:end"].tolist() == has[:kept].tolist()


def test_r36_episodes_of_several_recordings_are_one_dataset(tmp_path: Path) -> None:
    """In the requested order, each once; missing ones are left out and reported."""
    one, two = play(tmp_path / "one", (3, 4)), play(tmp_path / "two", (5,))
    ids = [(str(each.path), str(episode.id)) for each in (two, one) for episode in each.episodes]
    missing = [(str(tmp_path / "none"), ids[0][1]), (str(one.path), "00000000-0000-0000-0000-000000000007")]
    chosen = [Chosen(*each, {"public_id": f"public {number}"}) for number, each in enumerate([*ids, ids[0], *missing])]
    done = make(make_plan(chosen, Rules()), tmp_path / "out")
    made = rlds_kit.open(tmp_path / "out")
    assert [each.length for each in made.episodes] == [5, 3, 4]
    assert [each.metadata["public_id"] for each in made.episodes] == ["public 0", "public 1", "public 2"]
    assert done.left_out == ("public 4", "public 5")


def test_r36_environments_that_differ_are_refused(tmp_path: Path) -> None:
    record(tmp_path / "one")
    other = rlds_kit.spec.Dict({**SPEC.fields, "action": rlds_kit.spec.Array((2,), "float32")})
    with EpisodeWriter(tmp_path / "two", other) as writer, writer.episode() as episode:
        episode.start(frame(0))
    play(tmp_path / "three")
    chosen = [
        Chosen(str(tmp_path / name), str(episode.id))
        for name in ("three", "two")
        for episode in rlds_kit.open(tmp_path / name).episodes
    ]
    with pytest.raises(ConversionError, match="action"):
        make_plan(chosen, Rules())


def test_nothing_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="nothing to export"):
        make_plan([Chosen(str(tmp_path), "00000000-0000-0000-0000-000000000007")], Rules())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """Data at the destination is not changed."""
    dataset = play(tmp_path / "data")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(DatasetExistsError):
        export(dataset, tmp_path / "out")


def test_a_plan_is_kept_as_it_is(tmp_path: Path) -> None:
    """So that a resumed export has the same content."""
    dataset = play(tmp_path / "data")
    dataset.annotate("review", [layers.tag(dataset.episodes[0], "a", 3)], source="ann")
    chosen = [Chosen(str(dataset.path), str(each.id), {"public_id": "x"}) for each in dataset.episodes]
    plan = make_plan(chosen, Rules(end_tags=("a",)))
    write_plan(tmp_path / "plan.json", plan)
    again = read_plan(tmp_path / "plan.json")
    assert (again.rules, again.spec, again.columns) == (plan.rules, plan.spec, plan.columns)
    assert [each.rows for each in again.episodes] == [4, 5]


@pytest.mark.parametrize("format", ["minari", "lerobot"])
def test_r37_other_formats_can_be_requested(format: str, tmp_path: Path) -> None:  # noqa: A002
    """The report lists what they cannot represent."""
    import gymnasium

    with GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path / "data") as env:
        env.reset(seed=1)
        for _ in range(5):
            env.step(env.action_space.sample())
    done = export(rlds_kit.open(tmp_path / "data"), tmp_path / "out", Rules(format=format))
    assert (done.episodes, (tmp_path / "out").is_dir()) == (1, True)
    assert all(each["reason"] for each in done.losses)
