"""The table of interactions: what a manual means for each object of its game. Rewards use nothing else of a manual."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Self, get_args

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.whole_file import whole_file
from rlds_kit.shaping.manuals.reasoning import Verdict

VERDICTS: Final[tuple[str, ...]] = get_args(Verdict)
REWARD: Final = 5.0
"""The paper's auxiliary reward; any in (2, 50) has the same effect where rewards are clipped (section A.1)."""


class TableError(RldsKitError, ValueError):
    """A table of interactions is invalid, or has no such object."""


@dataclass(frozen=True)
class Interaction:
    """What it means to touch one kind of object.

    Attributes:
      object: the category of the object, as grounded in the game.
      word: what the manual calls it; "" if the manual does not mention it.
      context: the questions and answers that were judged.
      yes: the probability of "Yes, hit it".
      verdict: of the reasoner.
      override: the verdict of a person, which counts instead; None: there is no override.
      overridden_by: who that is.
    """

    object: str
    word: str
    context: str
    yes: float
    verdict: Verdict
    override: Verdict | None = None
    overridden_by: str = ""

    @property
    def decided(self) -> Verdict:
        """The verdict that counts."""
        return self.override or self.verdict

    @property
    def reward(self) -> float:
        """Of a contact: 5, -5, or 0 if there is no verdict."""
        return {"yes": REWARD, "no": -REWARD, "abstain": 0.0}[self.decided]


@dataclass(frozen=True)
class InteractionTable:
    """The interactions of a game, and where they come from.

    Attributes:
      game: its name, as in `ALE/<game>-v5`.
      source: of the manual.
      licence: of the manual; "" if not known.
      manual_sha256: of its text.
      answerer: the fingerprint of the `QuestionAnswerer`.
      reasoner: the fingerprint of the `Reasoner`.
      interactions: one for each kind of object.
    """

    game: str
    source: str
    licence: str
    manual_sha256: str
    answerer: str
    reasoner: str
    interactions: tuple[Interaction, ...]

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
        """Returns a table in which a person's verdict on an object counts.

        Args:
          name: of the object.
          verdict: "yes", "no" or "abstain"; None removes an override.
          by: who decides.

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
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` wrote.

        Raises:
          TableError: it is no table; the message names the field.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TableError(f"expected a table of interactions in JSON: {error}") from error
        rows = _checked(cls, content, "the table").pop("interactions")
        if not isinstance(rows, list):
            raise TableError(f"expected a list of interactions, got {type(rows).__name__}")
        read = tuple(_interaction(row, number) for number, row in enumerate(rows))
        names = [each.object for each in read]
        if len(set(names)) < len(names):
            raise TableError(f"expected each object once, got {', '.join(names)}")
        return cls(**{**content, "interactions": read})

    def save(self, path: Path | str) -> None:
        """Writes the table to a file, which is replaced as a whole.

        Raises:
          OSError: it cannot be written.
        """
        with whole_file(Path(path)) as temporary:
            temporary.write_text(self.to_json(), "utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a file that `save` wrote.

        Raises:
          TableError: it is no table.
          OSError: it cannot be read.
        """
        try:
            text = Path(path).read_text("utf-8")
        except UnicodeDecodeError as error:
            raise TableError(f"expected a table of interactions in UTF-8: {path}: {error}") from error
        return cls.from_json(text)


def _interaction(row: object, number: int) -> Interaction:
    where = f"interaction {number}"
    read = Interaction(**_checked(Interaction, row, where))
    for name in ("verdict", "override"):
        value = getattr(read, name)
        if value not in VERDICTS and not (name == "override" and value is None):
            raise TableError(f"expected {name} of {where} to be one of {', '.join(VERDICTS)}, got {value!r}")
    if not 0 <= read.yes <= 1:
        raise TableError(f"expected yes of {where} in [0, 1], got {read.yes}")
    return read


def _checked(kind: type, content: object, where: str) -> dict[str, Any]:
    """The fields of a dataclass, with the types of texts and numbers checked."""
    if not isinstance(content, Mapping):
        raise TableError(f"expected {where} to be an object with fields, got {type(content).__name__}")
    expected: dict[str, Any] = {field.name: field.type for field in fields(kind)}
    if content.keys() != expected.keys():
        odd = sorted(content.keys() ^ expected.keys())
        raise TableError(
            f"expected {where} to have the fields {', '.join(expected)}; wrong or missing: {', '.join(odd)}"
        )
    for name, declared in expected.items():
        allowed = {str: (str,), float: (int, float)}.get(declared)
        if allowed is not None and not isinstance(content[name], allowed):
            raise TableError(f"expected {name} of {where} to be a {declared.__name__}, got {content[name]!r}")
    return dict(content)
