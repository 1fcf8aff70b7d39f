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
    """What somebody wants to do with an episode."""

    SEE = "see"
    ANNOTATE = "annotate"


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody may do what they want with an episode.

    Attributes:
      collection: that has it.
      source: who it is, as annotations say: never a name or an address that others may not know.
      can_annotate: whether they may annotate it.
      can_retract_all: whether they may take back annotations of others, too.
      is_listed: whether they may see the other episodes of the collection.
    """

    collection: Collection
    source: str
    can_annotate: bool = True
    can_retract_all: bool = False
    is_listed: bool = False


class Library(Protocol):
    """The episodes of a server."""

    async def admit(self, connection: HTTPConnection, deed: Deed, episode: uuid.UUID) -> Admitted:
        """Lets somebody do something with an episode.

        Raises:
          RldsKitError: there is no such episode, or they may not.
        """

    async def annotated(self, episode: uuid.UUID, labels: Sequence[str]) -> None:
        """An episode has these labels now, those of its steps included."""
