"""One shard: written atomically, reused if it is complete, compared with the source."""

import dataclasses
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.tfds_builders.shards import BuildError, ShardSpec, check, convert_shards, finish, plan, serially, work
from rlds_kit.tfds_builders.shards.spec import FORMATS, Format
from tests.tfds_builders.shards.recorded import files, flip, record

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What shards are made from."""
    return record(tmp_path_factory.mktemp("recorded"))


def _planned(source: Path, directory: Path, format_: Format) -> list[ShardSpec]:
    directory.mkdir(exist_ok=True)
    return plan(rlds_kit.open(source), directory, format_, shards=3)


@pytest.mark.parametrize("format_", FORMATS)
def test_info_says_what_was_written(format_: Format, recorded: Path, tmp_path: Path) -> None:
    """Episodes in order with their lengths, and the size of the file; reading back gives the same."""
    spec = _planned(recorded, tmp_path, format_)[1]
    info = work(spec)
    assert [(each.id, each.steps) for each in info.episodes] == [(ref.id, ref.steps) for ref in spec.episodes]
    assert info.size == spec.path.stat().st_size
    assert check(spec) == info


@pytest.mark.parametrize("format_", FORMATS)
def test_whole_shard_is_kept(format_: Format, recorded: Path, tmp_path: Path) -> None:
    """The file is not touched again."""
    spec = _planned(recorded, tmp_path, format_)[0]
    info = work(spec)
    before = spec.path.stat()
    assert work(spec) == info
    assert (spec.path.stat().st_ino, spec.path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("format_", FORMATS)
def test_shard_that_was_changed_is_written_again(format_: Format, recorded: Path, tmp_path: Path) -> None:
    """After one flipped byte, the next run writes the shard again."""
    spec = _planned(recorded, tmp_path, format_)[0]
    work(spec)
    before = spec.path.read_bytes()
    flip(spec.path, 0.5)
    work(spec)
    assert spec.path.read_bytes() == before


def test_shard_of_another_plan_is_written_again(recorded: Path, tmp_path: Path) -> None:
    """A file of the right name with other episodes is not accepted."""
    spec = _planned(recorded, tmp_path, "tfrecord")[0]
    work(spec)
    other = dataclasses.replace(spec, episodes=spec.episodes[:1])
    assert len(work(other).episodes) == 1


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.97])
@pytest.mark.parametrize("format_", FORMATS)
def test_tampering_is_found_when_the_build_is_finished(
    format_: Format, share: float, recorded: Path, tmp_path: Path
) -> None:
    """A byte changed after writing: no metadata is written, and the shard is named."""
    specs = _planned(recorded, tmp_path, format_)
    infos = [work(spec) for spec in specs]
    flip(specs[1].path, share)
    with pytest.raises(BuildError, match=specs[1].file), serially() as run:
        finish(specs, infos, run)
    assert not {"dataset.json", "dataset_info.json"} & files(tmp_path).keys()


@pytest.mark.parametrize("format_", FORMATS)
def test_damage_names_the_episode(format_: Format, recorded: Path, tmp_path: Path) -> None:
    """What lies in the middle of this shard is its second episode."""
    spec = _planned(recorded, tmp_path, format_)[0]
    work(spec)
    flip(spec.path, 0.6)
    with pytest.raises(BuildError, match=f"episode {spec.episodes[1].id}"):
        check(spec)


@pytest.mark.parametrize("format_", FORMATS)
def test_other_shard_under_this_name_is_found(format_: Format, recorded: Path, tmp_path: Path) -> None:
    """Every byte of it is sound, but the episodes are others."""
    specs = _planned(recorded, tmp_path, format_)
    infos = [work(spec) for spec in specs]
    shutil.copyfile(specs[0].path, specs[1].path)
    with pytest.raises(BuildError, match=f"expected episode {specs[1].episodes[0].id}"), serially() as run:
        finish(specs, infos, run)


def test_finish_refuses_counts_that_differ(recorded: Path, tmp_path: Path) -> None:
    """A worker that reports fewer steps than the source has is an error."""
    specs = _planned(recorded, tmp_path, "riegeli")
    infos = [work(spec) for spec in specs]
    fewer = dataclasses.replace(infos[0].episodes[0], steps=1)
    infos[0] = dataclasses.replace(infos[0], episodes=(fewer, *infos[0].episodes[1:]))
    with pytest.raises(BuildError, match=f"{specs[0].file}: expected episode {fewer.id}"), serially() as run:
        finish(specs, infos, run)


def test_finish_refuses_a_missing_shard(recorded: Path, tmp_path: Path) -> None:
    """All of the plan, or nothing."""
    specs = _planned(recorded, tmp_path, "riegeli")
    with pytest.raises(BuildError, match="2 of 3 shards are missing"), serially() as run:
        finish(specs, [work(specs[0])], run)


@pytest.mark.parametrize("format_", FORMATS)
def test_corrupted_input_is_named(format_: Format, recorded: Path, tmp_path: Path) -> None:
    """The message has the file of the source and the shard; nothing is left under the final name."""
    source = tmp_path / "source"
    shutil.copytree(recorded, source)
    specs = _planned(source, tmp_path / "out", format_)
    damaged = specs[0].episodes[1].shard
    flip(source / damaged, 0.4)
    with pytest.raises(BuildError, match=damaged) as caught:
        work(specs[0])
    assert specs[0].file in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []


def test_source_that_has_changed_is_named(recorded: Path, tmp_path: Path) -> None:
    """An episode that is another one than was planned is an error, not a surprise."""
    spec = _planned(recorded, tmp_path, "riegeli")[0]
    other = dataclasses.replace(spec.episodes[0], content_digest=bytes(16))
    with pytest.raises(BuildError, match="the source has changed since the build was planned"):
        work(dataclasses.replace(spec, episodes=(other,)))


STALLED = """
    import sys, time
    from rlds_kit.storage.shard_writer import ShardWriter
    from rlds_kit.tfds_builders.shards import convert_shards, serially
    write, shards = ShardWriter.encoded_block, set()
    def stall(*args):
        write(*args)
        shards.add(args[0].path)
        if len(shards) == 2:  # after the first block of the second shard
            print("stalled", flush=True)
            time.sleep(600)
    ShardWriter.encoded_block = stall
    convert_shards(sys.argv[1], sys.argv[2], "riegeli", executor=serially(), shards=5)
"""


def test_killed_build_leaves_no_half_file_and_goes_on(recorded: Path, tmp_path: Path) -> None:
    """After `kill -9` nothing is at the destination; the next run reuses complete shards and gives the same result."""
    code = [sys.executable, "-c", textwrap.dedent(STALLED), str(recorded), str(tmp_path / "out")]
    with subprocess.Popen(code, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stalled\n"
        process.kill()
    building = tmp_path / "out.building"
    (whole,) = building.glob("episodes-*.riegeli")
    before = whole.stat().st_mtime_ns
    assert len(list(building.glob(".*.tmp"))) == 1
    assert not (tmp_path / "out").exists()
    convert_shards(recorded, tmp_path / "out", "riegeli", executor=serially(), shards=5)
    convert_shards(recorded, tmp_path / "again", "riegeli", executor=serially(), shards=5)
    assert files(tmp_path / "out") == files(tmp_path / "again")
    assert (tmp_path / "out" / whole.name).stat().st_mtime_ns == before
    assert not building.exists()
    assert not list((tmp_path / "out").glob(".*"))
