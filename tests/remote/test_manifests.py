"""What is lost of datasets that are elsewhere."""

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

import rlds_kit
from rlds_kit.base.errors import LossWarning
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.remote.errors import NotLocalError
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.verify import verify
from tests.remote.server import Server, list_files, serving
from tests.remote.test_http import spent
from tests.tools.upkeep.losing import ACCIDENTS, EPISODES, cut_layer, manifests_of, missing_shard, record


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A dataset to which something happens before it is put elsewhere."""
    return record(tmp_path / "d")


@pytest.fixture
def server(copy: Path) -> Iterator[Server]:
    """Serves it, when its files are listed."""
    with serving(copy) as running:
        yield running


@pytest.fixture
def memory() -> Iterator[Callable[[Path], str]]:
    """Puts a dataset into a file system of fsspec's."""
    system = fsspec.filesystem("memory")

    def put(directory: Path) -> str:
        for path in directory.rglob("*"):
            there = f"/lost/{path.relative_to(directory).as_posix()}"
            if path.is_file() and not (system.exists(there) and system.cat_file(there) == path.read_bytes()):
                system.pipe(there, path.read_bytes())
        return "memory://lost"

    yield put
    system.rm("/lost", recursive=True)


def warnings_of_open(url: str) -> list[str]:
    """What opening warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rlds_kit.open(url)
    assert {each.category for each in caught} <= {LossWarning}
    return [str(each.message) for each in caught]


def require_noticed(url: str, directory: Path, name: str) -> None:
    """Fails unless opening warns and verifying fails until the loss is accepted where the files are."""
    (message,) = warnings_of_open(url)
    assert name in message
    assert {problem.shard for problem in verify(url).problems} == {
        problem.shard for problem in verify(directory).problems
    }
    with pytest.raises(NotLocalError):
        verify(url, accept_missing=True)


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_losses_are_noticed_on_a_web_server(copy: Path, server: Server, accident: Callable[[Path], str]) -> None:
    """The list of files has what is left."""
    name = accident(copy)
    list_files(copy)
    require_noticed(server.url, copy, name)
    verify(copy, accept_missing=True)
    list_files(copy)
    assert warnings_of_open(server.url) == []
    assert verify(server.url).ok


@pytest.mark.parametrize("accident", [*ACCIDENTS, cut_layer])
def test_losses_are_noticed_in_a_file_system(
    copy: Path, memory: Callable[[Path], str], accident: Callable[[Path], str]
) -> None:
    """Its own list has the sizes of layers, too."""
    name = accident(copy)
    require_noticed(memory(copy), copy, name)
    verify(copy, accept_missing=True)
    url = memory(copy)
    assert warnings_of_open(url) == []
    assert verify(url).ok


def test_a_cut_layer_on_a_web_server_is_noticed_when_it_is_verified(copy: Path, server: Server) -> None:
    """Opening sends no requests for layers, and the list of a web server has no sizes."""
    name = cut_layer(copy)
    list_files(copy)
    assert warnings_of_open(server.url) == []
    assert [(problem.rule, problem.shard.rpartition("/")[2]) for problem in verify(server.url).problems] == [
        ("changed", name)
    ]


def test_what_is_whole_is_opened_as_before(copy: Path, server: Server) -> None:
    """One small request for each manifest, and nothing of layers."""
    list_files(copy)
    asked, _ = spent(server, lambda: rlds_kit.open(server.url))
    names = [request.name for request in server.requests]
    assert sorted(name for name in names if name.startswith("closed-")) == [path.name for path in manifests_of(copy)]
    assert not any(name.startswith("layers/") for name in names)
    assert asked <= 1 + 3 + 2 * 3 + 1
    assert len(rlds_kit.open(server.url).episodes) == EPISODES


def test_a_list_that_is_older_than_a_manifest_is_no_error(copy: Path, server: Server) -> None:
    """Shards that came since are not in it."""
    list_files(copy)
    lines = (copy / "checksums.txt").read_text().splitlines(keepends=True)
    recorder, *_ = manifests_of(copy)
    zeros = "0" * 64
    older = [f"{zeros}  {recorder.name}\n" if recorder.name in line else line for line in lines]
    (copy / "checksums.txt").write_text("".join(line for line in older if "-00002.riegeli" not in line))
    assert warnings_of_open(server.url) == []
    assert len(rlds_kit.open(server.url).episodes) == 8


def test_a_manifest_that_the_list_names_and_the_server_lacks_is_damaged(copy: Path, server: Server) -> None:
    """It costs itself."""
    list_files(copy)
    manifests_of(copy)[0].unlink()
    (message,) = warnings_of_open(server.url)
    assert "is a damaged manifest" in message


def test_refresh_takes_manifests_that_were_replaced(tmp_path: Path, memory: Callable[[Path], str]) -> None:
    """While a recorder continues, its directory is copied several times."""
    with Recorder(tmp_path / "d", max_shard_episodes=1) as recorder:
        seen = []
        for number in range(4):
            episode = recorder.start_episode(metadata={"number": number})
            episode.append({"observation": 1.0})
            episode.end(EpisodeEnd.TERMINATED)
            recorder.flush()
            if number % 2:
                copy = Path(shutil.copytree(tmp_path / "d", tmp_path / str(number)))
                max(copy.glob("episodes-*")).unlink()  # still open: other bytes than the next copy has
                url = memory(copy)
                seen.append(rlds_kit.open(url))
    assert len(seen[0].episodes) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [episode.metadata["number"] for episode in seen[0].refresh().episodes] == [0, 1, 2]


def test_verbs_refuse_a_part(copy: Path, memory: Callable[[Path], str], tmp_path: Path) -> None:
    """As those of a directory do."""
    missing_shard(copy)
    with pytest.raises(rlds_kit.DamagedError, match="lost 1 file"):
        edit.merge([memory(copy)], tmp_path / "out")
