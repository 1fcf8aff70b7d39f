"""`rlds_kit.lint.lint`: choosing rules, reading little, reporting."""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rlds_kit
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.cli.output import plain
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.protocol import ForeignEpisode
from rlds_kit.convert.rows import Rows
from rlds_kit.lint import RULES, chosen, lint
from rlds_kit.lint import run as running
from rlds_kit.lint.dynamics import numbers_to_probe
from rlds_kit.lint.foreign_subject import ReadEpisode
from rlds_kit.lint.nests import columns_between, leaves_of
from rlds_kit.lint.subject import Leaf
from tests.convert.lerobot_samples import record
from tests.lint.datasets import Course, courses, write


def _faulty(course: Course) -> None:
    course.discounts[-1] = 1.0
    course.rewards[3] = float("nan")


def test_open_datasets_and_views(tmp_path: Path) -> None:
    """Episodes have the numbers that they have in the view."""
    dataset = rlds_kit.open(write(tmp_path / "d", [*courses(3), *courses(5, _faulty)[3:]]))
    report = lint(dataset.take([4, 0]), select=["RK301"])
    assert ([str(place) for place in report.findings[0].places], report.episodes) == (["0:3"], 2)


def test_rules_are_chosen_by_id_and_by_theme(tmp_path: Path) -> None:
    """What is ignored is not looked for."""
    path = write(tmp_path / "d", courses(2, _faulty))
    assert lint(path).rules == ("RK210", "RK301")
    assert lint(path, select=["rk2"]).rules == ("RK210",)
    assert lint(path, ignore=["RK210"]).rules == ("RK301",)
    assert lint(path, select=["RK2", "RK3"], ignore=["RK3"]).rules == ("RK210",)


@pytest.mark.parametrize("name", ["RK999", "", "X"])
def test_unknown_rules(name: str) -> None:
    """The error lists those there are."""
    with pytest.raises(ValueError, match="expected ids of rules or beginnings of them, of RK001, RK101"):
        chosen([name])


def test_no_dataset(tmp_path: Path) -> None:
    """The error says what is expected."""
    with pytest.raises(NotADatasetError, match="expected a dataset of a known format, but there is nothing"):
        lint(tmp_path / "nothing")


def test_findings_do_not_depend_on_how_many_rows_are_shown_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on how the dataset is cut into blocks."""

    def change(course: Course) -> None:
        _faulty(course)
        course.others = [{"timestamp": row - 5 * (row >= 12)} for row in range(21)]
        course.rewards = [min(float(each), 0.5) for each in course.rewards]

    path = write(tmp_path / "d", courses(24, change))
    whole = lint(path, ignore=["RK209"])
    monkeypatch.setattr(running, "MOST_ROWS", 4)
    pieces = lint(path, ignore=["RK209"])
    assert [(each.rule, each.field, each.count, each.places) for each in pieces.findings] == [
        (each.rule, each.field, each.count, each.places) for each in whole.findings
    ]
    assert whole.rules == ("RK210", "RK301", "RK305", "RK602")


def test_images_are_not_decoded_for_rewards(tmp_path: Path) -> None:
    """A block whose images are damaged is no hindrance to rules that do not look at them."""

    def change(course: Course) -> None:
        random = np.random.default_rng(course.seed)
        course.observations = list(random.integers(0, 255, (21, 32, 32, 3), np.uint8))

    path = write(tmp_path / "d", courses(2, change))
    (shard,) = path.glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    image = np.random.default_rng(0).integers(0, 255, (21, 32, 32, 3), np.uint8)[0].tobytes()
    at = data.find(image[:32])
    assert at > 0, "noise is stored as it is"
    data[at] ^= 0xFF
    shard.write_bytes(data)
    assert lint(path, select=["RK210", "RK211", "RK304", "RK308"]).findings == ()
    assert lint(path, select=["RK303"]).rules == ("RK001",)


def test_progress_ends_with_all_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "d", courses(5))
    told: list[tuple[int, int]] = []
    lint(path, against=[path], progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == 2 * sum(each.stat().st_size for each in path.glob("*.riegeli"))
    assert all(one[0] <= other[0] for one, other in itertools.pairwise(told))


def test_report_is_json(tmp_path: Path) -> None:
    """And its counts are those of the findings."""
    report = lint(write(tmp_path / "d", courses(12, _faulty)), ignore=["RK209"])
    assert json.loads(json.dumps(plain(report)))["episodes"] == 12
    assert report.statistics == {"RK210": 12, "RK301": 12}
    assert len(report.findings[0].places) == 10


def test_episodes_that_are_played_again_are_spread() -> None:
    """The first and the last are among them."""
    assert sorted(numbers_to_probe(3)) == [0, 1, 2]
    assert sorted(numbers_to_probe(0)) == [0]


def test_rules_have_ids_by_theme() -> None:
    """Sorted, each once, and each with its own name."""
    assert list(RULES) == sorted(RULES)
    assert len({each.name for each in RULES.values()}) == len(RULES)


def test_columns_and_rows_of_a_reader_are_alike() -> None:
    """Columns are used directly if a reader has them; their values are the same."""
    rows = Rows({"observation": {"x": np.arange(4.0), "words": ["a", "b", "c", "d"]}, "info": np.arange(2)}, 4)
    columns = columns_between(rows.columns, 1, 4, lambda path: path != "observation/y")
    expected = leaves_of(rows[1:4], 1)
    assert columns.keys() == expected.keys() == {"observation/x", "observation/words", "info"}
    for path, leaf in columns.items():
        assert (leaf.values.tolist(), leaf.rows.tolist()) == (
            expected[path].values.tolist(),
            expected[path].rows.tolist(),
        )


@pytest.mark.parametrize("are_columns", [True, False])
def test_fields_that_only_some_steps_have_are_looked_at(are_columns: bool) -> None:
    """Wherever they begin and end."""
    values = {"observation": np.arange(6.0), "late": np.array([7.0]), "middle": np.array([8.0, np.nan])}
    rows = Rows(values, 6, {"late": 5, "middle": 2})
    episode = ForeignEpisode(rows if are_columns else list(rows), [], EpisodeEnd.INTERRUPTED)
    read = ReadEpisode(0, episode, {})
    for begin, end in ((0, 6), (3, 6), (0, 3), (1, 2)):
        leaves = read.leaves(lambda _: True, begin, end)
        found = {path: leaf.rows.tolist() for path, leaf in leaves.items()}
        places = {"observation": range(6), "late": [5], "middle": [2, 3]}
        expected = {name: [row for row in each if begin <= row < end] for name, each in places.items()}
        assert found == {name: each for name, each in expected.items() if each}


def test_an_episode_of_a_foreign_format_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Its images are decoded when they are looked at; the episodes after it are looked at as well."""
    path = tmp_path / "lerobot"
    convert(record(tmp_path / "d"), path, "lerobot", allow_loss=True)
    (file,) = (path / "data").rglob("*.parquet")
    table = pq.read_table(file)
    place = table.schema.get_field_index("observation.screen")
    images = table.column(place).to_pylist()
    row = table.column("episode_index").to_pylist().index(0)
    images[row]["bytes"] = b"no image"
    pq.write_table(
        table.set_column(place, table.schema.field(place), pa.array(images, table.schema.types[place])), file
    )
    report = lint(path, select=["RK303"])
    assert [(each.rule, str(each.places[0])) for each in report.findings if each.rule == "RK001"] == [("RK001", "0")]
    assert report.episodes == 3


def test_few_rows_of_unknown_size_are_shown_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of values are unknown for shapes with open lengths and for undeclared fields."""

    def change(course: Course) -> None:
        course.others = [{"picture": np.full((100, 100), row, np.uint8)} for row in range(21)]

    seen: list[int] = []
    saw = running._Window.saw

    def counted(window: running._Window, leaves: Iterable[Leaf], rows: int) -> None:
        seen.append(rows)
        saw(window, leaves, rows)

    monkeypatch.setattr(running._Window, "saw", counted)
    monkeypatch.setattr(running, "STRETCH_BYTES", 50_000)
    lint(write(tmp_path / "d", courses(3, change)), select=["RK302"])
    assert max(seen[:2]) <= running.FIRST_ROWS
    assert seen[1] <= 50_000 // 10_000
