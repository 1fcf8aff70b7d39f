"""Manuals: what is one, and what is refused."""

from pathlib import Path

import pytest

from rlds_kit.shaping.manuals import Manual, ManualError, shipped_games, shipped_manual
from rlds_kit.shaping.manuals.manual import MOST_BYTES


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    """Markup stays text; a byte-order mark and carriage returns go."""
    path = tmp_path / "pong.txt"
    path.write_bytes(b"\xef\xbb\xbf<b>Hit</b> [red]the[/red] ball.\r\nWin.\n")
    manual = Manual.from_file(path, game="Pong")
    assert manual.text == "<b>Hit</b> [red]the[/red] ball.\nWin.\n"
    assert (manual.source, manual.licence) == ("pong.txt", "")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \n\t ", "empty"),
        (b"a\x00b", "character 1"),
        (b"a\x1b[31mb", "character 1"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"a" * (MOST_BYTES + 1), "at most 1,048,576 bytes, got 1,048,577"),
        ("\u202eevil".encode(), "character 0"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    """Binary, huge and empty ones; escape sequences of terminals; characters that turn the direction of text."""
    path = tmp_path / "manual.txt"
    path.write_bytes(data)
    with pytest.raises(ManualError, match=message):
        Manual.from_file(path, game="Pong")


def test_texts_of_word_processors_and_of_pdf_are_manuals(tmp_path: Path) -> None:
    """Spaces that do not break, form feeds between pages, and the line ends of old computers."""
    path = tmp_path / "pong.txt"
    path.write_bytes("Hit\N{NO-BREAK SPACE}the ball.\r\fWin.".encode())
    assert Manual.from_file(path, game="Pong").text == "Hit\N{NO-BREAK SPACE}the ball.\n\fWin."


def test_a_half_of_a_character_is_no_text() -> None:
    with pytest.raises(ManualError, match="character 1"):
        Manual("Pong", "a\ud800", source="a test")


def test_a_manual_without_a_licence_is_not_published() -> None:
    manual = Manual("Pong", "Hit the ball.", source="a booklet")
    with pytest.raises(ManualError, match="no licence"):
        manual.to_publish()
    assert shipped_manual("Pong").to_publish() == shipped_manual("Pong")


def test_nine_games_have_manuals() -> None:
    assert len(shipped_games()) == 9
    with pytest.raises(ManualError, match=r"Breakout, .*Manual\.from_file"):
        shipped_manual("Chess")
