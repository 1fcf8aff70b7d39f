"""Which data is exported, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

RLDS_KIT: Final = "rlds_kit"
TAG: Final = "tag:"
"""Prefix of the names of fields and metadata that state which steps and episodes have a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How episodes are exported.

    Attributes:
      strip: whether fields that are internal are left out; `internal.INTERNAL_FIELDS` names them.
      end_tags: labels of steps; the first step that has one of them becomes the last of its episode.
      tag_columns: whether every step has a field `tag:<label>` for every label of steps: true if the step has the
        label; and every episode likewise for the labels of whole episodes.
      format: one of `rlds_kit.convert.formats.WRITABLE`. Formats other than ours may not represent everything; the
        report names what was left out.
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
        """The rules from the result of `as_json`."""
        return cls(**{**given, "end_tags": tuple(given["end_tags"])})


@dataclass(frozen=True, slots=True)
class Chosen:
    """An episode that is to be exported.

    Attributes:
      directory: of its dataset.
      id: in the dataset, a UUID.
      public: metadata for the export, of JSON values: for instance `public_id`.
    """

    directory: str
    id: str
    public: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Planned:
    """An episode as it will be in the export.

    Attributes:
      chosen: the chosen episode.
      rows: number of exported steps.
      is_cut: whether the episode has more steps.
      tags: of its steps, by label the spans `[first, end]`.
      labels: of the whole episode.
      weight: approximate size of these steps in bytes.
    """

    chosen: Chosen
    rows: int
    is_cut: bool
    tags: Mapping[str, Sequence[Sequence[int]]]
    labels: Sequence[str]
    weight: int
