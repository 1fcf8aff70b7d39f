"""What the digests of whole episodes are made of, of many at once."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit.storage import block
from rlds_kit.storage.digest import digests_of_run, head_of, identity_of, shape_bytes
from rlds_kit.storage.leaf import ColumnKey

LeafFields: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""A column: what is before its hashes, the shape of a value, and `spans` and `hashes` of `HashedColumn`."""


class HashedColumn(NamedTuple):
    """A column of many blocks.

    Attributes:
      key: of the column.
      shape: of a value.
      spans: of `lane_pieces.Pieces`.
      hashes: likewise.
    """

    key: ColumnKey
    shape: tuple[int, ...]
    spans: bytes
    hashes: bytes


def hashes_of_whole(columns: Iterable[HashedColumn], is_whole: np.ndarray) -> list[bytes]:
    """Of each block that is a whole episode, what `EpisodeDigest.update_whole` takes; of others nothing.

    Args:
      columns: of the blocks.
      is_whole: `[blocks]` bool.
    """
    known = [(identity_of(each.key), each) for each in columns]
    leaves = sorted(
        [(identity, shape_bytes(each.shape), each) for identity, each in known if identity is not None],
        key=lambda leaf: leaf[0],
    )
    fields = [(head_of(identity), shape, each.spans, each.hashes) for identity, shape, each in leaves]
    return leaf_hashes(fields, is_whole.tobytes())


def leaf_hashes_in_python(columns: list[LeafFields], is_whole: bytes) -> list[bytes]:
    """Of each block that is a whole episode, its hashes, each after what is before; of others nothing.

    Args:
      columns: in the order of their identities.
      is_whole: a byte of each block.
    """
    found = list[bytes]()
    for number, is_chosen in enumerate(is_whole):
        parts = list[bytes]()
        for head, shape, spans, hashes in columns if is_chosen else ():
            first, stop = np.frombuffer(spans, np.int64).reshape(-1, 4)[number, :2].tolist()
            if first < stop:
                parts += (head, digests_of_run(first, stop, shape), hashes[16 * number : 16 * number + 16])
        found.append(b"".join(parts))
    return found


leaf_hashes: Final[Callable[[list[LeafFields], bytes], list[bytes]]] = getattr(
    block.native, "leaf_hashes", leaf_hashes_in_python
)
