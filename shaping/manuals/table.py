"""The table of interactions: verdicts of a manual on each object of its game. Rewards are computed from it alone."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from rlds_kit.base.whole_file import whole_file
from rlds_kit.shaping.manuals.interaction import VERDICTS, Interaction, TableError, checked, interaction_of, list_of
from rlds_kit.shaping.manuals.model_reply import ModelReply
from rlds_kit.shaping.manuals.reasoning import Verdict


@dataclass(frozen=True)
class InteractionTable:
    """The interactions of a game, and their origin.

    Attributes:
      game: its name, as in `ALE/<game>-v5`.
      source: of the manual.
      licence: of the manual; "" if unknown.
      manual_sha256: of its text.
      answerer: the fingerprint of the `QuestionAnswerer`.
      reasoner: the fingerprint of the `Reasoner`.
      interactions: one for each kind of object.
      replies: of a language model about the whole game; empty if there are none.
    """

    game: str
    source: str
    licence: str
    manual_sha256: str
    answerer: str
    reasoner: str
    interactions: tuple[Interaction, ...]
    replies: tuple[ModelReply, ...] = ()

    def __getitem__(self, name: str) -> Interaction:
        found = next((each for each in self.interactions if each.object == name), None)
        if found is None:
            raise TableError(f"expected an object of {self.game} ({', '.join(self.objects)}), got {name!r}")
        return found

    @property
    def objects(self) -> tuple[str, ...]:
        """The categories, in the order of the table."""
        return tuple(each.object for each in self.interactions)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the table, overrides included, in hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def override(self, name: str, verdict: Verdict | None, by: str) -> Self:
        """Returns a table in which a person's verdict replaces that of the reasoner.

        Args:
          name: of the object.
          verdict: "yes", "no" or "abstain"; None removes an override.
          by: name of the person.

        Raises:
          TableError: there is no such object or verdict, or `by` is empty.
        """
        old = self[name]
        if verdict is not None and verdict not in VERDICTS:
            raise TableError(f"expected one of {', '.join(VERDICTS)}, got {verdict!r}")
        if not by:
            raise TableError("expected the name of the person who overrides a verdict, got an empty text")
        new = replace(old, override=verdict, overridden_by="" if verdict is None else by)
        return replace(self, interactions=tuple(new if each is old else each for each in self.interactions))

    def to_json(self) -> str:
        """The table as indented JSON, which a review can compare line by line."""
        content = asdict(self)
        for each in (content, *content["interactions"]):
            if not each["replies"]:
                del each["replies"]
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parses the result of `to_json`.

        Raises:
          TableError: it is invalid; the message names the field.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TableError(f"expected a table of interactions in JSON: {error}") from error
        values = checked(cls, content, "the table")
        rows = list_of(values["interactions"], "interactions")
        read = tuple(interaction_of(row, number) for number, row in enumerate(rows))
        names = [each.object for each in read]
        if len(set(names)) < len(names):
            raise TableError(f"expected each object once, got {', '.join(names)}")
        return cls(**{**values, "interactions": read})

    def save(self, path: Path | str) -> None:
        """Writes the table to a file, which is replaced atomically.

        Raises:
          OSError: it cannot be written.
        """
        with whole_file(Path(path)) as temporary:
            temporary.write_text(self.to_json(), "utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a file that `save` wrote.

        Raises:
          TableError: it is not a table.
          OSError: it cannot be read.
        """
        try:
            text = Path(path).read_text("utf-8")
        except UnicodeDecodeError as error:
            raise TableError(f"expected a table of interactions in UTF-8: {path}: {error}") from error
        return cls.from_json(text)
