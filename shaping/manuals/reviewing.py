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
    """A table has changed since the reviewer read it."""


def shipped_table(game: str) -> InteractionTable:
    """The table of a manual in the package, made with `WordAnswerer` and `WordReasoner`.

    Raises:
      ManualError: there is none for this game.

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
    """Stores a person's verdict on an object in the file of a table. Several processes may call this at once.

    Args:
      path: of the file.
      name: of the object.
      verdict: "yes", "no" or "abstain"; None removes an override.
      by: name of the person.
      seen: the fingerprint of the table that the person has read; None: any.
      initial: the table to use if there is no file yet; None: the file must exist.

    Raises:
      StaleTableError: the file has another table now.
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
    """Locks a file for changes. The lock is a separate file, because the file itself is replaced atomically."""
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        lock.acquire(descriptor)
        yield
    finally:
        os.close(descriptor)
