"""The body of a request for an export."""

from typing import Annotated, Literal

from rlds_kit.base.extras import needs
from rlds_kit.convert.formats import WRITABLE
from rlds_kit.studio.api.models import Body, RowId, Strict
from rlds_kit.studio.export.rules import RLDS_KIT, Rules

with needs("studio"):
    from pydantic import Field, StringConstraints, model_validator

EpisodeId = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$")]


class Filter(Strict):
    """Which episodes, as in the table of episodes."""

    study: RowId | None = None
    session: RowId | None = None
    user: Annotated[str, StringConstraints(max_length=64)] | None = None
    status: list[Literal["completed", "cancelled", "rejected", "abandoned"]] = Field(default_factory=list)
    tag: Label | None = None


class NewExport(Body):
    """Which episodes are exported, and how."""

    episodes: Annotated[list[EpisodeId], Field(min_length=1, max_length=10_000)] | None = None
    filter: Filter | None = None
    name: FileName = "episodes"
    archive: bool = True
    strip: bool = True
    end_tags: Annotated[list[Label], Field(max_length=100, default_factory=list)]
    tag_columns: bool = True
    format: Literal[WRITABLE] = RLDS_KIT  # type: ignore[valid-type]  # pydantic's, made of the formats

    @model_validator(mode="after")
    def _one_of_both(self) -> "NewExport":
        if (self.episodes is None) == (self.filter is None):
            raise ValueError("expected either episodes or a filter")
        return self

    def rules(self) -> Rules:
        """How."""
        return Rules(strip=self.strip, end_tags=tuple(self.end_tags), tag_columns=self.tag_columns, format=self.format)
