"""Where episodes are, and who may see and annotate them: the server of the replay implements it."""

import enum
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rlds_kit.base.extras import needs
from rlds_kit.studio.replay.collection import Collection

with needs("studio"):
    from starlette.requests import HTTPConnection


class Deed(enum.Enum):
    """What a person requests to do with an episode."""

    SEE = "see"
    ANNOTATE = "annotate"


@dataclass(frozen=True, slots=True)
class Admitted:
    """The result of a successful check: the person may do this with the episode.

    Attributes:
      collection: that has it.
      source: the person, as named in annotations: never a name or an address that others may not know.
      can_annotate: whether the person may annotate it.
      can_retract_all: whether the person may retract annotations of others, too.
      is_listed: whether the person may see the other episodes of the collection.
    """

    collection: Collection
    source: str
    can_annotate: bool = True
    can_retract_all: bool = False
    is_listed: bool = False


class Library(Protocol):
    """The episodes of a server."""

    async def admit(self, connection: HTTPConnection, deed: Deed, episode: uuid.UUID) -> Admitted:
        """Checks that the person of a request may do something with an episode.

        Raises:
          RldsKitError: there is no such episode, or the person may not do this.
        """

    async def annotated(self, episode: uuid.UUID, labels: Sequence[str]) -> None:
        """Called when the labels of an episode have changed; `labels` includes those of its steps."""
