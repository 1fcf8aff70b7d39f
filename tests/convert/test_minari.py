"""Minari's datasets: what its own package wrote is read exactly, and what is written its own package reads exactly."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from gymnasium import spaces

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.minari.columns import column, uniform
from rlds_kit.convert.minari.reader import MinariReader
from rlds_kit.convert.minari.spaces import from_json, to_json
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.recorder import Recorder
from tests.convert import minari_samples as samples

SPACES: dict[str, spaces.Space[Any]] = {
    "box": spaces.Box(-1, np.inf, (2,), np.float32),
    "bytes": spaces.Box(0, 9, (2, 3), np.uint8),
    "scalar": spaces.Box(-2.0, 2.0, (), np.float64),
    "discrete": spaces.Discrete(4, start=2),
    "multi": spaces.MultiDiscrete([3, 5], start=[1, 0]),
    "binary": spaces.MultiBinary(4),
    "text": spaces.Text(8, min_length=1, charset="abcé"),
    "dict": spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.Box(0, 1, (2,)), spaces.MultiBinary(2)])}),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory of Minari's datasets."""
    return tmp_path / "minari"


@pytest.fixture
def minari(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Minari's own package."""
    return samples.minari_at(root, monkeypatch)


@pytest.mark.parametrize("kind", SPACES)
def test_every_space_is_read_as_minari_was_given_it(kind: str, minari: Any, root: Path, tmp_path: Path) -> None:
    """Observations, actions, rewards, flags, seed and options of each episode, bit for bit."""
    truth = samples.write(minari, "cart/y-v0", SPACES[kind], SPACES[kind])
    convert(root / "cart" / "y-v0", tmp_path / "ours")
    for given, episode in zip(truth, rlds_kit.open(tmp_path / "ours").episodes, strict=True):
        steps = list(episode.steps)
        assert samples.equal(tuple(step["observation"] for step in steps), tuple(given["observations"]))
        assert samples.equal(tuple(step["action"] for step in steps[:-1]), tuple(given["actions"]))
        assert episode["reward"][:-1].tolist() == given["rewards"]
        assert episode.mask("action").tolist() == [True, True, True, False]
        assert (episode.terminated, episode.truncated) == (given["terminations"][-1], given["truncations"][-1])
        assert (episode.seed, episode.options) == (given["seed"], given["options"])


@pytest.mark.parametrize("kind", SPACES)
def test_there_and_back_is_the_same_dataset(kind: str, minari: Any, root: Path, tmp_path: Path) -> None:
    """Minari reads from the copy what it reads from its own dataset, and so do we."""
    samples.write(minari, "own-v0", SPACES[kind], SPACES[kind], infos=True)
    convert(root / "own-v0", tmp_path / "ours")
    report = convert(tmp_path / "ours", root / "copy-v1", "minari")
    assert report.losses == ()
    own, copy = samples.load(minari, "own-v0"), samples.load(minari, "copy-v1")
    assert (own.observation_space, own.action_space) == (copy.observation_space, copy.action_space)
    assert (len(own), own.total_steps) == (len(copy), copy.total_steps)
    for one, other in zip(own, copy, strict=True):
        for name in ("observations", "actions", "rewards", "terminations", "truncations", "infos"):
            assert samples.equal(_plain(getattr(one, name)), _plain(getattr(other, name)))
    for one, other in zip(*(each.storage.get_episode_metadata(range(4)) for each in (own, copy)), strict=True):
        assert {name: other[name] for name in one} == one


def _plain(value: Any) -> Any:
    """Lists of text as tuples, in arrays of objects too."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == np.object_):
        return tuple(each.decode() if isinstance(each, bytes) else each for each in value)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def test_infos_stand_beside_the_observation_they_came_with(minari: Any, root: Path, tmp_path: Path) -> None:
    """Text is text, and the info of the reset is the first."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2), infos=True)
    convert(root / "own-v0", tmp_path / "ours")
    steps = rlds_kit.open(tmp_path / "ours").episodes[0].steps
    assert [step["info"] for step in steps] == [{"lives": i, "inner": {"word": f"w{i}é"}} for i in range(4)]


def test_ends_are_what_the_flags_say(minari: Any, root: Path, tmp_path: Path) -> None:
    """Neither flag means that the caller stopped; discounts follow from the flags."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2))
    convert(root / "own-v0", tmp_path / "ours")
    episodes = rlds_kit.open(tmp_path / "ours").episodes
    ends = [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED, EpisodeEnd.TERMINATED]
    assert [episode.end for episode in episodes] == ends
    assert [episode["discount"].tolist()[:-1] for episode in episodes][:2] == [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]


def test_environment_is_recovered_from_the_copy(minari: Any, root: Path, tmp_path: Path) -> None:
    """The specification and the metadata of the dataset are copied."""
    space = spaces.Box(-1, 1, (4,), np.float32)
    samples.write(minari, "own-v0", space, spaces.Discrete(2), env="CartPole-v1")
    convert(root / "own-v0", tmp_path / "ours")
    ours = rlds_kit.open(tmp_path / "ours")
    assert ours.environment["id"] == "CartPole-v1"
    assert (ours.description["description"], ours.metadata["minari"]["author"]) == ("made for a test", ["Ada"])
    convert(tmp_path / "ours", root / "copy-v0", "minari")
    copy = samples.load(minari, "copy-v0")
    assert copy.spec.env_spec == samples.load(minari, "own-v0").spec.env_spec
    assert (copy.storage.metadata["author"], copy.storage.metadata["description"]) == ({"Ada"}, "made for a test")


@pytest.mark.parametrize("shape", [(40, 32, 3), (40, 32)])
def test_jpeg_is_decoded_and_reported_as_lossy(shape: tuple[int, ...], minari: Any, root: Path, tmp_path: Path) -> None:
    """The pixels are those that Minari itself decodes; the copy is lossless."""
    samples.write(minari, "own-v0", spaces.Box(0, 255, shape, np.uint8), spaces.Discrete(2), jpeg=True)
    report = convert(root / "own-v0", tmp_path / "ours")
    assert report.lossy_at_the_source == {"observation": "jpeg"}
    assert rlds_kit.open(tmp_path / "ours").metadata["source"]["lossy_at_the_source"] == {"observation": "jpeg"}
    convert(tmp_path / "ours", root / "copy-v0", "minari")
    copy = samples.load(minari, "copy-v0")
    for one, other in zip(samples.load(minari, "own-v0"), copy, strict=True):
        assert samples.equal(one.observations, other.observations)
    assert copy.storage.jpeg_encoding is False


def test_rewards_are_summed_up_for_minari(minari: Any, root: Path, tmp_path: Path) -> None:
    """A dataset of ours gets the attributes that Minari's collector writes."""
    _record(tmp_path / "ours")
    convert(tmp_path / "ours", root / "copy-v0", "minari")
    (metadata,) = samples.load(minari, "copy-v0").storage.get_episode_metadata([0])
    assert (metadata["rewards_sum"], metadata["rewards_max"], metadata["total_steps"]) == (3.0, 2.0, 2)
    assert (metadata["operator"], metadata["inner"]) == ("ada", {"x": 1.5})


def _record(path: Path, **fields: Any) -> None:
    declared = specs.Dict(
        {"observation": specs.Array((2,), np.float32), "action": specs.Array((), np.int64, minimum=0, maximum=3)}
    )
    metadata = {"operator": "ada", "inner": {"x": 1.5}, **fields.pop("metadata", {})}
    info, discount = fields.pop("info", [{}, {}, {}]), fields.pop("discount", 0.0)
    acted = fields.pop("acted", None)
    with (
        EpisodeWriter(path, declared, record_time=False) as writer,
        writer.episode(metadata=metadata, **fields) as episode,
    ):
        episode.start(np.zeros(2, np.float32), info=info[0])
        episode.step(1, 1.0, np.ones(2, np.float32), info=info[1], acted=acted)
        episode.step(2, 2.0, np.full(2, 2, np.float32), discount=discount, info=info[2], terminated=True, acted=acted)


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"info": [{"a": 1}, {}, {"a": 2}]}, {"info/a": 2}),
        ({"info": [{"a": 1}, {"a": 1.5}, {"a": None}]}, {"info/a": 3}),
        ({"info": [{"a": np.zeros(2)}, {"a": np.zeros(3)}, {"a": np.zeros(2)}]}, {"info/a": 3}),
        ({"info": [{"a": [1]}, {"a": [1]}, {"a": [1]}]}, {"info/a": 3}),
        ({"info": [{"a/b": 1}, {"a/b": 1}, {"a/b": 1}]}, {"info/a/b": 3}),
        ({"info": [{"a": "\0"}, {"a": ""}, {"a": ""}]}, {"info/a": 3}),
        ({"info": [{1: 5, "b": 2}, {1: 5, "b": 2}, {1: 5, "b": 2}]}, {"info/1": 3}),
        ({"info": [{1: 5, "1": 6}, {}, {1: 7}]}, {"info/1": 3}),
        ({"info": [{"a": {}}, {"a": {}}, {"a": {}}]}, {"info/a": 3}),
        ({"info": [{"a\0b": 1}, {"a\0b": 1}, {"a\0b": 1}]}, {"info/a\0b": 3}),
        ({"metadata": {"a\0b": 1}}, {"metadata/a\0b": 1}),
        ({"discount": 0.5}, {"discount": 1}),
        ({"acted": {"torque": 1.0}}, {"torque": 2}),
        ({"metadata": {"none": None}}, {"metadata/none": 1}),
        ({"metadata": {"seed": 3}}, {"metadata/seed": 1}),
        ({"metadata": {"list": [1, 2]}}, {"metadata/list": 1}),
        ({"seed": "text"}, {"seed": 1}),
        ({"seed": 2**70}, {"seed": 1}),
        ({"options": {"deep": {"none": None}, "x": 1}}, {"options/deep/none": 1}),
        ({"provenance": {"robot": "r2"}}, {"provenance/robot": 1}),
        ({"provenance": {"reset_chain": {"seed": 3}}}, {"provenance/reset_chain": 1}),
    ],
)
def test_what_minari_cannot_hold_is_refused_or_counted(
    fields: dict[str, Any], lost: dict[str, int], root: Path, tmp_path: Path
) -> None:
    """Without `allow_loss` nothing is written; with it, the report has each field and its number of lost values."""
    _record(tmp_path / "ours", **fields)
    with pytest.raises(ConversionError, match="allow-loss"):
        convert(tmp_path / "ours", root / "copy-v0", "minari")
    assert list(root.iterdir()) == []
    report = convert(tmp_path / "ours", root / "copy-v0", "minari", allow_loss=True)
    assert {loss.field: loss.values for loss in report.losses} == lost
    assert report.episodes == 1


def test_a_lost_reset_chain_is_explained(root: Path, tmp_path: Path) -> None:
    """Every recording of an environment has one: what it is, and who needs it."""
    _record(tmp_path / "ours", provenance={"reset_chain": {"seed": 3}})
    with pytest.raises(ConversionError, match=r"how an episode follows from the last seed, which .* replay. needs"):
        convert(tmp_path / "ours", root / "copy-v0", "minari")


@pytest.mark.parametrize("kind", ["minari", "minari-arrow"])
@pytest.mark.parametrize(
    "rewards",
    [(2**53 + 1, 0.5), (np.zeros(2), np.zeros(2)), ("a", "b"), (None, 1.0), (1j, 1.0)],
    ids=["no float64", "arrays", "text", "none", "complex"],
)
def test_rewards_that_would_be_others_are_refused(rewards: tuple[Any, Any], kind: str, tmp_path: Path) -> None:
    """Minari's are numbers of one dtype, and no number becomes its neighbour."""
    declared = specs.Dict({"observation": specs.Array((), np.float64), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path / "ours", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.0)
        for reward in rewards:
            episode.step(1, reward, 0.5)
    with pytest.raises(ConversionError, match="reward"):
        convert(tmp_path / "ours", tmp_path / "copy-v0", kind, allow_loss=True)


def test_numbers_become_another_dtype_only_bit_for_bit() -> None:
    """By value, and by the sign of zero."""
    assert uniform([1, 0.5], np.float64)[0].tolist() == [1.0, 0.5]
    assert uniform([np.uint8(3), 4], np.uint8)[0].dtype == np.uint8
    for mixed, dtype in (
        ([2**53 + 1, 0.5], np.float64),
        ([2**63 - 1, 0.5], np.float64),
        ([1, np.float64(-0.0)], np.int64),
        ([np.int8(-1), 255], np.uint8),
        ([np.float64(0.1), np.float32(0.5)], np.float32),
    ):
        assert uniform(mixed, dtype) == (None, "values differ in dtype")


@pytest.mark.parametrize("name", ["a/b", "", ".", "a\0b"])
def test_observations_that_hdf5_cannot_name_are_refused(name: str, tmp_path: Path) -> None:
    """Before anything is written; Arrow has columns of any name."""
    declared = specs.Dict(
        {"observation": specs.Dict({name: specs.Array((), np.float64)}), "action": specs.Array((), np.int64)}
    )
    with EpisodeWriter(tmp_path / "ours", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start({name: 0.0})
        episode.step(1, 1.0, {name: 0.5})
    with pytest.raises(ConversionError, match="observation: Minari cannot store a space of the name"):
        convert(tmp_path / "ours", tmp_path / "copy-v0", "minari", allow_loss=True)
    assert convert(tmp_path / "ours", tmp_path / "copy-v0", "minari-arrow").losses == ()


@pytest.mark.parametrize("content", [{"x": {}}, {}])
def test_observations_of_nothing_are_refused(content: dict[str, Any], tmp_path: Path) -> None:
    """Their number is unknown."""
    declared = specs.Dict({"observation": specs.infer(content), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path / "ours", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(content)
        episode.step(1, 1.0, content)
    with pytest.raises(ConversionError, match="spaces of nothing"):
        convert(tmp_path / "ours", tmp_path / "copy-v0", "minari", allow_loss=True)


def test_observation_with_other_keys_than_the_space_is_refused() -> None:
    """A key that is not in the space would be lost."""
    space = spaces.Dict({"a": spaces.Discrete(2)})
    for value in ({"a": 1, "b": 2}, {"b": 2}):
        with pytest.raises(ConversionError, match="observation: Minari needs the keys a in every value"):
            column([value], space, "observation")


def test_end_that_the_flags_do_not_say_is_lost(tmp_path: Path) -> None:
    """An episode that the caller broke off, whose last step was a terminal one, is a terminal one for Minari."""
    declared = specs.Dict({"observation": specs.Array((), np.float64), "action": specs.Array((), np.int64)})
    with Recorder(tmp_path / "ours", declared, mode="error") as recorder:
        recording = recorder.start_episode()
        recording.append({"observation": 0.0})
        recording.append({"observation": 0.5}, {"action": 1, "reward": 1.0})
        recording.end(EpisodeEnd.INTERRUPTED, terminated=True)
    report = convert(tmp_path / "ours", tmp_path / "copy-v0", "minari", allow_loss=True)
    assert [loss.field for loss in report.losses] == ["end"]
    (episode,) = MinariReader(tmp_path / "copy-v0")
    assert episode.end is EpisodeEnd.TERMINATED


@pytest.mark.parametrize(
    ("fields", "is_stored"),
    [
        ({"acted": {"torque": 1.0}}, False),
        ({"info": [{"a": 1}, {}, {"a": 2}]}, False),
        ({"discount": 0.5}, False),
        ({"metadata": {"none": None}}, False),
        ({"seed": 5, "options": {"low": 0.5}}, True),
    ],
)
def test_what_the_format_cannot_store_is_lost(
    fields: dict[str, Any], root: Path, tmp_path: Path, *, is_stored: bool
) -> None:
    """Something is lost exactly where the format cannot store it."""
    _record(tmp_path / "ours", **fields)
    report = convert(tmp_path / "ours", root / "copy-v0", "minari", allow_loss=True)
    assert is_stored is (report.losses == ())


def test_missing_final_observation_costs_the_last_action(minari: Any, root: Path, tmp_path: Path) -> None:
    """It is not invented: the last action goes, and the episode did not end where it stops now."""
    declared = specs.Dict({"observation": specs.Array((), np.float64), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path / "ours", declared, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.0)
        episode.step(1, 1.0, 0.5)
        episode.step(2, 2.0, terminated=True)
    report = convert(tmp_path / "ours", root / "copy-v0", "minari", allow_loss=True)
    assert {loss.field for loss in report.losses} == {"action", "reward", "end"}
    (copy,) = samples.load(minari, "copy-v0")
    assert (copy.observations.tolist(), copy.actions.tolist()) == ([0.0, 0.5], [1])
    assert [each.any() for each in (copy.terminations, copy.truncations)] == [False, False]


def test_flags_before_the_last_step_are_kept(minari: Any, root: Path, tmp_path: Path) -> None:
    """A dataset with steps after a terminal one is read back unchanged."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2), flags=[(False, True)])
    with h5py.File(root / "own-v0" / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/terminations"][1] = True
    convert(root / "own-v0", tmp_path / "ours")
    convert(tmp_path / "ours", root / "copy-v0", "minari")
    (copy,) = samples.load(minari, "copy-v0")
    assert copy.terminations.tolist() == [False, True, False]
    assert copy.truncations.tolist() == [False, False, True]


def test_spaces_survive_their_json() -> None:
    """As Minari's own package writes and reads them."""
    from minari.serialization import deserialize_space, serialize_space

    for space in SPACES.values():
        assert json.loads(to_json(space)) == json.loads(serialize_space(space))
        assert from_json(to_json(space)) == space == deserialize_space(to_json(space))


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 100_000, '{"type": "Graph"}', '{"type": "Box"}', '{"type": "Discrete", "n": -1}']
)
def test_spaces_that_are_none_are_refused(text: str) -> None:
    """With an error of ours."""
    with pytest.raises(FormatError, match="Minari"):
        from_json(text)


@pytest.mark.parametrize("harm", ["short", "missing", "link", "nonsense"])
def test_harmed_files_are_refused(harm: str, minari: Any, root: Path, tmp_path: Path) -> None:
    """Each with an error that says what was expected; links to other files are not followed."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2))
    path = root / "own-v0" / "data" / "main_data.hdf5"
    if harm == "nonsense":
        path.write_bytes(b"x" * 100)
    else:
        with h5py.File(path, "a") as file:
            group = file["episode_1"]
            values = group["actions"][:2]
            del group["actions"]
            if harm == "short":
                group["actions"] = values
            if harm == "link":
                group["actions"] = h5py.ExternalLink(str(tmp_path / "secret.hdf5"), "/actions")
    with pytest.raises(FormatError, match="expected"):
        convert(root / "own-v0", tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def _replaced(name: str, value: Any) -> Callable[[Any], None]:
    def harm(group: Any) -> None:
        del group[name]
        group.create_dataset(name, data=value)

    return harm


@pytest.mark.parametrize(
    "harm",
    [
        _replaced("observations", 5.0),
        _replaced("observations", h5py.Empty("f")),
        _replaced("actions", h5py.Empty("f")),
        _replaced("rewards", np.zeros(3, "S3")),
        _replaced("rewards", ["a", "b", "c"]),
        lambda group: group.attrs.update({"a": 1, "a/b": 2}),
        lambda group: group.attrs.update({"options/b": 1, "options": 3}),
        lambda group: group.attrs.update({"seed": 1.5}),
        lambda group: group.create_group("infos").create_dataset("x", data=h5py.Empty("f")),
        lambda group: group.file.create_dataset("episode_9", data=1),
    ],
)
def test_data_of_other_kinds_are_refused(harm: Callable[[Any], None], minari: Any, root: Path, tmp_path: Path) -> None:
    """Nothing is guessed, and no attribute hides another."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2))
    with h5py.File(root / "own-v0" / "data" / "main_data.hdf5", "a") as file:
        harm(file["episode_1"])
    with pytest.raises(FormatError, match="expected"):
        convert(root / "own-v0", tmp_path / "ours")


@pytest.mark.parametrize("stored", [[1], {}, None])
def test_storage_of_no_name_is_refused(stored: Any, minari: Any, root: Path) -> None:
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2))
    path = root / "own-v0" / "data" / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"data_format": stored}))
    with pytest.raises(FormatError, match="expected a dataset that is stored as"):
        MinariReader(root / "own-v0")


def test_missing_h5py_is_an_error_with_the_line_to_install_it(
    minari: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core does not need it."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2))
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingExtraError, match="compat"):
        MinariReader(root / "own-v0")


def test_iterations_are_independent(minari: Any, root: Path) -> None:
    """Two at once give the same episodes."""
    samples.write(minari, "own-v0", spaces.Discrete(3), spaces.Discrete(2))
    reader = MinariReader(root / "own-v0")
    assert [content_of(one) == content_of(two) for one, two in zip(reader, reader, strict=True)] == [True] * 4
