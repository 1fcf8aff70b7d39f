"""What writers closed is noticed when it is lost: by `open`, by `verify`, and no more once that was accepted."""

import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import rlds_kit
from rlds_kit.base.errors import DamagedError, LossWarning
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.cli import main
from rlds_kit.convert.conversion import convert
from rlds_kit.storage import manifest
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.manifest import ClosedFile, read_manifests
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.verify import verify
from tests.tools.upkeep.losing import (
    ACCIDENTS,
    EPISODES,
    cut_layer,
    empty_shard,
    manifests_of,
    missing_layer,
    missing_shard,
    record,
    require_noted,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset without a writer."""
    return record(tmp_path_factory.mktemp("original") / "d")


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """A copy of it, for an accident."""
    return Path(shutil.copytree(original, tmp_path / "copy"))


def warnings_of_open(directory: Path) -> list[str]:
    """What opening warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rlds_kit.open(directory)
    assert {each.category for each in caught} <= {LossWarning}
    return [str(each.message) for each in caught]


def require_noticed_until_accepted(directory: Path, name: str) -> None:
    """Fails unless opening warns once, verifying fails, and neither does any more when the loss was accepted."""
    (message,) = warnings_of_open(directory)
    assert name in message
    report = verify(directory)
    assert not report.ok
    assert all(name in problem.shard for problem in report.problems)
    shown = CliRunner().invoke(main, ["verify", str(directory)])
    assert shown.exit_code == 1
    accepted = CliRunner().invoke(main, ["verify", str(directory), "--accept-missing", "--json"])
    assert accepted.exit_code == 0
    assert {each["shard"] for each in json.loads(accepted.output)["accepted"]} == {
        each.shard for each in report.problems
    }
    assert warnings_of_open(directory) == []
    assert verify(directory).ok


def test_what_was_closed_is_noted(original: Path) -> None:
    """A manifest for each writer: the recorder's, and that of each file of a layer."""
    require_noted(original)
    assert len(manifests_of(original)) == 3
    assert warnings_of_open(original) == []
    assert verify(original).ok
    assert verify(original, accept_missing=True).accepted == ()
    assert len(manifests_of(original)) == 3


@pytest.mark.parametrize("accident", [*ACCIDENTS, cut_layer])
def test_losses_are_noticed_until_they_are_accepted(copy: Path, accident: Callable[[Path], str]) -> None:
    """The three ways a copy goes wrong, of shards and of layers."""
    require_noticed_until_accepted(copy, accident(copy))


@pytest.mark.parametrize("part", [0, 1, 63, 64, 100, 0.2, 0.4, 0.5, 0.7, 0.9, -24, -1])
def test_a_cut_is_noticed_wherever_it_is(copy: Path, part: float) -> None:
    """Also one in the padding at the end, which loses nothing yet."""
    path = shards_in(copy)[-1]
    size = path.stat().st_size
    os.truncate(path, int(size * part) if 0 < part < 1 else int(part) if part >= 0 else size + int(part))
    require_noticed_until_accepted(copy, path.name)


def test_a_copy_that_stopped_is_noticed_wherever_it_stopped(original: Path, tmp_path: Path) -> None:
    """In the order of names manifests come first, so that all that is missing behind them is known."""
    files = sorted(path for path in original.iterdir() if path.is_file())
    for number, last in enumerate(files):
        if not last.name.startswith(("episodes-", "dataset.json")):
            continue
        copy = tmp_path / str(number)
        copy.mkdir()
        for path in files[: number + 1]:
            shutil.copy(path, copy)
        os.truncate(copy / last.name, last.stat().st_size // 2)
        assert len(warnings_of_open(copy)) == 1
        assert not verify(copy).ok
    assert number == 6


def test_what_opens_is_as_before(copy: Path) -> None:
    """A loss does not affect other episodes; the warning has the number of lost ones."""
    missing_shard(copy)
    with pytest.warns(LossWarning, match="lost 1 file, with 4 episodes") as caught:
        dataset = rlds_kit.open(copy)
    assert len(caught) == 1
    assert len(dataset.episodes) == EPISODES - 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(dataset.refresh().episodes) == EPISODES - 4


def test_older_datasets_have_none(copy: Path) -> None:
    """Without manifests there is nothing to compare with."""
    for path in manifests_of(copy):
        path.unlink()
    missing_shard(copy)
    assert warnings_of_open(copy) == []
    assert verify(copy).ok


BROKEN = {
    "empty": b"",
    "cut": b'{"format": "rlds_kit manifest", "vers',
    "bytes": bytes(range(256)),
    "no object": b"[]",
    "another format": b'{"format": "else", "version": 1}',
    "newer": b'{"format": "rlds_kit manifest", "version": 2}',
    "no list": b'{"format": "rlds_kit manifest", "version": 1, "closed": 7}',
    "no size": b'{"format": "rlds_kit manifest", "version": 1, "closed": [{"path": "episodes-a", "digest": ""}]}',
    "outside": b'{"format": "rlds_kit manifest", "version": 1, "closed": [{"path": "../a", "bytes": 1, "digest": ""}]}',
    "root": b'{"format": "rlds_kit manifest", "version": 1, "closed": [{"path": "/a", "bytes": 1, "digest": ""}]}',
    "surrogate": b'{"format": "rlds_kit manifest", "version": 1, "accepted": [{"path": "\\ud800", "bytes": 1}]}',
    "negative": b'{"format": "rlds_kit manifest", "version": 1, "closed": [{"path": "a", "bytes": -1, "digest": ""}]}',
    "deep": b"[" * 100_000,
    "large": b" " * (5 << 20),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_damaged_manifest_costs_itself(copy: Path, broken: bytes) -> None:
    """It is noticed and can be accepted; the episodes are all there, and the other manifests count."""
    recorder, *others = manifests_of(copy)
    name = missing_layer(copy)
    assert len(others) == 2
    recorder.write_bytes(broken)
    with pytest.warns(LossWarning, match=rf"lost 2 files: .*{name}.*{recorder.name} is a damaged manifest: expected"):
        assert len(rlds_kit.open(copy).episodes) == EPISODES
    assert {problem.rule for problem in verify(copy).problems} == {"manifest", "missing"}
    assert {each.shard for each in verify(copy, accept_missing=True).accepted} >= {recorder.name}
    assert warnings_of_open(copy) == []
    assert verify(copy).ok


def test_names_that_no_file_can_have_are_missing(copy: Path) -> None:
    """A manifest may come from an untrusted source."""
    manifest.write(copy / "closed-forged.json", [ClosedFile("a" * 5000, 1, ""), ClosedFile("dataset.json/a", 1, "")])
    (message,) = warnings_of_open(copy)
    assert message.count("is missing") == 2


def test_a_pipe_is_no_manifest(copy: Path) -> None:
    """It would be waited for, for ever."""
    os.mkfifo(copy / "closed-pipe.json")
    assert warnings_of_open(copy) == []


def test_an_accepted_loss_that_changes_is_one_again(copy: Path, original: Path) -> None:
    """What is copied later must be whole."""
    name = missing_shard(copy)
    verify(copy, accept_missing=True)
    (copy / name).write_bytes(b"Riegeli")
    assert len(warnings_of_open(copy)) == 1
    assert not verify(copy).ok
    shutil.copy(original / name, copy)
    assert warnings_of_open(copy) == []
    assert verify(copy).ok


def test_another_shard_of_the_same_size_is_noticed(copy: Path) -> None:
    """`verify` compares the index with its digest; opening compares only sizes."""
    first, second, _ = shards_in(copy)
    assert first.stat().st_size == second.stat().st_size
    first.write_bytes(second.read_bytes())
    found = {problem.rule: problem for problem in verify(copy).problems}
    assert found.keys() == {"changed", "episode-id"}
    assert (found["changed"].shard, found["changed"].message) == (
        first.name,
        "has another digest than the file that was closed",
    )


def test_a_layer_of_the_same_size_is_noticed(copy: Path, tmp_path: Path) -> None:
    """The digest of a layer is that of its file."""
    other = record(tmp_path / "other")
    (there,) = (other / "layers" / "model").iterdir()
    (here,) = (copy / "layers" / "model").iterdir()
    assert here.stat().st_size == there.stat().st_size
    here.write_bytes(there.read_bytes())
    assert {problem.rule for problem in verify(copy).problems} == {"changed"}


def _published(source: Path, to: Path) -> None:
    from rlds_kit.tools.publish.about import About
    from rlds_kit.tools.publish.publishing import publish

    about = About(name="d", licence="CC0-1.0", citation="none")
    publish(source, to, about, allowed=["layers/model/source", "layers/review/source"])


def _converted(source: Path, to: Path, part_bytes: int = 1 << 20) -> None:
    convert(source, to.with_name("between"), "envlogger", allow_loss=True)
    convert(to.with_name("between"), to, "rlds_kit", part_bytes=part_bytes)


VERBS: dict[str, Callable[[Path, Path], object]] = {
    "merge": lambda source, to: edit.merge([source], to),
    "filter": lambda source, to: edit.filter(source, to, "length > 1"),
    "delete": lambda source, to: edit.delete(source, to, [rlds_kit.open(source).episodes[0].id]),
    "trim": lambda source, to: edit.trim(source, to, end=2),
    "rechunk": rechunk,
    "repair": repair,
    "convert": _converted,
    "convert in parts": lambda source, to: _converted(source, to, part_bytes=1),
    "publish": _published,
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_new_datasets_have_their_own(original: Path, tmp_path: Path, verb: Callable[[Path, Path], object]) -> None:
    """It names all that they have, and nothing of what they are made from."""
    verb(original, tmp_path / "out")
    require_noted(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    missing_shard_of = shards_in(tmp_path / "out")[0]
    missing_shard_of.unlink()
    if shards_in(tmp_path / "out") or (tmp_path / "out" / "dataset.json").exists():
        assert len(warnings_of_open(tmp_path / "out")) == 1


def test_parts_of_a_split_have_their_own(original: Path, tmp_path: Path) -> None:
    """Each names its own shards."""
    made = edit.split(original, tmp_path / "out", {"a": 0.5, "b": 0.5})
    for report in made.values():
        require_noted(report.destination)


@pytest.mark.parametrize("name", ["merge", "filter", "trim", "rechunk"])
def test_nothing_is_made_of_a_part(copy: Path, tmp_path: Path, name: str) -> None:
    """What is made would not show what is missing; once it was accepted it may."""
    lost = empty_shard(copy)
    with pytest.raises(DamagedError, match=rf"lost 1 file.*{lost} has 0 bytes.*accept-missing"):
        VERBS[name](copy, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    verify(copy, accept_missing=True)
    VERBS[name](copy, tmp_path / "out")
    require_noted(tmp_path / "out")


def test_repair_says_what_is_lost(copy: Path, tmp_path: Path) -> None:
    """And its copy is whole."""
    lost = missing_shard(copy)
    (loss,) = repair(copy, tmp_path / "out").losses
    assert (loss.what, loss.shard) == ("file", lost)
    assert "4 episodes" in loss.message
    require_noted(tmp_path / "out")


def test_what_is_being_recorded_is_not_noted(tmp_path: Path) -> None:
    """Closed shards have entries, the open one has none, and that is no problem."""
    recorder = Recorder(tmp_path / "d", max_shard_episodes=1)
    for _ in range(3):
        episode = recorder.start_episode()
        episode.append({"observation": 1.0})
        episode.end(EpisodeEnd.TERMINATED)
    recorder.flush()
    assert len(read_manifests(tmp_path / "d").closed) == 2
    assert warnings_of_open(tmp_path / "d") == []
    recorder.close()
    require_noted(tmp_path / "d")


def test_a_writer_of_many_shards_begins_another_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing one takes no longer with every shard."""
    monkeypatch.setattr(manifest, "MAX_ENTRIES", 5)
    directory = record(tmp_path / "d", per_shard=1)
    require_noted(directory)
    assert sorted(len(json.loads(path.read_text())["closed"]) for path in manifests_of(directory)) == [1, 1, 2, 5, 5]


def test_a_manifest_that_cannot_be_written_stops_no_writer(tmp_path: Path) -> None:
    """The episodes are durable; a warning says that their loss would not be detected."""
    recorder = Recorder(tmp_path / "d", max_shard_episodes=1)

    def add() -> None:
        episode = recorder.start_episode()
        episode.append({"observation": 1.0})
        episode.end(EpisodeEnd.TERMINATED)
        recorder.flush()

    add()
    add()
    (path,) = manifests_of(tmp_path / "d")
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning, match="cannot be written.*complete and durable"):
        add()
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        recorder.close()
    assert len(rlds_kit.open(tmp_path / "d").episodes) == 3
    assert [path.name for path in (tmp_path / "d").iterdir() if path.name.startswith(".")] == []


def test_a_manifest_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """A concurrent reader gets the complete old one, and a crash in between preserves it."""
    path = tmp_path / "closed-a-00000.json"
    first, second = ClosedFile("episodes-a-00000.riegeli", 1, ""), ClosedFile("episodes-a-00001.riegeli", 2, "")
    manifest.write(path, [first])
    with path.open() as before:
        manifest.write(path, [first, second])
        assert len(json.load(before)["closed"]) == 1
    assert read_manifests(tmp_path).closed == {first.path: first, second.path: second}


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which file is synced")
def test_a_manifest_is_durable_before_and_after_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shard first, then its bytes, then its name."""
    calls = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        calls.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def renamed(self: Path, target: Path) -> Path:
        calls.append("rename")
        return replace(self, target)

    with Recorder(tmp_path / "d") as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 1.0})
        episode.end(EpisodeEnd.TERMINATED)
        recorder.flush()
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.undo()
    (path,) = manifests_of(tmp_path / "d")
    (shard,) = shards_in(tmp_path / "d")
    assert calls[0] == shard.name
    assert calls[1].startswith(f".{path.name}.")
    assert calls[2:] == ["rename", "d"]


def _die_at(directory: Path, number: int) -> None:
    """Records and annotates until the n-th time that a file is opened or renamed, then is killed; never returns."""
    count = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in ("open", "os.rename") and str(directory) in str(arguments[0]):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        record(directory)
    finally:
        os._exit(7)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="SIGKILL is POSIX's")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_killed_writer_causes_no_warning(tmp_path: Path) -> None:
    """Whenever it dies, closed files without an entry exist, and files with an entry were closed."""
    number, status = 0, 0
    noted = set()
    while status == 0 or os.WIFSIGNALED(status):
        number += 1
        directory = tmp_path / str(number)
        child = os.fork()
        if not child:
            _die_at(directory, number)
        _, status = os.waitpid(child, 0)
        if directory.exists() and rlds_kit.storage.directory.is_dataset(directory):
            assert warnings_of_open(directory) == []
            report = verify(directory)
            assert report.ok, report.problems
            noted.add(len(read_manifests(directory).closed))
    assert noted == {0, 1, 2, 3, 4, 5}
