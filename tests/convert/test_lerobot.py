"""LeRobot's datasets: what its own package wrote is read exactly, and what is written comes back, and opens there."""

import json
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.lerobot import files as lerobot_files
from rlds_kit.convert.lerobot.reader import LeRobotReader
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.compare import diff
from tests.convert import lerobot_samples as samples

EXACT = {"observation.state": ("observation", "state"), "observation.images.top": ("observation", "images", "top")}
FIELDS = {"action": "action", "next.done": "next.done", "next.success": "next.success", "grid": "grid"}


def test_what_lerobot_wrote_is_read_exactly() -> None:
    """Numbers, images, text and tasks of every frame, bit for bit; a frame's reward is that of its action."""
    for given, episode in zip(samples.truth(), LeRobotReader(samples.GOLDEN), strict=True):
        rows = [{**observed, **acted} for observed, acted in zip(episode.observed, episode.acted, strict=True)]
        for name, path in EXACT.items():
            for row, expected in zip(rows, given[name], strict=True):
                value: Any = row
                for key in path:
                    value = value[key]
                assert (value.dtype, value.tolist()) == (expected.dtype, expected.tolist())
        assert [row["reward"] for row in rows] == given["next.reward"][:, 0].tolist()
        assert [row["action"].tolist() for row in rows] == given["action"].tolist()
        assert [row["next.done"] for row in rows] == given["next.done"][:, 0].tolist()
        assert [row["grid"].tolist() for row in rows] == given["grid"].tolist()
        assert [row["note"] for row in rows] == given["note"]
        assert [row["task"] for row in rows] == given["task"]
        assert [float(row["timestamp"]) for row in rows] == [float(np.float32(step / 10)) for step in range(len(rows))]


def test_every_frame_of_a_video_is_the_right_one() -> None:
    """The gray of the nearest frame that was given is that of the same step, in any order of asking."""
    everything = np.concatenate([given["observation.images.side"] for given in samples.truth()]).mean(axis=(1, 2, 3))
    for given, episode in zip(samples.truth(), LeRobotReader(samples.GOLDEN), strict=True):
        expected = given["observation.images.side"].mean(axis=(1, 2, 3))
        for step in (*range(len(expected)), len(expected) - 1, 0, 2, 1):
            shown = episode.observed[step]["observation"]["images"]["side"]
            assert (shown.dtype, shown.shape) == (np.uint8, (32, 48, 3))
            assert everything[np.argmin(np.abs(everything - shown.mean()))] == expected[step]


def test_video_is_lossy_at_the_source(tmp_path: Path) -> None:
    """The copy records the loss, and does not list features that were stored as PNG."""
    report = convert(samples.GOLDEN, tmp_path / "ours")
    assert report.lossy_at_the_source == {"observation/images/side": "video: h264, yuv420p"}
    assert (report.losses, report.episodes, report.steps) == ((), 3, 18)  # the last steps have no observation


def test_episodes_end_as_their_last_frames_say(tmp_path: Path) -> None:
    """`next.done` ends an episode; without it nothing is known. The observation after the last action is missing."""
    convert(samples.GOLDEN, tmp_path / "ours")
    episodes = rlds_kit.open(tmp_path / "ours").episodes
    assert [episode.end for episode in episodes] == [
        EpisodeEnd.TERMINATED,
        EpisodeEnd.INTERRUPTED,
        EpisodeEnd.TERMINATED,
    ]
    assert episodes[0].mask("observation").tolist() == [True] * 4 + [False]
    assert episodes[0].mask("action").tolist() == [True] * 4 + [False]


def test_spec_and_metadata_are_those_of_the_file() -> None:
    """Shapes, dtypes, frames a second and the robot."""
    reader = LeRobotReader(samples.GOLDEN)
    observation = reader.spec.fields["observation"]
    assert isinstance(observation, specs.Dict)
    assert observation.fields["state"] == specs.Array((3,), np.float32)
    assert reader.spec.fields["reward"] == specs.Array((), np.float32)
    assert (reader.metadata["lerobot"]["fps"], reader.metadata["lerobot"]["robot_type"]) == (10, "arm")


def test_golden_goes_there_and_back(tmp_path: Path) -> None:
    """LeRobot to ours to LeRobot to ours: nothing differs but where it came from."""
    convert(samples.GOLDEN, tmp_path / "ours")
    report = convert(tmp_path / "ours", tmp_path / "back", "lerobot")
    assert report.losses == ()
    convert(tmp_path / "back", tmp_path / "again")
    found = diff(rlds_kit.open(tmp_path / "ours"), rlds_kit.open(tmp_path / "again"), match="order")
    assert found.equal
    contents = [
        [content_of(episode) for episode in LeRobotReader(path)] for path in (samples.GOLDEN, tmp_path / "back")
    ]
    assert contents[0] == contents[1]
    own, back = (json.loads((path / "meta/info.json").read_text()) for path in (samples.GOLDEN, tmp_path / "back"))
    for name, feature in own["features"].items():
        kept = back["features"][name]
        assert kept == feature or (feature["dtype"], kept["dtype"]) == ("video", "image")


def test_ours_goes_there_and_back(tmp_path: Path) -> None:
    """Nests, tuples, images, any bits of NaN, byte order, seeds, metadata, discounts, ends and final observations."""
    samples.record(tmp_path / "ours")
    report = convert(tmp_path / "ours", tmp_path / "there", "lerobot")
    assert report.losses == ()
    convert(tmp_path / "there", tmp_path / "again")
    found = diff(rlds_kit.open(tmp_path / "ours"), rlds_kit.open(tmp_path / "again"), match="order")
    assert {each.field for each in found.first} <= {"spec/info"}  # now it is declared
    features = json.loads((tmp_path / "there/meta/info.json").read_text())["features"]
    kinds = {name: (each["dtype"], each["shape"]) for name, each in features.items()}
    assert kinds["observation.screen"] == ("image", [16, 12, 3])
    assert kinds["observation.gray"] == ("image", [9, 10, 1])
    assert kinds["observation.stack"] == ("uint8", [4, 16, 16])
    assert kinds["next.truncated"] == ("bool", [1])


def test_files_are_rolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are several files and chunks, each episode is in one file, and the table of episodes names it."""
    monkeypatch.setattr(lerobot_files, "FILE_MEGABYTES", 0.001)
    monkeypatch.setattr(lerobot_files, "CHUNK_FILES", 2)
    samples.record(tmp_path / "ours", episodes=5)
    assert convert(tmp_path / "ours", tmp_path / "there", "lerobot").episodes == 5
    files = sorted(
        str(path.relative_to(tmp_path / "there/data")) for path in (tmp_path / "there/data").rglob("*.parquet")
    )
    assert files == [f"chunk-00{number // 2}/file-00{number % 2}.parquet" for number in range(5)]
    rows = [
        row
        for path in sorted((tmp_path / "there/meta/episodes").rglob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    assert [row["data/chunk_index"] for row in rows] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("is_rolled", [False, True])
def test_any_part_is_that_of_the_whole(is_rolled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each episode can be read alone, by a copy of the reader, wherever it is in its file."""
    if is_rolled:
        monkeypatch.setattr(lerobot_files, "FILE_MEGABYTES", 0.001)
    convert(samples.record(tmp_path / "ours", episodes=5), tmp_path / "theirs", "lerobot")
    for path in (tmp_path / "theirs", samples.GOLDEN):
        reader = LeRobotReader(path)
        whole = [content_of(episode) for episode in reader]
        assert len(reader.weigh(lambda _: None)) == len(whole)
        alone = [pickle.loads(pickle.dumps(reader)).read(number, number + 1) for number in range(len(whole))]  # noqa: S301
        assert [[content_of(episode) for episode in each] for each in alone] == [[content] for content in whole]


@pytest.mark.thorough
def test_workers_make_the_same_dataset(tmp_path: Path) -> None:
    made = [convert(samples.GOLDEN, tmp_path / f"by {count}", workers=count, part_bytes=1) for count in (1, 2)]
    assert made[0].content_digest == made[1].content_digest
    assert diff(*(rlds_kit.open(tmp_path / f"by {count}") for count in (1, 2)), match="order").equal


def _record(path: Path, *episodes: dict[str, Any]) -> None:
    declared = specs.Dict({"observation": specs.Array((2,), np.float32), "action": specs.Array((), np.int64)})
    with EpisodeWriter(path, declared, record_time=False) as writer:
        for fields in episodes:
            with writer.episode(metadata={"a": 1}) as episode:
                info = fields.get("info", [{}, {}, {}])
                episode.start(np.zeros(2, np.float32), info=info[0])
                for step in range(1, fields.get("steps", 3)):
                    extra = {"acted": fields["acted"][step - 1]} if "acted" in fields else {}
                    episode.step(step, 1.0, np.full(2, step, np.float32), info=info[step], **extra)


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"info": [{"a": 1}, {}, {"a": 2}]}, {"info/a": 2}),
        ({"info": [{"a": 1}, {"a": 1.5}, {"a": 1}]}, {"info/a": 3}),
        ({"info": [{"a": np.zeros(2)}, {"a": np.zeros(3)}, {"a": np.zeros(2)}]}, {"info/a": 3}),
        ({"info": [{"a": 1j}] * 3}, {"info/a": 3}),
        ({"info": [{"a": b"x"}] * 3}, {"info/a": 3}),
        ({"info": [{"a": np.zeros((0, 2))}] * 3}, {"info/a": 3}),
        ({"info": [{"a": None}] * 3}, {"info/a": 3}),
        ({"info": [{"a": np.uint64(2**63)}] * 3}, {"info/a": 3}),
        ({"info": [{"a": "\ud800"}] * 3}, {"info/a": 3}),
        ({"info": [{"a": 2**70}] * 3}, {"info/a": 3}),
        ({"info": [{"": 2}] * 3}, {"info/": 3}),
        ({"info": [{"a": 1}, {"a": 1}, {"a": 1.5}]}, {"info/a": 1}),
        ({"acted": [{"torque": 1}, {}]}, {"torque": 1}),
        ({"steps": 1}, {"episode": 1}),
    ],
)
def test_what_lerobot_cannot_hold_is_refused_or_counted(
    fields: dict[str, Any], lost: dict[str, int], tmp_path: Path
) -> None:
    """Without `allow_loss` nothing is written; with it, the report has each field and its number of lost values."""
    _record(tmp_path / "ours", fields)
    with pytest.raises(ConversionError, match="allow-loss"):
        convert(tmp_path / "ours", tmp_path / "there", "lerobot")
    assert not (tmp_path / "there").exists()
    report = convert(tmp_path / "ours", tmp_path / "there", "lerobot", allow_loss=True)
    assert {loss.field: loss.values for loss in report.losses} == lost
    assert report.episodes == (0 if "steps" in fields else 1)


def test_episodes_with_other_features_than_the_first_are_named(tmp_path: Path) -> None:
    """An episode without a feature cannot be included; additional fields are left out."""
    info = [{"a": 1}, {"a": 2}, {"a": 3}]
    more = [{"a": 1, "b": 2}] * 3
    other = [{"a": 1.5}] * 3
    _record(tmp_path / "ours", {"info": info}, {"info": more}, {}, {"info": other})
    report = convert(tmp_path / "ours", tmp_path / "there", "lerobot", allow_loss=True)
    assert report.episodes == 2
    assert [(loss.field, loss.values) for loss in report.losses] == [("episode", 6), ("info/b", 3)]


def test_the_spec_has_no_field_that_was_lost(tmp_path: Path) -> None:
    """What stays declared is in the frames; of a tuple, the items after a lost one move up."""
    pair = specs.Tuple((specs.Text(), specs.Bytes(), specs.Array((), np.int64)))
    nest = specs.Dict({"only": specs.Bytes()})
    declared = specs.Dict(
        {"observation": specs.Dict({"pair": pair, "nest": nest}), "action": specs.Array((), np.int64)}
    )
    observation = {"pair": ("a", b"b", np.int64(3)), "nest": {"only": b"c"}}
    with EpisodeWriter(tmp_path / "ours", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(observation)
        episode.step(np.int64(1), 0.5, observation)
    report = convert(tmp_path / "ours", tmp_path / "there", "lerobot", allow_loss=True)
    assert {loss.field for loss in report.losses} == {"observation/pair/1", "observation/nest/only"}
    (found,) = LeRobotReader(tmp_path / "there")
    assert found.observed[1] == {"observation": {"pair": ("a", np.int64(3))}}
    convert(tmp_path / "there", tmp_path / "again")
    kept = specs.Dict({"pair": specs.Tuple((pair.items[0], pair.items[2]))})
    assert rlds_kit.open(tmp_path / "again").spec.fields["observation"] == kept


def test_a_dataset_without_episodes_has_its_files(tmp_path: Path) -> None:
    """If nothing can be stored, the columns have no rows, and reading gives no episodes."""
    _record(tmp_path / "ours", {"steps": 1})
    convert(tmp_path / "ours", tmp_path / "there", "lerobot", allow_loss=True)
    assert list(LeRobotReader(tmp_path / "there")) == []
    frames = pq.read_table(tmp_path / "there/data/chunk-000/file-000.parquet")
    assert (len(frames), {"index", "next.done"} <= {*frames.column_names}) == (0, True)
    assert convert(tmp_path / "there", tmp_path / "again").episodes == 0


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_language_instruction_becomes_the_task(is_nested: bool, tmp_path: Path) -> None:
    """As RLDS datasets of robots have it, in the step or in the observation; back here it is where it was."""
    texts = ["open the drawer", "open the drawer", "close the drawer"]
    with EpisodeWriter(tmp_path / "ours", record_time=False) as writer, writer.episode() as episode:
        for number, text in enumerate(texts):
            state = np.array([number], np.float32)
            observation = {"state": state, "language_instruction": text} if is_nested else {"state": state}
            extra: dict[str, Any] = {} if is_nested else {"language_instruction": text}
            if number == 0:
                episode.start(observation, **extra)
            else:
                episode.step(state, np.float64(1), observation, terminated=number == 2, **extra)
    convert(tmp_path / "ours", tmp_path / "theirs", "lerobot")
    tasks = pq.read_table(tmp_path / "theirs/meta/tasks.parquet").to_pydict()
    assert list(tasks.values()) == [[0], ["open the drawer"]]  # the last text is that of no action
    features = json.loads((tmp_path / "theirs/meta/info.json").read_text())["features"]
    assert not [name for name in features if "instruction" in name]
    convert(tmp_path / "theirs", tmp_path / "back")
    given, again = (rlds_kit.open(tmp_path / name).episodes[0] for name in ("ours", "back"))
    assert again.content_digest == given.content_digest


def test_without_our_own_file_it_is_a_dataset_of_lerobot(tmp_path: Path) -> None:
    """As copied by LeRobot's own tools: names are split at dots, and the flags determine the end."""
    samples.record(tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "there", "lerobot")
    (tmp_path / "there/meta/rlds_kit.json").unlink()
    table = tmp_path / "there/meta/episodes/chunk-000/file-000.parquet"
    pq.write_table(pq.read_table(table).drop_columns(["rlds_kit"]), table)
    episodes = list(LeRobotReader(tmp_path / "there"))
    assert [episode.end for episode in episodes] == [
        EpisodeEnd.TERMINATED,
        EpisodeEnd.TRUNCATED,
        EpisodeEnd.INTERRUPTED,
    ]
    assert all(len(episode.observed) == len(episode.acted) == 3 for episode in episodes)
    assert episodes[0].observed[0]["observation"]["gray"].shape == (9, 10, 1)


def test_columns_of_the_table_of_episodes_are_metadata(tmp_path: Path) -> None:
    """Those that LeRobot does not make itself."""
    path = samples.copy(tmp_path / "arm")
    table = path / "meta/episodes/chunk-000/file-000.parquet"
    content = pq.read_table(table)
    pq.write_table(content.append_column("operator", pa.array(["ada", "bob", "cyd"])), table)
    assert [episode.metadata for episode in LeRobotReader(path)] == [
        {"operator": name} for name in ("ada", "bob", "cyd")
    ]


def test_features_of_unknown_kinds_are_named(tmp_path: Path) -> None:
    """They are left out, and that is reported."""
    path = samples.copy(tmp_path / "arm")
    features = json.loads((path / "meta/info.json").read_text())["features"]
    samples.edit_info(path, features={**features, "words": {"dtype": "language", "shape": [1], "names": None}})
    reader = LeRobotReader(path)
    assert len(list(reader)) == 3
    assert [loss.field for loss in reader.losses] == ["words"]


def _lerobot_reads(path: Path, directory: Path) -> dict[str, np.ndarray]:
    """What LeRobot's own package finds in a dataset: every feature of every frame, and statistics of the actions."""
    python = os.environ.get("RLDS_KIT_LEROBOT_PYTHON")
    if python is None:
        pytest.skip("RLDS_KIT_LEROBOT_PYTHON: expected an interpreter with lerobot 0.4.4 or later")
    command = [python, str(Path(__file__).with_name("lerobot_peer.py")), str(path), str(directory / "found.npz")]
    environment = {**os.environ, "HF_HOME": str(directory / "home"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(directory / "found.npz") as arrays:
        return dict(arrays)


@pytest.mark.slow
def test_lerobot_opens_the_copy_of_its_own(tmp_path: Path) -> None:
    """Every number, text, task and pixel that it wrote itself is in what we wrote of it."""
    convert(samples.GOLDEN, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", "lerobot")
    found = _lerobot_reads(tmp_path / "back", tmp_path)
    for name in ("observation.state", "action", "next.reward", "next.done", "next.success", "grid", "note", "task"):
        expected = np.concatenate([given[name] for given in samples.truth()])
        assert found[name].reshape(expected.shape).tolist() == expected.tolist()
    pixels = np.concatenate([given["observation.images.top"] for given in samples.truth()])
    assert np.array_equal(np.rint(np.moveaxis(found["observation.images.top"], 1, -1) * 255), pixels)


@pytest.mark.slow
def test_lerobot_opens_what_is_written(tmp_path: Path) -> None:
    """LeRobot's own package gives the numbers and the pixels of every frame."""
    samples.record(tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "there", "lerobot")
    found = _lerobot_reads(tmp_path / "there", tmp_path)
    frames = [100 * number + step for number in range(3) for step in range(3)]
    for place, number in enumerate(frames):
        given = samples.observation(number)
        assert np.array_equal(np.rint(found["observation.screen"][place] * 255), np.moveaxis(given["screen"], -1, 0))
        assert np.array_equal(np.rint(found["observation.gray"][place] * 255)[0], given["gray"])
        assert (
            found["observation.cube"][place].tolist() == given["cube"].astype(np.float32).tolist()
        )  # torch accepts lists
    assert found["action"].tolist() == [1, 2, 3] * 3
    assert np.allclose(found["next.reward"], [0.1, 0.2, 0.3] * 3)
    assert found["episode_index"].tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert np.allclose(found["stats"], [[1, 3, 2]])
