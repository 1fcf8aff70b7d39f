"""Copies the intact annotations of a damaged dataset."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rlds_kit.layers.carry import Moved, Piece, carry, layers_of
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import contents
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.repair_episode import Loss
from rlds_kit.tools.upkeep.salvage import Plan


def repair_layers(source: Path, destination: Path, plans: Mapping[bytes, tuple[bytes, Plan]]) -> list[Loss]:
    """Copies the intact annotations of the remaining episodes and steps; lists the lost ones.

    Args:
      source: the dataset.
      destination: its copy, whose shards are complete.
      plans: by the id of each episode of the copy its content digest in the original, and how it was copied.

    Raises:
      FormatError: a file is not one of a layer, or an episode has changed since it was annotated.
      OSError: something cannot be read or written.
    """
    losses = [
        Loss(
            "layer",
            f"lost: annotations in bytes {region.begin} to {region.end}: {region.message}",
            f"{layer.name}/{name}",
        )
        for layer in layers_of(source)
        for name, regions in layer.damage.items()
        for region in regions
    ]
    losses += [
        Loss("layer", f"left out: {fault}", layer.name) for layer in layers_of(source) for fault in layer.readable()[1]
    ]
    digests = {
        entry.episode_id: entry.content_digest
        for path in directories.shards_in(destination)
        for entry in contents(ShardFile(path)).episodes
    }
    moved = {
        key: Moved(
            before, key, digests[key], tuple(_pieces(plan)) if digests[key] != before or plan.is_changed else None
        )
        for key, (before, plan) in plans.items()
    }
    carried = carry([source], destination, moved, skip_faults=True)
    if carried.left_out:
        losses.append(Loss("layer", f"left out: {carried.left_out} annotations of steps that are lost"))
    return losses


def _pieces(plan: Plan) -> Iterator[Piece]:
    """The steps of the original that the copy has; adjacent blocks are one piece."""
    latest: Piece | None = None
    for each in plan.pieces:
        header = each.block.header
        if latest is not None and latest.end == header.first_row:
            latest = latest._replace(end=header.end_row)
            continue
        if latest is not None:
            yield latest
        latest = Piece(header.first_row, header.end_row, each.first)
    if latest is not None:
        yield latest
