"""What is exported, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

RLDS_KIT: Final = "rlds_kit"
TAG: Final = "tag:"
"""Begins the names of fields and metadata that say who has a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How episodes are exported.

    Attributes:
      strip: whether fields that are internal are left out; `internal.INTERNAL_FIELDS` names them.
      end_tags: labels of steps; the first step that has one of them becomes the last of its episode.
      tag_columns: whether every step says for every label that some step has whether it has it, as `tag:<label>`; and
        every episode, for the labels of whole episodes.
      format: one of `rlds_kit.convert.formats.WRITABLE`. Formats other than ours may lose some; the report names what
        was left out.
    """

    strip: bool = True
    end_tags: tuple[str, ...] = ()
    tag_columns: bool = True
    format: str = RLDS_KIT

    def as_json(self) -> dict[str, Any]:
        """For `of_json`."""
        return {**asdict(self), "end_tags": list(self.end_tags)}

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> "Rules":
        """What `as_json` gave."""
        return cls(**{**given, "end_tags": tuple(given["end_tags"])})


@dataclass(frozen=True, slots=True)
class Chosen:
    """An episode that is to be exported.

    Attributes:
      directory: of its dataset.
      id: in the dataset, a UUID.
      public: metadata that the export gets, of values that JSON holds: for instance `public_id`.
    """

    directory: str
    id: str
    public: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Planned:
    """An episode as it will be in the export.

    Attributes:
      chosen: which.
      rows: how many of its steps are exported.
      is_cut: whether it has more.
      tags: of its steps, by label the spans `[first, end]`.
      labels: of the whole episode.
      weight: about how many bytes these steps are.
    """

    chosen: Chosen
    rows: int
    is_cut: bool
    tags: Mapping[str, Sequence[Sequence[int]]]
    labels: Sequence[str]
    weight: int
