"""Foreign chunks with right checksums cost their place: the rest opens, losses are warned about, repair saves it."""

import random
import shutil
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pytest

import rlds_kit
from rlds_kit import DamagedError, DamageWarning, EpisodeEnd, LossWarning, layers
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import FLAGS, STEP_INDEX
from rlds_kit.layers import Annotation
from rlds_kit.riegeli import chunk
from rlds_kit.storage.directory import shards_in
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify
from tests.layers.recording import said
from tests.storage.truth import same
from tests.tools.upkeep.foreign_records import STRIKES, Piece, Strike, pieces_of, write
from tests.tools.upkeep.mending import record, record_and_die

T = TypeVar("T")
Step = dict[str, Any]
CASES: Final = 4
"""Of each strike, for each file."""


@dataclass(frozen=True)
class Truth:
    """An episode as it was recorded."""

    metadata: dict[str, Any]
    seed: Any
    end: EpisodeEnd | None
    steps: list[Step]


@dataclass(frozen=True)
class Whole:
    """A dataset without damage, what is in it, and chunks of others."""

    path: Path
    episodes: dict[uuid.UUID, Truth]
    annotations: dict[str, list[bytes]]
    others: list[Piece]


def _truth(directory: Path) -> dict[uuid.UUID, Truth]:
    found = {}
    for each in rlds_kit.open(directory).episodes:
        found[each.id] = Truth(each.metadata, each.seed, each.end, [_defined(each, row) for row in range(each.length)])
    return found


def _defined(episode: rlds_kit.Episode, row: int) -> Step:
    """A step with the fields that are defined in it."""
    step, one = episode.steps[row], episode[row : row + 1]
    return {name: item for name, item in step.items() if name not in FLAGS and one.mask(name)[0]}


def _annotate(directory: Path) -> None:
    dataset = rlds_kit.open(directory)
    for episode in dataset.episodes:
        for number in range(3):
            dataset.annotate(
                "review", [layers.tag(episode, f"tag {number}"), layers.note(episode, "ok")], source="anna"
            )
        dataset.annotate("model", [layers.rewards(episode, np.arange(float(episode.length - 1)))], source="critic")


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Whole]:
    """A closed dataset of two shards, and one whose writer died beside a closed one."""
    base = tmp_path_factory.mktemp("whole")
    foreign = record(base / "foreign", lengths=(5, 7), seed=9)
    _annotate(foreign)
    record(base / "closed", lengths=(9, 13, 6, 8), max_shard_episodes=2)
    record(base / "died", lengths=(6,), seed=5)
    record_and_die(base / "died", lengths=(9, 7, 6))
    found = {}
    for name in ("closed", "died"):
        _annotate(base / name)
        paths = [*shards_in(foreign), *shards_in(base / name), *(foreign / "layers").glob("*/*.riegeli")]
        others = [piece for path in paths for piece in pieces_of(path)]
        dataset = rlds_kit.open(base / name)
        annotations = {layer: said(dataset.layer(layer).history()) for layer in dataset.layers}
        found[name] = Whole(base / name, _truth(base / name), annotations, others)
    return found


class Case:
    """A damaged copy of a dataset, read in every way."""

    def __init__(self, whole: Whole, directory: Path) -> None:
        self.whole, self.directory = whole, directory
        self.readable: dict[uuid.UUID, dict[int, Step]] = {}

    def check(self) -> None:
        """Everything that is promised of it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dataset = rlds_kit.open(self.directory)
        # Without the manifest, which has the sizes of files: the damage must be found in the records.
        warned = any(issubclass(each.category, DamageWarning) and each.category is not LossWarning for each in caught)
        assert warned == bool(dataset.damage)
        listed = {episode.id for episode in dataset.episodes}
        assert listed <= self.whole.episodes.keys(), "an episode that never was"
        assert warned or listed == self.whole.episodes.keys(), "an episode is gone and no warning was given"
        for episode in dataset.episodes:
            self.episode(episode, warned=warned)
        self.layers(dataset)
        verify(self.directory)
        self.repaired()

    def episode(self, episode: rlds_kit.Episode, *, warned: bool) -> None:
        """Whatever is read is true."""
        truth = self.whole.episodes[episode.id]
        end = self.get(lambda: episode.end)
        if end is not None and end is not truth.end:
            assert end is EpisodeEnd.INCOMPLETE
            assert warned, "an end is gone and no warning was given"
        if episode.length != len(truth.steps):
            assert warned, "steps are gone and no warning was given"
        metadata = self.get(lambda: episode.metadata)
        if metadata is not None and end is not None:
            expected = truth.metadata if end is truth.end else {"number": truth.metadata["number"]}
            assert same(metadata, expected)
        seed = self.get(lambda: (episode.seed,))
        assert seed is None or seed == (truth.seed,)
        self.readable[episode.id] = {}
        for row in range(episode.length):
            step = self.get(lambda row=row: _defined(episode, row))  # type: ignore[misc]
            if step is None:
                continue
            expected = truth.steps[row]
            if row == episode.length - 1 < len(truth.steps) - 1:
                expected = {name: item for name, item in expected.items() if name in step}
            assert same(step, expected), row
            self.readable[episode.id][row] = step
        for name in ("action", "observation/pixels"):
            values = self.get(lambda name=name: episode[name])  # type: ignore[misc]
            if values is not None and name == "action":
                assert values.tolist()[:-1] == [step["action"] for step in truth.steps[: len(values) - 1]]

    def layers(self, dataset: rlds_kit.Dataset) -> None:
        """An annotation is unchanged, or the layer is reported as damaged."""
        for name, truth in self.whole.annotations.items():
            layer = dataset.layer(name)
            layer.history()
            annotations: tuple[Annotation, ...] | None = self.get(layer.annotations)
            if annotations is not None:
                found = said(annotations)
                is_ours = set(found) <= set(truth)  # records of another layer may stand where those of this one did
                assert not is_ours or found == truth, "an annotation is gone and no warning was given"

    def repaired(self) -> None:
        """Repair copies each step that can be read."""
        copy = self.directory.with_name(self.directory.name + "-copy")
        repair(self.directory, copy)
        assert verify(copy).problems == ()
        dataset = rlds_kit.open(copy)
        episodes = {episode.id: episode for episode in dataset.episodes}
        assert episodes.keys() <= self.whole.episodes.keys()
        for key, readable in self.readable.items():
            if not readable:
                continue
            kept = {}
            for row in range(episodes[key].length):
                step = _defined(episodes[key], row)
                kept[step.pop(STEP_INDEX, row)] = step
            for row, step in readable.items():
                assert row in kept, f"step {row} can be read and is not in the copy"
                assert step.keys() == kept[row].keys(), f"step {row} can be read and lacks fields in the copy"
                assert same(kept[row], step)
        for name in dataset.layers:
            assert set(said(dataset.layer(name).history()))
        shutil.rmtree(copy)

    def get(self, read: Callable[[], T]) -> T | None:
        """What `read` returns; None if it is refused with the file's name. Any other error is not caught."""
        try:
            return read()
        except DamagedError as error:
            if ".riegeli" not in str(error):
                raise AssertionError(f"the error names no file: {error}") from error
            return None


def kind_of(piece: Piece) -> str | None:
    """What a record of ours is: "shard", "start", "block", "end", "index"; None: the chunk is no record."""
    if piece.num_records != 1 or piece.chunk_type != chunk.SIMPLE:
        return None
    return pb.Record.FromString(piece.record).WhichOneof("kind")


def unclosed(directory: Path) -> tuple[Path, list[Piece]]:
    """The shard whose writer died, and its chunks."""
    shards = {path: pieces_of(path) for path in shards_in(directory)}
    return next((path, pieces) for path, pieces in shards.items() if "index" not in map(kind_of, pieces))


def strike(whole: Whole, directory: Path, number: int, kind: Strike, seed: str) -> None:
    """Damages one file of a copy, and checks all promises."""
    dice = random.Random(seed)
    shutil.copytree(whole.path, directory)
    files = [*shards_in(directory), *sorted((directory / "layers").glob("*/*.riegeli"))]
    path = files[number % len(files)]
    pieces = pieces_of(path)
    kind(pieces, whole.others, dice)
    write(path, pieces)
    try:
        Case(whole, directory).check()
    except Exception as error:
        raise AssertionError(f"{kind.__name__} {seed!r}: {type(error).__name__}: {error}") from error
    shutil.rmtree(directory)


@pytest.mark.parametrize("kind", STRIKES, ids=lambda kind: kind.__name__.strip("_"))
@pytest.mark.parametrize("name", ["closed", "died"])
def test_foreign_records_cost_their_place(tmp_path: Path, wholes: dict[str, Whole], name: str, kind: Strike) -> None:
    """Nothing raises but reading what is lost; no value is wrong; losses are warned about; repair saves the rest."""
    for number in range(CASES):
        strike(wholes[name], tmp_path / str(number), number, kind, f"{name} {kind.__name__} {number}")


@pytest.mark.parametrize("kind", ["shard", "start", "block", "end", "index"])
def test_a_record_of_another_shard_is_warned_about(tmp_path: Path, wholes: dict[str, Whole], kind: str) -> None:
    """Where nothing else is damaged: the record is left out, and no step of this shard."""
    whole, directory = wholes["died"], tmp_path / "data"
    shutil.copytree(whole.path, directory)
    path, pieces = unclosed(directory)
    foreign = next(piece for piece in whole.others if kind_of(piece) == kind and piece not in pieces)
    write(path, [*pieces[:-1], foreign, pieces[-1]])
    with pytest.warns(DamageWarning):
        dataset = rlds_kit.open(directory)
    assert dataset.damage.keys() == {path.name}
    assert dataset.environment == rlds_kit.open(whole.path).environment
    lengths = {each.id: each.length for each in dataset.episodes}
    assert lengths == {key: len(truth.steps) for key, truth in whole.episodes.items()}
    Case(whole, directory).check()


def test_a_start_that_is_gone_is_warned_about(tmp_path: Path, wholes: dict[str, Whole]) -> None:
    """If nothing else is damaged, the steps of the episode can be read, and its metadata are an error."""
    whole, directory = wholes["died"], tmp_path / "data"
    shutil.copytree(whole.path, directory)
    path, pieces = unclosed(directory)
    first = next(number for number, piece in enumerate(pieces) if kind_of(piece) == "start")
    write(path, [*pieces[:first], *pieces[first + 1 :]])
    with pytest.warns(DamageWarning):
        dataset = rlds_kit.open(directory)
    (damage,) = dataset.damage[path.name]
    assert "the start of episode" in damage.message
    Case(whole, directory).check()
