"""The golden dataset of format version 1 opens for ever, and docs/format.md describes its bytes."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL
from rlds_kit.layers import layers_pb2
from tests import independent_reader
from tests.data import make_v1, make_v1_predict, make_v1_runs, make_v1_split, tiny_shard

DATASET = make_v1.HOME / "dataset"
TRUTH = json.loads((make_v1.HOME / "truth.json").read_text("utf-8"))
IMAGES = make_v1_predict.HOME / "dataset"
NOISE = make_v1_split.HOME / "dataset"
RUNS = make_v1_runs.HOME / "dataset"
CHECKOUT = Path(__file__).parent.parent
FORMAT = CHECKOUT / "docs" / "format.md"
PROTOS = [Path(rlds_kit.__file__).parent / name for name in ("base/rlds_kit.proto", "layers/layers.proto")]

needs_docs = pytest.mark.skipif(not FORMAT.exists(), reason="a wheel holds no docs")


def _stated(value: Any) -> Any:  # a value as the independent reader returns it
    """The same as the truth states it: dicts sorted, bytes in hex."""
    if isinstance(value, bytes):
        return make_v1.stated(value)
    if isinstance(value, list):
        items = [_stated(item) for item in value]
        return ["dict", sorted(items[1], key=json.dumps)] if items[:1] == ["dict"] else items
    return {key: _stated(item) for key, item in value.items()} if isinstance(value, dict) else value


def _require_truth(dataset: rlds_kit.Dataset) -> None:
    """Fails unless every episode, step and value is as in the truth, type for type and bit for bit."""
    assert [episode.id.hex for episode in dataset.episodes] == [truth["id"] for truth in TRUTH]
    for episode, truth in zip(dataset.episodes, TRUTH, strict=True):
        assert episode.end is rlds_kit.EpisodeEnd[truth["end"]]
        assert (episode.terminated, episode.truncated) == (truth["terminated"], truth["truncated"])
        for name in ("seed", "options", "metadata"):
            assert make_v1.typed(getattr(episode, name)) == truth[name]
        assert episode.length == len(truth["rows"])
        masks = {name: episode.mask(name) for name in make_v1.DECLARED.fields}
        for row, (step, expected) in enumerate(zip(episode.steps, truth["rows"], strict=True)):
            last = row == episode.length - 1
            assert {name: step.pop(name) for name in FLAGS} == {
                IS_FIRST: row == 0,
                IS_LAST: last,
                IS_TERMINAL: last and truth["end"] == "TERMINATED",
            }
            assert {name: make_v1.typed(step[name]) for name in expected} == expected
            assert step.keys() == expected.keys() | make_v1.DECLARED.fields.keys()
            for name, mask in masks.items():
                assert mask[row] == (name in expected)


def test_golden_dataset_reads_to_the_truth() -> None:
    """Every value of version 1 comes back exactly."""
    _require_truth(rlds_kit.open(DATASET))


def test_golden_dataset_reads_to_the_truth_without_its_indexes(tmp_path: Path) -> None:
    """Shards that were never closed give the same."""
    for path in sorted(DATASET.glob("*.riegeli")):
        index = independent_reader.Shard(path).index
        end = independent_reader.number(index, 2) or path.stat().st_size
        (tmp_path / path.name).write_bytes(path.read_bytes()[:end])
    dataset = rlds_kit.open(tmp_path)

    _require_truth(dataset)
    assert all(bool(one.content_digest) == (one.end is not rlds_kit.EpisodeEnd.INCOMPLETE) for one in dataset.episodes)


def test_independent_reader_reads_to_the_truth() -> None:
    """A reader written from docs/format.md alone finds the same values."""
    assert [_stated(episode.state()) for episode in independent_reader.episodes(DATASET)] == TRUTH


def test_independent_reader_computes_the_content_digests() -> None:
    """The content digest is that of docs/format.md, and the library returns it."""
    ours = {episode.id.bytes: episode.content_digest for episode in rlds_kit.open(DATASET).episodes}
    theirs = {one.episode_id: one.digest() if one.end else b"" for one in independent_reader.episodes(DATASET)}

    assert ours == theirs


def test_independent_reader_agrees_about_the_shards() -> None:
    """Two shards are closed, and the third ends in the middle of a chunk: its writer was killed."""
    shards = [independent_reader.Shard(path) for path in sorted(DATASET.glob("*.riegeli"))]

    assert [bool(shard.index) for shard in shards] == [True, True, False]
    assert [shard.is_torn for shard in shards] == [False, False, True]


def test_independent_reader_imports_nothing_of_ours() -> None:
    """Otherwise it would prove little."""
    imported = re.findall(r"^(?:import|from) (\w+)", Path(independent_reader.__file__).read_text("utf-8"), re.MULTILINE)

    assert not {"rlds_kit", "tests", "google", "numpy"} & set(imported)


def test_golden_dataset_holds_everything_that_the_format_has() -> None:
    """Every kind, filter, codec, ending, spec and record; partial and ragged columns."""
    make_v1.check_coverage(DATASET, IMAGES, NOISE, RUNS)


@pytest.mark.parametrize("home", [make_v1_predict.HOME, make_v1_split.HOME, make_v1_runs.HOME])
def test_golden_images_read_to_the_truth(home: Path) -> None:
    """Lines that are predicted and runs come back, from both readers, with the same digest."""
    truth = json.loads((home / "truth.json").read_text("utf-8"))
    (ours,) = rlds_kit.open(home / "dataset").episodes
    (theirs,) = independent_reader.episodes(home / "dataset")

    assert [_stated(theirs.state())] == truth
    for step, expected in zip(ours.steps, truth[0]["rows"], strict=True):
        assert {name: make_v1.typed(step[name]) for name in expected} == expected
    assert ours.content_digest == theirs.digest()


def test_golden_images_have_every_mode_every_noise_and_runs_of_every_kind() -> None:
    """So the test above means all of the three filters."""
    assert make_v1_predict.modes(IMAGES) == set(range(28))
    assert make_v1_split.noises(NOISE) == set(range(7))
    assert make_v1_runs.pairs(RUNS) == {"run", "long gap", "long run"}


def test_golden_dataset_opens_after_a_copy(tmp_path: Path) -> None:
    """Nothing in it depends on where it lies; dataset.json is not needed."""
    shutil.copytree(DATASET, tmp_path / "copy")
    (tmp_path / "copy" / "dataset.json").unlink()

    assert rlds_kit.open(tmp_path / "copy").content_digest == rlds_kit.open(DATASET).content_digest


def test_stacked_fields_of_golden_dataset_equal_its_steps() -> None:
    """Reading a field of all steps at once gives what the single steps have."""
    for episode in rlds_kit.open(DATASET).episodes:
        steps = list(episode.steps)
        assert np.array_equal(episode["reward"], [step["reward"] for step in steps])
        assert np.array_equal(episode["observation"]["pixels"], [step["observation"]["pixels"] for step in steps])


@needs_docs
def test_hex_dump_shows_the_bytes_that_are_written(tmp_path: Path) -> None:
    """The worked example in docs/format.md is a shard as this release writes it, byte for byte."""
    tiny_shard.write(tmp_path / "episodes-tiny.riegeli")
    (dump,) = re.findall(r"^```hexdump\n(.*?)^```$", FORMAT.read_text("utf-8"), re.MULTILINE | re.DOTALL)

    assert (tmp_path / "episodes-tiny.riegeli").read_bytes() == tiny_shard.parse(dump)


def test_both_readers_read_the_tiny_shard(tmp_path: Path) -> None:
    """The worked example has the content that docs/format.md describes."""
    tiny_shard.write(tmp_path / "episodes-tiny.riegeli")
    (theirs,) = independent_reader.episodes(tmp_path)
    (ours,) = rlds_kit.open(tmp_path).episodes

    assert theirs.digest() == ours.content_digest
    assert _stated(theirs.state()["rows"]) == [
        {
            "observation": ["array", "uint8", [2], "0a14"],
            "action": ["int", "3"],
            "reward": ["float", "000000000000e03f"],
        },
        {"observation": ["array", "uint8", [2], "0a15"]},
    ]
    assert (ours.steps[0]["action"], ours.steps[0]["reward"]) == (3, 0.5)
    assert ours.end is rlds_kit.EpisodeEnd.TERMINATED


@needs_docs
def test_format_page_has_every_message_of_the_proto() -> None:
    """Messages and enums stand in docs/format.md as they are in the .proto files, comments aside."""
    page = "\n".join(re.findall(r"^```proto\n(.*?)^```$", FORMAT.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    files = [module.DESCRIPTOR for module in (pb, layers_pb2)]
    assert _definitions(page) == _definitions("\n".join(path.read_text("utf-8") for path in PROTOS))
    assert _definitions(page).keys() == {
        name for each in files for name in (*each.message_types_by_name, *each.enum_types_by_name)
    }


def _definitions(text: str) -> dict[str, str]:
    """Messages and enums by name, without comments and white space."""
    bare = re.sub(r"//.*", "", text)
    found = re.findall(r"^(?:message|enum) (\w+) (\{.*?^\})", bare, re.MULTILINE | re.DOTALL)
    return {name: "".join(body.split()) for name, body in found}
