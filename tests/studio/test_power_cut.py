"""The power fails while the studio makes an export, or removes deleted episodes from a recording."""

import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.studio.accounts.secret import secret_of
from rlds_kit.studio.deletion import _without
from rlds_kit.studio.export.archive import archive
from rlds_kit.studio.export.job import JOB, Job, State, new_id, write_job
from tests.layers.recording import record
from tests.power_cut import assert_whole, files, story_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the simulation looks at open files in /proc")


@pytest.mark.parametrize("is_there", [False, True])
def test_an_archive(tmp_path: Path, *, is_there: bool) -> None:
    """The archive is complete, or the previous one."""
    record(tmp_path / "data")
    if is_there:
        (tmp_path / "data.zip").write_bytes(b"what was there")
    story = story_of(tmp_path, lambda: archive(tmp_path / "data", tmp_path / "data.zip"))
    assert_whole(story, "data.zip")
    assert "data.partial" not in files(story.now)


def test_the_note_of_an_export(tmp_path: Path) -> None:
    """An ended export stays ended, and its file is always valid JSON."""
    job = Job(id=new_id(), owner="anna", name="data", is_archive=True, episodes=1, rules={})
    (tmp_path / job.id).mkdir()
    write_job(tmp_path, job)
    story = story_of(tmp_path, lambda: write_job(tmp_path, replace(job, state=State.DONE)))
    assert_whole(story, f"{job.id}/{JOB}")


def test_the_secret(tmp_path: Path) -> None:
    """An empty file in its place would invalidate all links."""
    story = story_of(tmp_path, lambda: secret_of(tmp_path))
    assert_whole(story, "secret")
    assert secret_of(tmp_path).hex().encode() == files(story.now)["secret"]
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_deleted_episodes(tmp_path: Path) -> None:
    """The recording exists, with or without them; once they are removed, they do not come back."""
    dataset = record(tmp_path / "r")
    first = dataset.episodes[0].id
    story = story_of(tmp_path, lambda: _without(tmp_path / "r", [first]))
    old, new = files(story.before, "r"), files(story.now, "r")
    for tree in story.during:
        moved = {f"r/{name.split('/', 1)[1]}": data for name, data in files(tree, "r.deleted").items()}
        assert files(tree, "r") in (old, new) or (not files(tree, "r") and moved == old)
    assert all(files(tree) == new for tree in story.after)
    assert [episode.id for episode in rlds_kit.open(tmp_path / "r").episodes] == [dataset.episodes[1].id]
