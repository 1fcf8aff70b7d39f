"""The spec of several datasets."""

from pathlib import Path

import numpy as np
import pytest

from rlds_kit import SpecError
from rlds_kit import spec as specs
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools.edit.one_spec import one_spec
from rlds_kit.tools.upkeep.source import read_source


def datasets(folder: Path, *shapes: tuple[int | None, ...] | None) -> list[Path]:
    """Datasets without episodes whose observations have these shapes."""
    paths = [folder / str(number) for number in range(len(shapes))]
    for path, shape in zip(paths, shapes, strict=True):
        with Recorder(path, None if shape is None else specs.Dict({"observation": specs.Array(shape, np.uint8)})):
            pass
    return paths


def test_widest_spec_is_taken(tmp_path: Path) -> None:
    sources = [read_source(path) for path in datasets(tmp_path, (2, 3), (None, 3), (None, None), (2, None))]
    assert one_spec(sources) == specs.Dict({"observation": specs.Array((None, None), np.uint8)})


def test_specs_of_which_none_is_the_widest_are_refused(tmp_path: Path) -> None:
    """Both datasets and the field are named."""
    sources = [read_source(path) for path in datasets(tmp_path, (None, 3), (2, None))]
    with pytest.raises(SpecError, match=r"(?s)1 \(the writer\) .*0 \(the dataset\).*  observation: "):
        one_spec(sources)


def test_declared_and_undeclared_fields_are_refused(tmp_path: Path) -> None:
    """What one dataset promises the other one may break."""
    sources = [read_source(path) for path in datasets(tmp_path, (2,), None)]
    with pytest.raises(SpecError, match="observation"):
        one_spec(sources)


def test_three_specs_that_fit_the_first_but_not_each_other_are_refused(tmp_path: Path) -> None:
    """The first one is narrower than two that contradict each other."""
    sources = [read_source(path) for path in datasets(tmp_path, (2, 3), (None, 3), (2, None))]
    with pytest.raises(SpecError, match="as wide as all others"):
        one_spec(sources)


def test_spec_in_dataset_json_that_contradicts_the_shards_is_not_used(tmp_path: Path) -> None:
    """No shard needs that file."""
    wrong, path = datasets(tmp_path, (9,), (2,))
    with Recorder(path, specs.Dict({"observation": specs.Array((2,), np.uint8)})) as recorder:
        recorder.start_episode().append({"observation": np.zeros(2, np.uint8)})
    (path / "dataset.json").write_bytes((wrong / "dataset.json").read_bytes())
    assert one_spec([read_source(path)]) == specs.Dict({"observation": specs.Array((2,), np.uint8)})
