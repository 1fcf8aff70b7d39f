"""The dataset card."""

import re
from pathlib import Path

import pytest

import rlds_kit
from rlds_kit.install import how_to_install
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.publish import About, publish
from tests.tools.plot.recording import play
from tests.tools.publish.recording import ABOUT, record


def card_of(directory: Path, about: About = ABOUT, **options: object) -> str:
    """Publishes beside a dataset, and returns the card."""
    destination = directory.parent / f"{directory.name}-published"
    publish(directory, destination, about, **options)  # type: ignore[arg-type]
    return (destination / "README.md").read_text("utf-8")


def rows_of(text: str, section: str) -> dict[str, list[str]]:
    """A section's table: the cells of each row, by the first one."""
    part = text.split(f"## {section}\n")[1].split("\n## ", maxsplit=1)[0]
    lines = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return {cells[0]: cells[1:] for cells in lines[2:]}


def test_hub_reads_the_front_matter(tmp_path: Path) -> None:
    """With the library that the hub's own tools use."""
    from huggingface_hub import DatasetCard

    data = DatasetCard(card_of(record(tmp_path / "d"))).data.to_dict()  # type: ignore[no-untyped-call]
    assert data == {
        "license": "cc-by-4.0",
        "pretty_name": "Grid",
        "task_categories": ["reinforcement-learning"],
        "tags": ["rlds", "rlds-kit", "episodes"],
        "size_categories": ["n<1K"],
        "viewer": False,
    }


def test_licence_that_the_hub_does_not_know(tmp_path: Path) -> None:
    """Is "other", with its name and where it is; quotes and colons do no harm."""
    from huggingface_hub import DatasetCard

    about = About('A "grid": 1', "", "Us", "https://example.org/terms: ours")
    data = DatasetCard(card_of(record(tmp_path / "d"), about)).data.to_dict()  # type: ignore[no-untyped-call]
    assert (data["license"], data["license_link"]) == ("other", about.licence)
    assert data["pretty_name"] == about.name


def test_fields(tmp_path: Path) -> None:
    """Type, shape and bounds of each leaf of the spec."""
    rows = rows_of(card_of(record(tmp_path / "d", info={"lives": 3})), "Fields")
    assert rows["`observation/image`"][:3] == ["uint8", "(12, 10, 3)", "[0, 255]"]
    assert rows["`observation/words`"][0] == "text"
    assert rows["`action`"][:3] == ["int64", "()", "[0, 3]"]
    assert rows["`reward`"][2] == "[-1, 1]"
    assert "`info/lives`" in rows


def test_the_card_says_how_to_install(tmp_path: Path) -> None:
    """Readers of the card may not know the library, and its name is not on an index."""
    assert f"With rlds_kit ({how_to_install()}):" in card_of(record(tmp_path / "d"))


def test_statistics(tmp_path: Path) -> None:
    """Lengths 6, 7 and 8: mean, standard deviation, and quantiles."""
    rows = rows_of(card_of(record(tmp_path / "d")), "Statistics")
    assert rows["length"] == ["7", "0.8165", "6", "6.1", "6.5", "7", "7.5", "7.9", "8"]
    episodes = rlds_kit.open(tmp_path / "d").episodes
    returns = [float(episode["reward"].sum()) for episode in episodes]
    assert [float(rows["return"][column]) for column in (0, 2, 8)] == pytest.approx(
        [sum(returns) / 3, min(returns), max(returns)], rel=1e-3
    )


def test_provenance(tmp_path: Path) -> None:
    rows = rows_of(card_of(record(tmp_path / "d")), "Where it comes from")
    assert rows["seeds"] == ["known of every episode; different seeds: 3"]
    assert rows["episode metadata"] == ["`score`"]


def test_environment(tmp_path: Path) -> None:
    """Id and versions of what was played; the hub gets the id as a tag."""
    play(tmp_path / "d", "CartPole-v1", 2, max_episode_steps=7)
    text = card_of(tmp_path / "d")
    rows = rows_of(text, "Where it comes from")
    assert rows["environment id"] == ["`CartPole-v1`"]
    assert '- "cartpole-v1"\n' in text
    assert f"rlds_kit {rlds_kit.__version__}" in rows["versions"][0]


def test_limits(tmp_path: Path) -> None:
    """Endings that are no terminal states, observations that are missing, fields that not every step has."""
    with EpisodeWriter(tmp_path / "d", record_time=False) as writer:
        with writer.episode() as episode:
            episode.start(0, info={"bonus": 1})
            episode.step(1, 1.0, truncated=True)
        with writer.episode() as episode:
            episode.start(0)
            episode.step(1, 1.0, 0)
    limits = card_of(tmp_path / "d").split("## Known limits")[1].split("##")[0]
    for said in (
        "TRUNCATED",
        "INTERRUPTED",
        "1 step without an observation",
        "`info/bonus`",
        "2 episodes without the seed",
        '`last_step="drop"`',
    ):
        assert said in limits


def test_pictures_are_there(tmp_path: Path) -> None:
    """Each picture of the card is a file."""
    text = card_of(record(tmp_path / "d"))
    pictures = re.findall(r"!\[[^]]+\]\((.+)\)", text)
    assert pictures == ["card/frames.png", "card/returns.png", "card/actions.png"]
    assert all((tmp_path / "d-published" / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures)


def test_code_of_the_card_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples for NumPy and PyTorch run, in a folder of this name."""
    text = card_of(record(tmp_path / "d"))
    (tmp_path / "d-published").rename(tmp_path / "grid")
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "tfds" not in block]
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)  # noqa: S102  our own card
    assert next(iter(names["loader"]))["reward"].shape == (18,)  # type: ignore[call-overload]


def test_the_path_of_the_copy_is_not_published(tmp_path: Path) -> None:
    """The path of a folder may hold a person's name."""
    assert str(tmp_path) not in card_of(record(tmp_path / "d"))


def test_the_same_data_make_the_same_card(tmp_path: Path) -> None:
    """And the same pictures, so that work that was broken off is not done again."""
    directory = record(tmp_path / "d")
    publish(directory, tmp_path / "a", ABOUT)
    publish(directory, tmp_path / "b", ABOUT)
    for path in ("README.md", "card/returns.png", "card/actions.png", "card/frames.png"):
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()


def test_markup_in_texts_stays_in_its_place(tmp_path: Path) -> None:
    """A citation with a fence does not end its block."""
    about = About("Grid", "", "```\nUs", "MIT")
    assert "````text\n```\nUs\n````\n" in card_of(record(tmp_path / "d"), about)
