"""The tables of manuals of a studio: those of the package, and the files of its directory."""

import re
from pathlib import Path

from rlds_kit.shaping.manuals.interaction import TableError
from rlds_kit.shaping.manuals.manual import shipped_games
from rlds_kit.shaping.manuals.reasoning import Verdict
from rlds_kit.shaping.manuals.reviewing import override_file, shipped_table
from rlds_kit.shaping.manuals.table import InteractionTable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


class ManualTables:
    """A directory of files `NAME.json`, as `rlds-kit manual read --out` writes them.

    A table of the package becomes a file there when its first verdict is overridden.

    Args:
      directory: need not exist.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        """The names of all tables, in order."""
        found = {each.stem for each in self._directory.glob("*.json") if _NAME.fullmatch(each.stem)}
        return sorted(found.union(shipped_games()))

    def table(self, name: str) -> InteractionTable:
        """A table.

        Raises:
          LookupError: there is none of this name.
          TableError: the file does not contain a table.
        """
        if name not in self.names():
            raise LookupError(_missing(name))
        path = self._path(name)
        return InteractionTable.load(path) if path.exists() else shipped_table(name)

    def override(self, name: str, thing: str, verdict: Verdict | None, by: str, seen: str) -> InteractionTable:
        """Stores a person's verdict, as `rlds-kit manual override` does. Arguments and errors as for `override_file`.

        Raises:
          LookupError: there is no table of this name.
        """
        path = self._path(name)
        if name not in self.names():
            raise LookupError(_missing(name))
        self._directory.mkdir(parents=True, exist_ok=True)
        initial = shipped_table(name) if name in shipped_games() else None
        return override_file(path, thing, verdict, by, seen=seen, initial=initial)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise LookupError(_missing(name))
        return self._directory / f"{name}.json"


def _missing(name: str) -> str:
    return f"there is no table {name[:100]!r}; see the list of manuals"


def problem_of(tables: ManualTables, name: str) -> tuple[InteractionTable | None, str]:
    """A table, or the problem with its file."""
    try:
        return tables.table(name), ""
    except (TableError, LookupError, OSError) as error:
        return None, str(error)
