"""`rlds-kit manual`."""

import json
from pathlib import Path

import gymnasium
from click.testing import CliRunner, Result

import rlds_kit
from rlds_kit import logger
from rlds_kit.cli import main
from rlds_kit.shaping.manuals import EveryFrame, InteractionTable, read_manual, shipped_manual


def run(*arguments: object) -> Result:
    """Runs a command."""
    return CliRunner().invoke(main, ["manual", *map(str, arguments)])


def test_a_manual_is_read_shown_and_overridden(tmp_path: Path) -> None:
    path = tmp_path / "breakout.json"
    assert run("read", "Breakout", "--out", path).exit_code == 0
    assert InteractionTable.load(path) == read_manual(shipped_manual("Breakout"))
    assert json.loads(run("show", path, "--json").output)["game"] == "Breakout"
    assert "Question: How to score" in run("show", path, "--context").output
    changed = run("override", path, "Block", "no", "--by", "anna")
    assert "override by anna; read as yes" in changed.output
    assert InteractionTable.load(path)["Block"].reward == -5
    assert run("override", path, "Block", "none", "--by", "anna").exit_code == 0
    assert InteractionTable.load(path) == read_manual(shipped_manual("Breakout"))


def test_an_own_manual_is_text(tmp_path: Path) -> None:
    """Markup of terminals and pages is printed as it is."""
    file = tmp_path / "pong.txt"
    file.write_text("[bold red]Return[/] the ball to win. <script>alert(1)</script>", "utf-8")
    table = tmp_path / "pong.json"
    shown = run("read", "Pong", "--file", file, "--licence", "CC-BY-4.0", "--out", table)
    assert "licence CC-BY-4.0" in shown.output
    assert "[bold red]Return[/] the ball to win." in run("show", table, "--context").output


def test_a_review_is_not_overwritten(tmp_path: Path) -> None:
    """Nor a file that is no table."""
    path, other = tmp_path / "skiing.json", tmp_path / "thesis.txt"
    other.write_text("my thesis", "utf-8")
    for _ in range(2):
        assert run("read", "Skiing", "--out", path).exit_code == 0
    run("override", path, "Mogul", "yes", "--by", "anna")
    for each, message in ((path, "with overrides by anna"), (other, "expected a table of interactions")):
        before = each.read_bytes()
        refused = run("read", "Skiing", "--out", each)
        assert (refused.exit_code, message in refused.output) == (1, True), refused.output
        assert each.read_bytes() == before


def test_a_table_cannot_hide_what_it_means(tmp_path: Path) -> None:
    """Sequences that move the cursor or erase a line of the terminal are shown and not obeyed."""
    path = tmp_path / "skiing.json"
    table = read_manual(shipped_manual("Skiing"))
    content = json.loads(table.to_json())
    content["interactions"][0] |= {"word": "tree\x1b[2K", "context": "a\x9b2Jb\u202ec", "overridden_by": "x\ny"}
    content["interactions"][0]["override"] = "yes"
    path.write_text(json.dumps(content), "utf-8")
    shown = run("show", path, "--context").output
    assert "tree\\x1b[2K" in shown
    assert "a\\x9b2Jb\\u202ec" in shown
    assert "x\\ny" in shown
    assert all(each.isprintable() for each in shown if each != "\n")


def test_a_server_of_models_reads(tmp_path: Path, server: str) -> None:
    """Once; then the cache is enough."""
    path, endpoint = tmp_path / "skiing.json", ("--answerer", "endpoint:tiny", "--reasoner", "endpoint:tiny")
    cache = ("--cache", tmp_path / "replies", "--seed", 5)
    first = run("read", "Skiing", "--out", path, *endpoint, *cache, "--endpoint", server)
    assert first.exit_code == 0, first.output
    assert run("read", "Skiing", *endpoint, *cache, "--offline").output == first.output
    assert "tiny v7.5 (seed 5) replied: 'No'; ' No' 0.905; 'Yes' 0.050" in run("show", path, "--context").output


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{", "utf-8")
    cases = {
        ("read", "Chess"): (1, "expected a game with a manual"),
        ("read", "Pong", "--answerer", "chess"): (2, "expected one of words, minilm, extractive:MODEL"),
        ("read", "Pong", "--reasoner", "endpoint"): (2, "got 'endpoint'"),
        ("read", "Pong", "--reasoner", "endpoint:a", "--endpoint", "http://8.8.8.8"): (1, "not sent elsewhere"),
        ("read", "Pong", "--reasoner", "endpoint:a", "--offline"): (2, "--offline needs --cache"),
        ("show", broken): (1, "expected a table of interactions"),
        ("show", tmp_path / "none.json"): (2, "does not exist"),
    }
    for arguments, (code, message) in cases.items():
        result = run(*arguments)
        assert (result.exit_code, message in result.output) == (code, True), result.output


def test_recordings_are_annotated(tmp_path: Path) -> None:
    gymnasium.register_envs(__import__("ale_py"))
    env = EveryFrame(gymnasium.make("ALE/Skiing-v5", frameskip=1, max_episode_steps=200, obs_type="ram"))
    with logger.GymnasiumLogger(env, tmp_path / "d", record_info=True) as recorded:
        recorded.reset(seed=0)
        while not any(recorded.step(0)[2:4]):
            pass
    run("read", "Skiing", "--out", tmp_path / "skiing.json")
    done = run("annotate", tmp_path / "d", tmp_path / "skiing.json", "--layer", "skis", "--boxes")
    assert "Annotated 1 episodes in the layer skis." in done.output
    (episode,) = rlds_kit.open(tmp_path / "d").as_amended("skis").episodes
    assert episode.mask("manual_reward").tolist() == [True] * (len(episode) - 1) + [False]
    assert "Player" in episode.steps[9]["objects"]["category"].tolist()
