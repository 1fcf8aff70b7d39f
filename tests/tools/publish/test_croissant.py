"""The Croissant description."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.publish import publish
from tests.tools.publish.recording import ABOUT, record


def croissant_of(directory: Path) -> Any:  # JSON
    """Publishes beside a dataset, and returns croissant.json."""
    publish(directory, directory.parent / "published", ABOUT)
    return json.loads((directory.parent / "published/croissant.json").read_text("utf-8"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of libraries that mlcroissant imports
def test_mlcroissant_accepts_it(tmp_path: Path) -> None:
    """Without an error and without a warning."""
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=croissant_of(record(tmp_path / "d", shards=2, info={"lives": 3})))
    assert dataset.metadata.ctx.issues.report() == ""
    assert dataset.metadata.name == "Grid"
    fields = {field.name: field for field in dataset.metadata.record_sets[0].fields}
    assert fields["observation/image"].array_shape_tuple == (12, 10, 3)


def test_every_file_of_data_has_size_and_digest(tmp_path: Path) -> None:
    """Shards and dataset.json, under the names they have beside it."""
    content = croissant_of(record(tmp_path / "d", shards=2))
    files = [each for each in content["distribution"] if each["@type"] == "cr:FileObject"]
    assert len(files) == 3
    for each in files:
        data = (tmp_path / "published" / each["contentUrl"]).read_bytes()
        assert (each["sha256"], each["contentSize"]) == (hashlib.sha256(data).hexdigest(), f"{len(data)} B")


def test_says_what_the_dataset_says_of_itself(tmp_path: Path) -> None:
    """Licence by its address, citation, homepage, and the version of Croissant."""
    content = croissant_of(record(tmp_path / "d"))
    assert content["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert (content["citeAs"], content["url"]) == (ABOUT.citation, ABOUT.homepage)
    assert content["conformsTo"] == "http://mlcommons.org/croissant/1.1"


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", "sc:Boolean"),
        *((f"int{bits}", f"cr:Int{bits}") for bits in (8, 16, 32, 64)),
        *((f"uint{bits}", f"cr:UInt{bits}") for bits in (8, 16, 32, 64)),
        *((f"float{bits}", f"cr:Float{bits}") for bits in (16, 32, 64)),
    ],
)
def test_every_dtype_has_its_name(tmp_path: Path, dtype: str, expected: str) -> None:
    """As section "Data types" of Croissant 1.1 has them."""
    with (
        EpisodeWriter(tmp_path / "d", specs.Dict({"x": specs.Array((2,), dtype)})) as writer,
        writer.episode() as episode,
    ):
        episode.start(np.float32(0), x=np.zeros(2, dtype))
        episode.step(0, 1.0, np.float32(1), x=np.zeros(2, dtype), terminated=True)
    fields = {each["name"]: each for each in croissant_of(tmp_path / "d")["recordSet"][0]["field"]}
    assert fields["x"]["dataType"] == expected


def test_types_and_shapes(tmp_path: Path) -> None:
    """Numbers keep their type; varying lengths are -1; scalars are not arrays."""
    spec = specs.Dict({"observation": specs.Array((None, 2), np.float16), "action": specs.Array((), np.uint16)})
    with EpisodeWriter(tmp_path / "d", spec) as writer, writer.episode() as episode:
        episode.start(np.zeros((3, 2), np.float16))
        episode.step(np.uint16(1), 1.0, np.zeros((1, 2), np.float16), terminated=True)
    fields = {each["name"]: each for each in croissant_of(tmp_path / "d")["recordSet"][0]["field"]}
    assert (fields["observation"]["dataType"], fields["observation"]["arrayShape"]) == ("cr:Float16", "-1,2")
    assert (fields["action"]["dataType"], "isArray" in fields["action"]) == ("cr:UInt16", False)
    assert fields["is_first"]["dataType"] == "sc:Boolean"
