"""What verdicts owe to single questions, and to the text."""

from pathlib import Path

from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.shaping.manuals import Answer, Manual, WordReasoner, ablations, read_manual, shipped_manual
from rlds_kit.shaping.manuals.questions import GENERIC, object_question

MANUAL = Manual("Pac", "A dot. A ghost.", "a test")


class Script:
    """Answers that avoiding ghosts is an objective, and nothing else."""

    fingerprint = "script"

    def answer(self, question: str, manual: Manual) -> Answer:
        return Answer("Avoid each ghost, or you lose a life." if question == GENERIC[0] else "")


def test_a_verdict_is_lost_with_the_only_question_that_it_came_from() -> None:
    tables = ablations(MANUAL, objects={"Ghost": ["ghost"]}, answerer=Script(), reasoner=WordReasoner())
    lost = [done for done, table in tables.items() if table["Ghost"].verdict != "no"]
    assert lost == [f'without "{GENERIC[0]}"', "only about the object"]
    assert len({table.fingerprint for table in tables.values()}) == len(tables) == 7


def test_all_questions_are_what_read_manual_puts() -> None:
    manual = shipped_manual("Breakout")
    tables = ablations(manual)
    assert tables["all questions"] == read_manual(manual)
    assert object_question("ball") not in tables["only the generic ones"]["Ball"].context


def test_the_command_compares_texts(tmp_path: Path) -> None:
    """An answer that is not there is N/A, as in the paper."""
    file = tmp_path / "other.txt"
    file.write_text("To score at the game, avoid the ball, or you lose a life.", "utf-8")
    done = CliRunner().invoke(main, ["manual", "ablate", "Breakout", "--file", str(file)])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[: 3 * len(GENERIC) : 3] == list(GENERIC)
    assert lines[1:3] == ["  rlds_kit: N/A", "  other.txt: N/A"]
    assert "  all questions: Ball yes, Block yes" in lines
    assert "  all questions: Ball no, Block abstain" in lines


def test_readers_are_chosen_as_for_reading() -> None:
    done = CliRunner().invoke(main, ["manual", "ablate", "Breakout", "--reasoner", "oracle"])
    assert done.exit_code == 2
    assert "oracle" in done.output
