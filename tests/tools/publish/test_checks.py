"""Problems that prevent the publication of a dataset."""

from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.logger import EpisodeWriter, FlushPolicy
from rlds_kit.storage.directory import shards_in
from rlds_kit.tools.publish import About, NotPublishableError, publish
from tests.tools.publish.recording import ABOUT, SPEC, record


def rules(directory: Path, about: About = ABOUT, **options: object) -> list[str]:
    """The rules that publishing meets with, in order; none if it succeeds."""
    destination = directory.parent / "published"
    try:
        publish(directory, destination, about, dry_run=True, **options)  # type: ignore[arg-type]
    except NotPublishableError as error:
        assert not destination.exists()
        return [problem.rule for problem in error.problems]
    return []


def test_good_dataset(tmp_path: Path) -> None:
    assert rules(record(tmp_path / "d")) == []


def test_everything_is_reported_at_once(tmp_path: Path) -> None:
    directory = record(tmp_path / "d", metadata={"email": "ada@example.org", "host": "lab"})
    (tmp_path / "published").mkdir()
    (tmp_path / "published/README.md").write_text("mine")
    with pytest.raises(NotPublishableError) as caught:
        publish(directory, tmp_path / "published", About())
    found = [problem.rule for problem in caught.value.problems]
    assert found == ["licence", "citation", "pattern", "pattern", "destination"]
    assert all(str(problem) in str(caught.value) for problem in caught.value.problems)


def test_damage(tmp_path: Path) -> None:
    """A flipped byte of a shard, with its place, and what makes a good copy."""
    directory = record(tmp_path / "d")
    shard = shards_in(directory)[0]
    content = bytearray(shard.read_bytes())
    content[len(content) // 2 - len(content) // 4] ^= 1
    shard.write_bytes(content)
    with pytest.raises(NotPublishableError, match="rlds-kit repair"):
        publish(directory, tmp_path / "published", ABOUT)


def test_spec_that_does_not_fit(tmp_path: Path) -> None:
    """dataset.json must not contradict the shards."""
    directory = record(tmp_path / "d")
    text = (directory / "dataset.json").read_text("utf-8")
    (directory / "dataset.json").write_text(text.replace('"uint8"', '"int64"'), "utf-8")
    assert rules(directory) == ["dataset-json"]


def test_dataset_without_episodes(tmp_path: Path) -> None:
    """There is nothing to publish."""
    with EpisodeWriter(tmp_path / "d", SPEC):
        pass
    assert rules(tmp_path / "d") == ["empty"]


def test_open_recording(tmp_path: Path) -> None:
    """A shard that still grows is no good to copy."""
    record(tmp_path / "d")
    with EpisodeWriter(tmp_path / "d", SPEC) as writer, writer.episode() as episode:
        episode.start(rlds_kit.open(tmp_path / "d").episodes[0].steps[0]["observation"])
        writer.flush()
        assert rules(tmp_path / "d") == ["recording"]
        episode.discard()


def test_discarded_episode(tmp_path: Path) -> None:
    """An episode that was discarded after it was written is still in the file; rechunk makes a copy without it."""
    policy = FlushPolicy(block_rows=1, interval=None)
    with EpisodeWriter(tmp_path / "d", policy=policy, record_time=False) as writer:
        for discarded in (False, True):
            with writer.episode() as episode:
                episode.start(0)
                for _ in range(5):
                    episode.step(1, 1.0, 0)
                writer.flush()
                if discarded:
                    episode.discard()
    assert rules(tmp_path / "d") == ["discarded"]


def test_allowed_fields(tmp_path: Path) -> None:
    """By the field's own name, or by that of its parent."""
    directory = record(tmp_path / "d", metadata={"who": {"email": "ada@example.org", "host": "lab"}})
    assert rules(directory) == ["pattern", "pattern"]
    assert rules(directory, allowed=["metadata/who/email"]) == ["pattern"]
    assert rules(directory, allowed=["metadata/who"]) == []
    assert rules(directory, allowed=["metadata/wh"]) == ["pattern", "pattern", "allow-field"]


def test_name_that_allows_nothing(tmp_path: Path) -> None:
    """A misspelt name is reported."""
    with pytest.raises(NotPublishableError, match=r"there is no field 'metadata/scare'.*metadata/score"):
        publish(record(tmp_path / "d"), tmp_path / "published", ABOUT, allowed=["metadata/scare"])


def test_advice_allows_the_field(tmp_path: Path) -> None:
    """The advice of a message solves the problem."""
    directory = record(tmp_path / "d", metadata={"e-mail/of": "ada@example.org"})
    with pytest.raises(NotPublishableError) as caught:
        publish(directory, tmp_path / "published", ABOUT)
    field = caught.value.problems[0].advice.rpartition("--allow-field ")[2]
    assert rules(directory, allowed=[field]) == []
