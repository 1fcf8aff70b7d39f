"""A manual: instructions for a game, with their source and licence."""

import hashlib
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Final, Self

from rlds_kit.base.errors import RldsKitError

MOST_BYTES: Final = 1 << 20
"""A manual has a few pages; a larger file is not a manual."""
GAMES_FOLDER: Final = "games"
_SPACES: Final = "\t\n\f"
"""In addition to spaces of any width; converters of PDF insert a form feed between pages."""


class ManualError(RldsKitError, ValueError):
    """A text is not valid as a manual, or there is no manual of a game."""


@dataclass(frozen=True)
class Manual:
    """The manual of a game.

    Attributes:
      game: its name, as in `ALE/<game>-v5`.
      text: plain text, without markup.
      source: of the text: a title, an address, an author.
      licence: for publication; "" if unknown, and then `to_publish` raises an error.

    Raises:
      ManualError: the text is empty, larger than `MOST_BYTES`, or has control characters.

    >>> Manual("Pong", "Hit the ball.", source="an example", licence="CC0-1.0").sha256[:8]
    'ba630cae'
    """

    game: str
    text: str
    source: str
    licence: str = ""

    def __post_init__(self) -> None:
        size = len(self.text.encode(errors="surrogatepass"))
        if size > MOST_BYTES:
            raise ManualError(f"expected a manual of at most {MOST_BYTES:,} bytes, got {size:,}: {self.source}")
        if not self.text.strip():
            raise ManualError(f"expected a manual, got an empty text: {self.source}")
        odd = next((each for each in self.text if not _is_text(each)), None)
        if odd is not None:
            place = self.text.index(odd)
            raise ManualError(f"expected plain text, got {odd!r} at character {place} of {self.source}: is it binary?")

    @classmethod
    def from_file(cls, path: Path | str, *, game: str, source: str = "", licence: str = "") -> Self:
        """Reads a file of plain text in UTF-8.

        Raises:
          ManualError: the file is too large, or is not plain text.
          OSError: it cannot be read.
        """
        path = Path(path)
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ManualError(f"expected a manual of at most {MOST_BYTES:,} bytes, got {path.stat().st_size:,}: {path}")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ManualError(f"expected plain text in UTF-8: {path}: {error}") from error
        return cls(game, text.replace("\r\n", "\n").replace("\r", "\n"), source or path.name, licence)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the text in UTF-8, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def to_publish(self) -> Self:
        """Returns this manual, if it may be published.

        Raises:
          ManualError: its licence is unknown.
        """
        if not self.licence:
            raise ManualError(f"the manual of {self.game} has no licence: state it, or publish its hash only")
        return self


def _is_text(character: str) -> bool:
    return character.isprintable() or character in _SPACES or unicodedata.category(character) == "Zs"


def shipped_games() -> tuple[str, ...]:
    """The games with a manual in the package, in order.

    >>> "Breakout" in shipped_games()
    True
    """
    files = resources.files(__package__).joinpath(GAMES_FOLDER).iterdir()
    return tuple(sorted(each.name.removesuffix(".txt") for each in files if each.name.endswith(".txt")))


def shipped_manual(game: str) -> Manual:
    """Returns a manual that was written for this project, in the public domain (CC0).

    Raises:
      ManualError: there is none for this game.

    >>> shipped_manual("Breakout").licence
    'CC0-1.0'
    """
    games = shipped_games()
    if game not in games:
        raise ManualError(f"expected a game with a manual ({', '.join(games)}), got {game!r}: use Manual.from_file")
    text = resources.files(__package__).joinpath(GAMES_FOLDER, f"{game}.txt").read_text("utf-8")
    return Manual(game, text, source="rlds_kit", licence="CC0-1.0")
