"""From a foreign format to ours and back: `rlds-kit diff` finds the two datasets equal, and nothing was lost."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.convert import formats
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.opening import open_any
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.compare import Report, diff
from tests.convert import lerobot_samples, minari_samples
from tests.convert.test_envlogger import CASES, GOLDEN
from tests.convert.test_minari import SPACES
from tests.repetitions import repetitions

FOREIGN = [name for name in formats.WRITABLE if name != "rlds_kit"]
MINARI = {name: name.partition("-")[2] or "hdf5" for name in FOREIGN if name.startswith("minari")}
IMAGE = spaces.Box(0, 255, (40, 32, 3), np.uint8)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "cache"))


def there_and_back(source: Path, directory: Path) -> Report:
    """Converts a foreign dataset to ours and that to its own format, and compares the two."""
    name = formats.recognised(source).name
    assert convert(source, directory / "ours").losses == ()
    assert convert(directory / "ours", directory / "back" / source.name, name).losses == ()
    return diff(open_any(source), open_any(directory / "back" / source.name), match="order")


def test_every_format_that_is_written_is_tested_here() -> None:
    """A new one needs its cases."""
    assert {*FOREIGN} == {"envlogger", "lerobot", *MINARI}


@pytest.mark.parametrize("case", CASES)
def test_golden_envlogger(case: str, tmp_path: Path) -> None:
    """Written by its C++ code, in all of its settings."""
    report = there_and_back(GOLDEN / case, tmp_path)
    assert report.equal
    assert report.pairs > 0


def test_golden_lerobot(tmp_path: Path) -> None:
    """Written by its own package, with images and videos."""
    assert there_and_back(lerobot_samples.GOLDEN, tmp_path).equal


@pytest.mark.parametrize("name", MINARI)
@pytest.mark.parametrize("kind", [*SPACES, "image", "jpeg"])
def test_minari(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written by its own package; where that has lost bits to JPEG, no more are lost, and it stays known."""
    minari = minari_samples.minari_at(tmp_path, monkeypatch)
    space = SPACES.get(kind, IMAGE)
    minari_samples.write(
        *(minari, "own-v0", space, spaces.Discrete(3) if kind == "jpeg" else space),
        infos=True,
        env="CartPole-v1",
        jpeg=kind == "jpeg",
        data_format=MINARI[name],
    )
    assert there_and_back(tmp_path / "own-v0", tmp_path).equal
    lossy = {"observation": "jpeg"} if kind == "jpeg" else {}
    assert formats.recognised(tmp_path / "own-v0").open(tmp_path / "back" / "own-v0").lossy == lossy


_TEXT = "aé☃"
_BITS = st.integers(0, 2**32 - 1)
_LEAVES: dict[str, tuple[specs.Spec, st.SearchStrategy[Any]]] = {
    "float": (specs.Array((), np.float32), _BITS.map(lambda bits: np.uint32(bits).view(np.float32))),
    "int": (specs.Array((), np.int64), st.integers(-(2**63), 2**63 - 1).map(np.int64)),
    "floats": (specs.Array((2,), np.float32), st.tuples(_BITS, _BITS).map(lambda b: np.array(b, "u4").view("f4"))),
    "halves": (specs.Array((1, 2), np.float16), st.integers(0, 9).map(lambda number: np.full((1, 2), number, "f2"))),
    "flags": (
        specs.Array((3,), np.int8, minimum=0, maximum=1),
        st.integers(0, 1).map(lambda flag: np.full(3, flag, "i1")),
    ),
    "image": (
        specs.Array((9, 8, 3), np.uint8, minimum=0, maximum=255),
        st.integers(0, 9).map(lambda seed: np.random.default_rng(seed).integers(0, 256, (9, 8, 3), np.uint8)),
    ),
    "text": (specs.Text(max_length=3, charset=_TEXT), st.text(_TEXT, max_size=3)),
}
_ENDS = [EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED]
_KINDS = st.lists(st.sampled_from(sorted(_LEAVES)), min_size=1, max_size=3, unique=True)


@dataclass(frozen=True)
class Recording:
    """Episodes of one dataset.

    Attributes:
      spec: of observations.
      episodes: each with rows of observation, info and the fields of a step; how it ended, a seed, and metadata.
    """

    spec: specs.Dict
    episodes: list[dict[str, Any]]


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Observations, infos and fields of steps of several kinds."""
    kinds = {name: draw(_KINDS) for name in ("observation", "info", "step")}
    row = st.fixed_dictionaries(
        {name: st.fixed_dictionaries({kind: _LEAVES[kind][1] for kind in found}) for name, found in kinds.items()}
    )
    episode = st.fixed_dictionaries(
        {
            "rows": st.lists(row, min_size=2, max_size=4),
            "end": st.sampled_from(_ENDS),
            "seed": st.one_of(st.none(), st.integers(0, 2**64 - 1)),
            "metadata": st.fixed_dictionaries({"score": st.floats(0, 1), "who": st.text(_TEXT)}),
        }
    )
    observation = specs.Dict({kind: _LEAVES[kind][0] for kind in kinds["observation"]})
    return Recording(observation, draw(st.lists(episode, min_size=1, max_size=3)))


def _record(path: Path, given: Recording) -> None:
    number = specs.Array((), np.float64)
    declared = specs.Dict(
        {"observation": given.spec, "action": specs.Array((), np.int64, minimum=0, maximum=9), "reward": number}
    )
    with EpisodeWriter(path, declared, record_time=False, metadata={"lab": {"room": 3}}) as writer:
        for each in given.episodes:
            with writer.episode(metadata=each["metadata"], seed=each["seed"]) as episode:
                first, *others = each["rows"]
                episode.start(first["observation"], info=first["info"], **_named(first["step"]))
                for step, row in enumerate(others, 1):
                    is_last = step == len(others)
                    episode.step(
                        np.int64(step),
                        np.float64(step / 4),
                        row["observation"],
                        info=row["info"],
                        terminated=is_last and each["end"] is EpisodeEnd.TERMINATED,
                        truncated=is_last and each["end"] is EpisodeEnd.TRUNCATED,
                        **_named(row["step"]),
                    )


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    return {f"my_{name}": value for name, value in fields.items()}


@pytest.mark.parametrize("name", FOREIGN)
@given(recording=recordings())
@pytest.mark.sweep
@settings(
    max_examples=repetitions(12, least=4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_generated(name: str, recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a format holds of any episodes is what comes back from it, and once more there it is the same dataset."""
    path = tmp_path_factory.mktemp("generated")
    _record(path / "recorded", recording)
    convert(path / "recorded", path / "a-v0", name, allow_loss=True)
    report = there_and_back(path / "a-v0", path)
    assert report.first == ()
    assert report.equal
