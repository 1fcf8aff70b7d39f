"""People review tables: on the command line, and in the studio."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from rlds_kit.base import lock
from rlds_kit.shaping.manuals.interaction import TableError
from rlds_kit.shaping.manuals.manual import GAMES_FOLDER, ManualError, shipped_games
from rlds_kit.shaping.manuals.reasoning import Verdict
from rlds_kit.shaping.manuals.table import InteractionTable


class StaleTableError(TableError):
    """Somebody else has changed a table since it was seen."""


def shipped_table(game: str) -> InteractionTable:
    """The table of a shipped manual, read by words.

    Raises:
      ManualError: there is none of this game.

    >>> shipped_table("Skiing")["Flag"].decided
    'yes'
    """
    if game not in shipped_games():
        raise ManualError(f"expected a game with a manual ({', '.join(shipped_games())}), got {game!r}")
    return InteractionTable.from_json(
        resources.files(__package__).joinpath(GAMES_FOLDER, f"{game}.json").read_text("utf-8")
    )


def override_file(
    path: Path,
    name: str,
    verdict: Verdict | None,
    by: str,
    *,
    seen: str | None = None,
    initial: InteractionTable | None = None,
) -> InteractionTable:
    """Stores a person's verdict on an object in the file of a table. Several processes may do so at once.

    Args:
      path: of the file.
      name: of the object.
      verdict: "yes", "no" or "abstain"; None removes an override.
      by: who decides.
      seen: the fingerprint of the table that the person saw; None: any.
      initial: the table as long as there is no file; None: the file has to exist.

    Raises:
      StaleTableError: the file has another table by now.
      TableError: the file has no table, or as for `InteractionTable.override`.
      OSError: it cannot be read or written.
    """
    with _locked(path):
        table = InteractionTable.load(path) if initial is None or path.exists() else initial
        changed = table.override(name, verdict, by)
        if seen is not None and table.fingerprint != seen:
            raise StaleTableError(f"the table of {table.game} has changed since you saw it: look at it again")
        changed.save(path)
    return changed


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lets one process at a time change a file, which is replaced as a whole and can have no lock itself."""
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        lock.acquire(descriptor)
        yield
    finally:
        os.close(descriptor)
