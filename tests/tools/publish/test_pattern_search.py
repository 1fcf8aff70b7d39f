"""The search of whole datasets for patterns."""

from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.progress import Meter
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools import edit
from rlds_kit.tools.publish.pattern_search import search
from tests.tools.publish.recording import record


def found(directory: Path) -> dict[str, set[str]]:
    """Fields that match, and the kinds of data."""
    matches = search(rlds_kit.open(directory), Meter(None, 0)).matches
    return {name: match.kinds for name, match in matches.items()}


def test_ordinary_dataset_has_none(tmp_path: Path) -> None:
    """Scores, seeds, versions and words are none."""
    assert found(record(tmp_path / "d", metadata={"task": "walk"})) == {}


def test_metadata_are_searched(tmp_path: Path) -> None:
    """In nests, lists and bytes, too; the name of a parent is part of the name of a value."""
    metadata = {"people": [{"mail": b"ada@example.org"}], "user": {"name": "ada"}, "phone": 4917012345678}
    expected = {"metadata/people/mail": {"e-mail address"}, "metadata/user/name": {"user name"}}
    assert found(record(tmp_path / "d", metadata=metadata)) == {**expected, "metadata/phone": {"phone number"}}


def test_keys_are_searched(tmp_path: Path) -> None:
    """The keys of a dict of scores may be names of players; a key `user` alone is no match."""
    metadata = {"scores": {"ada@example.org": 3}, "user": {"is_expert": True}}
    path = "metadata/scores/ada@example.org"
    assert found(record(tmp_path / "d", metadata=metadata, info={"ada@example.org": 1.0})) == {
        path: {"e-mail address"},
        "info/ada@example.org": {"e-mail address"},
    }


@pytest.mark.parametrize(
    "data",
    [
        b"ada@example.org\0\0",
        b"seven\0ada@example.org\0",
        "Zoë, ada@example.org\n".encode("latin-1"),
        "ada@example.org".encode("utf-16"),
    ],
    ids=repr,
)
def test_bytes_that_are_text_are_searched(tmp_path: Path, data: bytes) -> None:
    """Padded with zeros, as C has it, or in another encoding than UTF-8."""
    assert found(record(tmp_path / "d", metadata={"note": data})) == {"metadata/note": {"e-mail address"}}


def test_bytes_that_are_none_are_left_alone(tmp_path: Path) -> None:
    """Compressed data are not read as Latin-1, in which everything is text."""
    noise = np.random.default_rng(0).bytes(50) + b" ada@example.org " + b"\x93\xff"
    assert found(record(tmp_path / "d", metadata={"noise": noise})) == {}


def test_arrays_in_metadata_are_judged_by_name(tmp_path: Path) -> None:
    metadata = {"phone": np.array([4917012345678])}
    assert found(record(tmp_path / "d", metadata=metadata)) == {"metadata/phone": {"phone number"}}


def test_versions_are_no_addresses(tmp_path: Path) -> None:
    """Some packages have versions of four numbers; under another name these are an address."""
    metadata = {"versions": {"opencv-python": "4.11.0.86"}, "from": "4.11.0.86"}
    assert found(record(tmp_path / "d", metadata=metadata)) == {"metadata/from": {"IP address"}}


def test_texts_of_steps_are_searched(tmp_path: Path) -> None:
    """Declared ones, and those that turned up in `info`."""
    directory = record(tmp_path / "d", words="ask ada@example.org", info={"log": ["saved in /home/ada/x"]})
    assert found(directory) == {"observation/words": {"e-mail address"}, "info/log": {"home directory"}}


def test_numbers_of_steps_are_judged_by_name(tmp_path: Path) -> None:
    assert found(record(tmp_path / "d", info={"ip_address": np.zeros(4, np.uint8)})) == {
        "info/ip_address": {"IP address"}
    }


def test_run_metadata_and_options_are_searched(tmp_path: Path) -> None:
    """The metadata may name the place of the recording."""
    with (
        EpisodeWriter(tmp_path / "d", metadata={"host": "lab-7"}) as writer,
        writer.episode(options={"save": "/home/ada/x"}) as episode,
    ):
        episode.start(0)
        episode.step(1, 1.0, 0, terminated=True)
    assert found(tmp_path / "d") == {"run_metadata/host": {"host name"}, "options/save": {"home directory"}}


def test_what_was_added_to_dataset_json_is_searched(tmp_path: Path) -> None:
    """But not citation and description: they were written to be read."""
    directory = record(tmp_path / "d")
    text = (directory / "dataset.json").read_text("utf-8")
    text = text.replace('"citation": ""', '"citation": "Ada, ada@example.org", "contact": "ada@example.org"')
    (directory / "dataset.json").write_text(text, "utf-8")
    assert found(directory) == {"dataset.json/contact": {"e-mail address"}}


def test_layers_are_searched(tmp_path: Path) -> None:
    """Sources, texts, values and user data, also of retracted annotations; every source counts as a person."""
    directory = record(tmp_path / "d")
    dataset = rlds_kit.open(directory)
    episode = dataset.episodes[0]
    said = [
        layers.tag(episode, "good"),
        layers.note(episode, "ask ada@example.org", 1, user_data={"log": "/home/ada/x"}),
        layers.amendment(episode, "phone", np.int64(4917012345678), 2),
        layers.amendments(episode, "words", np.array(["left", "call +49 170 1234567"])),
    ]
    *_, note, _, _ = dataset.annotate("review", said, source="anna")
    dataset.annotate("review", [layers.retraction(note)], source="bob")
    assert found(directory) == {
        "layers/review/source": {"user name"},
        "layers/review/note": {"e-mail address"},
        "layers/review/user_data/log": {"home directory"},
        "layers/review/phone": {"phone number"},
        "layers/review/words": {"phone number"},
    }


def test_lineage_is_searched(tmp_path: Path) -> None:
    """The condition by which episodes were chosen may name a person."""
    directory = record(tmp_path / "d", metadata={"player": "p7"})
    edit.filter(directory, tmp_path / "some", "player != 'ada@example.org'")
    edit.merge([tmp_path / "some"], tmp_path / "merged")
    (path, kinds), *others = found(tmp_path / "merged").items()
    assert (path.startswith("dataset.json/lineage/sources/lineage/arguments/"), kinds) == (True, {"e-mail address"})
    assert others == []


def test_example_is_cut(tmp_path: Path) -> None:
    """A report may end up in a log; it does not repeat the secret."""
    directory = record(tmp_path / "d", metadata={"note": "hf_" + "a" * 34})
    match = search(rlds_kit.open(directory), Meter(None, 0)).matches["metadata/note"]
    assert match.example == "hf_a…"


@pytest.mark.parametrize("value", [None, "", True])
def test_empty_field_is_none(tmp_path: Path, value: object) -> None:
    """A field that is called so and has nothing in it gives nothing away."""
    assert found(record(tmp_path / "d", metadata={"user": value})) == {}
